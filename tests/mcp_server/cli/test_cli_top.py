"""``paceline top``: one frame, and the live view's end."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from fanout_files import T0, Files, agent_id, answer, delivered, died, launch, launched, prompt
from paceline.ledger import admit, belief
from paceline.ledger.values import Ledger
from paceline.ledger.verdicts import Policy
from paceline.manifest import build_manifest
from paceline_mcp import cli
from paceline_mcp.report.counters import Counters
from paceline_mcp.report.frame import ROWS_MAX, drawn, frame

if TYPE_CHECKING:
    from pathlib import Path

A1, A2, A3 = (agent_id(number) for number in (1, 2, 3))


def fan_out(files: Files, **agents: list[Any]) -> None:
    calls = [launch(f"toolu_{at}", label) for at, label in enumerate(agents)]
    rows = [prompt("Go."), answer(*calls, stop="tool_use")]
    rows += [launched(f"toolu_{at}", agent_id(at + 1)) for at, _ in enumerate(agents)]
    files.main(rows)
    for at, told in enumerate(agents.values()):
        files.agent(agent_id(at + 1), told, toolUseId=f"toolu_{at}")


def busy(session: str, waiting: tuple[str, ...] = (A2,)) -> Ledger:
    ledger = Ledger(clock=T0)
    belief.tell(ledger, "opus-5", "input", 60_000, T0, source="set")
    for at, agent in enumerate((A1, *waiting)):
        ask: dict[str, Any] = {
            "family": "opus-5",
            "session": session,
            "agent": agent,
            "cls": "continuation",
        }
        amounts = {"input": 50_000.0}
        admit.enqueue(ledger, ticket=f"t{at}", now=T0, amounts=amounts, lease=900.0, **ask)
    admit.tick(ledger, list(ledger.tickets), T0, Policy())
    return ledger


def told(files: Files, ledger: Ledger, now: float = T0 + 2) -> dict[str, Any]:
    manifest = build_manifest(str(files.projects), str(files.state), files.session, now=now)
    counted = Counters().as_json(now)
    return frame(ledger, Policy(), manifest, counted, files.session, now)


def text(value: dict[str, Any], width: int = 100) -> str:
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=False).print(drawn(value))
    return out.getvalue()


def test_who_waits_stands_above_who_is_in_flight_above_the_others(tmp_path: Path) -> None:
    files = Files(tmp_path)
    fan_out(files, one=[prompt("x")], two=[prompt("x")], three=died(), four=delivered())
    value = told(files, busy(files.session))
    rows = [(row["agent"], row["label"], row["state"]) for row in value["agents"]]
    assert rows == [
        (A2, "two", "waiting"),
        (A1, "one", "in flight"),
        (A3, "three", "dropped"),
    ]
    assert value["agents"][0]["seconds"] == 2.0
    assert value["census"]["completed"] == 1
    shown = text(value)
    assert shown.index("two") < shown.index("one  ") < shown.index("three")
    assert "dropped, throttle" in shown


def test_a_script_that_reserves_is_not_called_the_main_thread(tmp_path: Path) -> None:
    ledger = Ledger(clock=T0)
    for ticket, cls in (("t1", "new"), ("t2", "main")):
        ask: dict[str, Any] = {"family": "opus-5", "session": "shell", "agent": "", "cls": cls}
        admit.enqueue(ledger, ticket=ticket, now=T0, amounts={"input": 9.0}, lease=60.0, **ask)
    admit.tick(ledger, list(ledger.tickets), T0, Policy())
    found = told(Files(tmp_path), ledger)["agents"]
    assert sorted(row["label"] for row in found) == ["a script", "main thread"]


def test_bars_show_the_level_at_this_moment(tmp_path: Path) -> None:
    files = Files(tmp_path)
    early = text(told(files, busy(files.session), T0 + 1))
    later = text(told(files, busy(files.session), T0 + 40))
    assert early.count("█") < later.count("█")
    assert "of 57,600" in early


def test_many_agents_end_in_a_count(tmp_path: Path) -> None:
    files = Files(tmp_path)
    agents = tuple(f"b{number}" for number in range(60))
    shown = text(told(files, busy(files.session, agents)))
    assert f"and {61 - ROWS_MAX} more" in shown
    assert len(shown.splitlines()) < 40


def test_labels_are_plain_text_never_markup_or_escapes(tmp_path: Path) -> None:
    files = Files(tmp_path)
    fan_out(files, **{"[red]bold[/red]\x1b[2J": died()})
    shown = text(told(files, busy(files.session)))
    assert "[red]bold[/red][2J" in shown
    assert "\x1b" not in shown


LINES: list[dict[str, Any]] = [
    {"e": "request.grant", "t": 0.0, "waited": 2.5},
    {"e": "request.grant", "t": 0.0, "waited": 0},
    {"e": "request.refused", "t": 0.0, "cause": "throttle"},
    {"e": "request.revived", "t": 0.0},
    {"e": "request.settle", "t": 50.0, "input": 10, "cache_creation": 90, "cache_read": 7},
    {"e": "request.settle", "t": -50.0, "input": 999},
    {"e": "tool.before", "t": 0.0},
]


def test_counters_follow_the_log_as_it_grows(tmp_path: Path) -> None:
    files = Files(tmp_path)
    log = files.log(*LINES[:3])
    counters = Counters()
    counters.refresh(str(log))
    assert counters.as_json(T0)["grants"] == 2
    files.log(*LINES[3:])
    counters.refresh(str(log))
    counters.refresh(str(log))
    assert counters.as_json(T0 + 60) == {
        "grants": 2,
        "refusals": 1,
        "revivals": 1,
        "requeues": 0,
        "held_s": 2.5,
        "causes": {"throttle": 1},
        "last_minute": 100,
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)
KINDS = st.sampled_from([str(line["e"]) for line in LINES]) | JSON


@given(st.lists(st.dictionaries(st.sampled_from(["t", "waited", "input", "cause"]), JSON)), KINDS)
def test_whatever_stands_in_a_log_is_counted_or_passed_over(
    lines: list[dict[str, Any]], kind: Any
) -> None:
    counters = Counters()
    counters.take({**line, "e": kind} for line in lines)
    value = counters.as_json(T0)
    assert 0 <= value["grants"] <= len(lines)
    json.dumps(value, allow_nan=False)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("PACELINE_STATE_DIR", str(tmp_path / "state"))
    files = Files(tmp_path)
    fan_out(files, one=died(), two=delivered())
    files.log({"t": 5.0, "e": "request.grant", "agent": A1, "waited": 3.0})
    return files


def test_one_frame_as_json_or_text_and_then_the_end(
    home: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["top", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["session_id"] == home.session
    assert (value["counters"]["grants"], value["census"]["dropped"]) == (1, 1)
    for options in (["--once"], ["--session", home.session]):  # no terminal: one frame too
        assert cli.run(["top", *options]) == 0
        assert "1 granted after 3 s of waiting" in capsys.readouterr().out
    assert cli.run(["top", "--session", "../x"]) == 2


def test_the_live_view_ends_on_ctrl_c_with_its_last_frame(home: Files) -> None:
    if sys.platform == "win32":
        pytest.skip("a pseudo-terminal")
    import pty

    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "paceline_mcp", "top"],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**os.environ, "TERM": "xterm", "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        os.close(theirs)
        seen = b""
        while b"delivered" not in seen:
            seen += os.read(ours, 65536)
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # Linux tells the end of the other side so
            while data := os.read(ours, 65536):
                seen += data
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
    os.close(ours)
    before, left, after = seen.partition(b"\x1b[?1049l")
    assert left
    assert b"1 of 2" in before
    assert b"1 of 2 delivered" in after
