"""``paceline report``: one HTML file that stands by itself, whatever its texts hold."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout_files import T0, Files, agent_id, answer, delivered, died, launch, launched, prompt
from paceline.manifest import build_manifest
from paceline_mcp import cli
from paceline_mcp.report import chart, spans
from paceline_mcp.report.markup import tag
from paceline_mcp.report.page import page

if TYPE_CHECKING:
    from pathlib import Path

A1, A2, A3 = (agent_id(number) for number in (1, 2, 3))
EVIL = "</td><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload='x' \x1b[2J\u202e"
LIMITS = [
    {
        "family": "opus-5",
        "dimension": "input",
        "limit": 60_000,
        "capacity": 60_000,
        "source": "text",
        "at": T0,
    }
]
LOG = [
    {"t": 2.0, "e": "request.wait", "agent": A1, "id": "r1"},
    {"t": 5.0, "e": "request.grant", "agent": A1, "id": "r1", "waited": 3.0},
    {"t": 5.5, "e": "request.settle", "agent": A1, "input": 30_000},
    {"t": 6.0, "e": "request.refused", "agent": A2, "cause": "throttle", "retryable": True},
    {"t": 6.1, "e": "request.revived", "agent": A2, "n": 1},
    {"t": 66.0, "e": "request.settle", "agent": A2, "input": 10_000, "cache_creation": 5_000},
]


def fan_out(files: Files, **agents: list[Any]) -> None:
    calls = [launch(f"toolu_{at}", label) for at, label in enumerate(agents)]
    rows = [prompt("Go."), answer(*calls, stop="tool_use")]
    rows += [launched(f"toolu_{at}", agent_id(at + 1)) for at, _ in enumerate(agents)]
    files.main(rows)
    for at, told in enumerate(agents.values()):
        files.agent(agent_id(at + 1), told, toolUseId=f"toolu_{at}")


def written(files: Files, lines: list[dict[str, Any]] | None = None) -> str:
    manifest = build_manifest(str(files.projects), str(files.state), files.session, now=T0 + 99)
    shifted = [{**line, "t": line["t"] + T0} for line in lines or []]
    return page(files.session, manifest, shifted, LIMITS, T0 + 99)


class Seen(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.values: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(name)
        self.attributes |= {key for key, _ in attrs}
        self.values += [value or "" for key, value in attrs if key not in {"content", "style"}]

    def handle_data(self, data: str) -> None:
        self.words += data


def test_a_report_loads_nothing_and_runs_nothing(tmp_path: Path) -> None:
    files = Files(tmp_path)
    fan_out(files, one=delivered(), two=died(), three=[prompt("x")])
    files.log(*LOG)
    text = written(files, LOG)
    seen = Seen(text)
    assert seen.tags.isdisjoint({"script", "img", "link", "iframe", "object", "a", "base", "form"})
    assert not any(name.startswith("on") for name in seen.attributes)
    assert {"src", "href", "action"}.isdisjoint(seen.attributes)
    assert "://" not in text
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src 'none'" in seen_policy(text)
    ET.fromstring(text.removeprefix("<!DOCTYPE html>"))  # every element is closed


def seen_policy(text: str) -> str:
    return (
        text.split('http-equiv="Content-Security-Policy" content="')[1]
        .split('"', maxsplit=1)[0]
        .replace("&#x27;", "'")
    )


def test_hostile_texts_stay_text(tmp_path: Path) -> None:
    files = Files(tmp_path)
    fan_out(files, **{EVIL: died(EVIL)})
    files.journal("wf_1", [{"type": "started", "key": EVIL, "agentId": "b1", "label": EVIL}])
    files.agent("b1", died(EVIL), "wf_1")
    files.record("wf_1", workflowName=EVIL)
    files.log({"t": 2.0, "e": "request.refused", "agent": A1, "cause": EVIL, "window": EVIL})
    text = written(files)
    seen = Seen(text)
    assert seen.tags.isdisjoint({"script", "img"})
    assert "<script>alert(1)</script>" in seen.words
    assert "\x1b" not in text
    assert "\u202e" not in text
    ET.fromstring(text.removeprefix("<!DOCTYPE html>"))


@given(st.text(), st.text())
def test_no_text_becomes_markup(inside: str, attribute: str) -> None:
    element = ET.fromstring(tag("p", inside, tag("b", "x"), title=attribute))
    assert [child.tag for child in element] == ["b"]
    assert list(element.attrib) == ["title"]


def test_every_agent_stands_there_with_its_state_those_in_trouble_first(tmp_path: Path) -> None:
    """[P5]"""
    files = Files(tmp_path)
    fan_out(files, alpha=delivered(), beta=died(), gamma=delivered())
    seen = Seen(written(files))
    assert "2 of 3 agents delivered degraded" in " ".join(seen.words.split())
    rows = seen.words.split("Runs")[1]
    assert rows.index("beta") < rows.index("alpha") < rows.index("gamma")
    assert "dropped: throttle" in rows
    assert "never refuted" in rows


def test_a_report_of_a_loss_says_how_to_bring_it_back(tmp_path: Path) -> None:
    files = Files(tmp_path)
    fan_out(files, one=delivered(), two=died())
    text = written(files)
    assert "To bring back 1 agent: " in text
    assert f"paceline requeue --session {files.session}<" in text
    whole = Files(tmp_path / "whole")
    fan_out(whole, one=delivered())
    assert "To bring back" not in written(whole)


def test_the_time_line_shows_holds_grants_refusals_and_revivals(tmp_path: Path) -> None:
    files = Files(tmp_path)
    fan_out(files, one=delivered(), two=delivered())
    files.log(*LOG)
    text = written(files)
    for words in ("held 3 s", "granted after 3 s", "refused: throttle", "brought back, time 1"):
        assert f"<title>{words}</title>" in text
    manifest = build_manifest(str(files.projects), str(files.state), files.session, now=T0 + 99)
    rows = spans.spans(manifest["runs"], manifest["sessions"][0]["timeline"])
    assert [row.label for row in rows] == ["one", "two"]
    assert rows[0].holds == [(T0 + 2.0, T0 + 5.0)]


def test_a_refusal_that_two_layers_tell_of_is_drawn_once() -> None:
    agent = {
        "agent_id": "a",
        "label": None,
        "state": "completed",
        "launched_at": T0,
        "ended_at": T0 + 9,
        "deaths": [{"t": T0 + 1.5, "cause": "throttle"}],
    }
    events = [
        {"t": at, "what": "refused", "agent": "a", "cause": "throttle"}
        for at in (T0 + 1.0, T0 + 2.5)
    ]
    (row,) = spans.spans([{"agents": [agent]}], events)
    assert [mark[0] for mark in row.marks] == [T0 + 1.0, T0 + 2.5]


def test_a_hold_that_still_lasts_is_drawn_to_the_end() -> None:
    agent = {
        "agent_id": "a",
        "label": "x",
        "state": "held",
        "launched_at": T0,
        "ended_at": None,
        "deaths": [],
    }
    (row,) = spans.spans([{"agents": [agent]}], [{"t": T0 + 1, "what": "wait", "agent": "a"}])
    assert row.holds == [(T0 + 1, T0 + 1)]
    assert spans.drawn([row]) is not None
    assert spans.drawn([]) is None


EVENTS = st.fixed_dictionaries(
    {
        "t": st.floats(0, 1e10),
        "what": st.sampled_from(["wait", "grant", "refused", "revived"]),
        "agent": st.sampled_from([None, "a", "b", "unknown"]),
    },
    optional={"waited": st.floats(0, 1e6), "cause": st.text(max_size=5), "n": st.integers()},
)


@given(st.lists(EVENTS, max_size=20))
def test_any_time_line_can_be_drawn(events: list[dict[str, Any]]) -> None:
    base: dict[str, Any] = {
        "state": "completed",
        "launched_at": None,
        "ended_at": None,
        "deaths": [],
    }
    agents = [{**base, "agent_id": name, "label": name} for name in "ab"]
    drawn = spans.drawn(spans.spans([{"agents": agents}], events))
    if drawn is not None:
        ET.fromstring(drawn)


@given(st.lists(st.tuples(st.floats(1, 1e10), st.integers(0, 10**9)), max_size=30))
def test_no_settled_token_is_missing_in_the_chart(points: list[tuple[float, int]]) -> None:
    bars = chart.slices(sorted(points))
    assert len(bars) <= chart.BARS_MAX + 1
    total = sum(rate * size / 60.0 for _, size, rate in bars)
    assert total == pytest.approx(sum(tokens for _, tokens in points), rel=1e-9)
    drawn = chart.drawn(sorted(points), 60_000)
    assert (drawn is None) == (not points)
    if drawn is not None:
        ET.fromstring(drawn)


def test_the_limit_is_drawn_where_one_is_known(tmp_path: Path) -> None:
    files = Files(tmp_path)
    fan_out(files, one=delivered())
    assert "limit 60,000 a minute" in written(files, LOG)
    assert 'class="chart"' not in written(files)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("PACELINE_STATE_DIR", str(tmp_path / "state"))
    return tmp_path


def test_the_command_writes_the_newest_session(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = Files(home)
    fan_out(files, one=delivered(), two=died())
    out = home / "a report.html"
    assert cli.run(["report", "--out", str(out), "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told == {"out": str(out), "session_id": files.session, "verdict": "degraded"}
    assert "1 of 2 agents delivered" in out.read_text(encoding="utf-8")


def test_what_cannot_be_reported_or_written_is_said(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = home / "r.html"
    assert cli.run(["report", "--out", str(out)]) == 2
    assert "no session to report on" in capsys.readouterr().err
    assert cli.run(["report", "--out", str(out), "--session", "../x"]) == 2
    fan_out(Files(home), one=delivered())
    assert cli.run(["report", "--out", str(out), "--session", "unknown"]) == 2
    assert cli.run(["report", "--out", str(home / "no" / "r.html")]) == 1
    assert not out.exists()
