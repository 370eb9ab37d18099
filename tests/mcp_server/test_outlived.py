"""What a server removes of sessions long over, and what it leaves."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING

import pytest

from paceline_mcp import outlived

if TYPE_CHECKING:
    from pathlib import Path

    from gate_talk import Bench

NOW = 1_800_000_000.0
OLD, NEW = NOW - 31 * 86400, NOW - 29 * 86400


def session(state: Path, name: str, at: float, transcript: Path | None = None) -> Path:
    folder = state / "sessions" / name
    (folder / "requeue").mkdir(parents=True)
    first = {"t": at, "e": "session.start", "agent": None, "transcript": str(transcript or "")}
    (folder / "events.jsonl").write_text(json.dumps(first) + "\n", encoding="utf-8")
    for place in (folder / "events.jsonl", folder / "requeue", folder):
        os.utime(place, (at, at))
    return folder


def left(state: Path) -> list[str]:
    return sorted(place.name for place in (state / "sessions").iterdir())


def test_the_log_of_a_session_that_the_client_forgot_goes_after_a_month(tmp_path: Path) -> None:
    state, transcript = tmp_path / "state", tmp_path / "s.jsonl"
    transcript.touch()
    session(state, "forgotten", OLD)
    session(state, "gone-transcript", OLD, tmp_path / "none.jsonl")
    session(state, "kept-by-the-client", OLD, transcript)
    session(state, "recent", NEW)
    written = session(state, "still-written-to", OLD)
    os.utime(written / "events.jsonl", (NEW, NEW))
    session(state, "not an id", OLD)
    reports = state / "reports"
    reports.mkdir()
    for name, at in (("old.txt", OLD), ("new.txt", NEW)):
        (reports / name).touch()
        os.utime(reports / name, (at, at))

    assert outlived.remove(str(state), NOW) == 3

    assert left(state) == ["kept-by-the-client", "not an id", "recent", "still-written-to"]
    assert [place.name for place in reports.iterdir()] == ["new.txt"]
    assert outlived.remove(str(state), NOW) == 0
    assert outlived.remove(str(tmp_path / "none"), NOW) == 0


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_a_link_among_the_sessions_leads_nowhere(tmp_path: Path) -> None:
    state = tmp_path / "state"
    elsewhere = session(tmp_path, "mine", OLD)
    (state / "sessions").mkdir(parents=True)
    (state / "sessions" / "link").symlink_to(elsewhere, target_is_directory=True)
    assert outlived.remove(str(state), NOW) == 0
    assert (elsewhere / "events.jsonl").exists()


def test_one_server_removes_only_so_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlived, "AT_ONCE", 2)
    for number in range(5):
        session(tmp_path, f"s{number}", OLD)
    assert [outlived.remove(str(tmp_path), NOW) for _ in range(4)] == [2, 2, 1, 0]


@pytest.mark.anyio
async def test_a_server_that_starts_removes_them(bench: Bench) -> None:
    from pathlib import Path

    from mcp import Client

    folder = session(Path(bench.state), "forgotten", 1_700_000_000.0)
    async with Client(bench.server()):
        for thread in threading.enumerate():
            if thread.name == outlived.NAME:
                thread.join(30)
    assert not folder.exists()
