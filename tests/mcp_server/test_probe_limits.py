"""``limits probe`` against the simulated API: the SDK's raw response, on loopback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from paceline.errors import StateError
from paceline_bench.simapi.config import Config
from paceline_bench.simapi.server import running
from paceline_mcp.probe import probe

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
    assert found == {"requests": 50.0, "input": 30_000.0, "output": 8_000.0}


def test_a_refused_probe_tells_as_much(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty bucket refuses it; the headers are on a refusal too."""
    with running(Config(rpm=1, itpm=30_000, level=0.0), log=tmp_path / "log") as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        assert probe(MODEL)["input"] == 30_000.0
        (record,) = api.records()
    assert record.outcome == "refused"


def test_a_plan_tells_no_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with running(Config(headers="subscriber"), log=tmp_path / "log") as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        assert probe(MODEL) == {}


def test_an_api_that_cannot_be_reached_is_said_with_the_next_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    with pytest.raises(StateError, match="limits set"):
        probe(MODEL)
