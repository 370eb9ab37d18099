"""``limits probe`` against the simulated API: the SDK's raw response, on loopback."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from paceline.errors import PacelineError
from paceline.families import family_of
from paceline_bench.simapi.config import Config
from paceline_bench.simapi.server import running
from paceline_mcp import cli
from paceline_mcp.cli.limits import store
from paceline_mcp.probe import probe, told

if TYPE_CHECKING:
    from pathlib import Path

MODEL = "claude-haiku-4-5"


@pytest.fixture(autouse=True)
def credential(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "made-up")
    monkeypatch.delenv("ANTHROPIC_ADMIN_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)


def test_the_limits_stand_in_the_headers_of_one_tiny_request(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """[P4] [I9]"""
    with running(Config(rpm=50, itpm=30_000, otpm=8_000), log=tmp_path / "log") as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        found = probe(MODEL)
        assert len(api.records()) == 1
    assert {seen.dimension: seen.limit for seen in found} == {
        "requests": 50.0,
        "input": 30_000.0,
        "output": 8_000.0,
    }


def test_what_others_spent_and_what_the_bucket_holds_stand_in_them_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """[I9] an API bucket of a quarter of a minute, half empty: the ledger's becomes the same."""
    config = Config(itpm=240_000, itpm_capacity=60_000, level=0.5)
    with running(config, log=tmp_path / "log") as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        monkeypatch.setenv("PACELINE_STATE_DIR", str(tmp_path / "state"))
        assert cli.run(["limits", "probe", "--model", MODEL, "--json"]) == 0
    rows = {row["dimension"]: row for row in json.loads(capsys.readouterr().out)["limits"]}
    assert (rows["input"]["limit"], rows["input"]["source"]) == (240_000.0, "probe")
    assert rows["input"]["capacity"] == pytest.approx(60_000.0, rel=0.15)
    bucket = store(None).snapshot().families[family_of(MODEL)].buckets["input"]
    assert 25_000.0 <= bucket.level <= 50_000.0


DATE = "Sun, 29 Nov 2026 12:00:00 GMT"
NOON = 1_795_953_600.0


def test_a_reset_is_brought_to_this_machines_clock() -> None:
    """[I9] whatever that shows: only how far ahead it is of the API's own counts."""
    headers = {
        "date": DATE,
        "anthropic-ratelimit-input-tokens-limit": "30000",
        "anthropic-ratelimit-input-tokens-remaining": "1000",
        "anthropic-ratelimit-input-tokens-reset": "2026-11-29T12:00:40Z",
    }
    for now in (NOON, NOON - 86_400.0, NOON + 3_600.0):
        (seen,) = told(headers, now)
        assert seen.resets_at is not None
        assert seen.resets_at - now == pytest.approx(39.5)
    (seen,) = told({**headers, "date": "yesterday"}, NOON)
    assert seen.resets_at == pytest.approx(NOON + 40.0)


@pytest.mark.parametrize("bad", ["", "-1", "1.5", "NaN", "9" * 400, "soon", "2026-11-29T12:00:40"])
def test_a_header_that_says_nothing_is_left_out(bad: str) -> None:
    names = ("limit", "remaining", "reset")
    good = {"limit": "30000", "remaining": "1000", "reset": "2026-11-29T12:00:40Z"}
    for name in names:
        headers = {f"anthropic-ratelimit-input-tokens-{n}": good[n] for n in names if n != name}
        headers[f"anthropic-ratelimit-input-tokens-{name}"] = bad
        found = told(headers, NOON)
        if name == "limit":
            assert found == []
        else:
            (seen,) = found
            assert (seen.remaining if name == "remaining" else seen.resets_at) is None


def test_a_refused_probe_tells_as_much(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty bucket refuses it; the headers are on a refusal too."""
    with running(Config(rpm=1, itpm=30_000, level=0.0), log=tmp_path / "log") as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        (seen,) = [seen for seen in probe(MODEL) if seen.dimension == "input"]
        assert seen.limit == 30_000.0
        assert seen.remaining is not None
        assert seen.remaining < 1_000.0
        (record,) = api.records()
    assert record.outcome == "refused"


def test_a_plan_tells_no_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with running(Config(headers="subscriber"), log=tmp_path / "log") as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        assert probe(MODEL) == []


def test_an_api_that_cannot_be_reached_is_said_with_the_next_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    with pytest.raises(PacelineError, match=r"127\.0\.0\.1 does not answer; next: .*limits set"):
        probe(MODEL)


def test_a_missing_key_is_told_as_such_and_not_as_an_api_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(PacelineError, match="set ANTHROPIC_API_KEY; next: "):
        probe(MODEL)
