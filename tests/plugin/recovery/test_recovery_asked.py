"""Who comes back only when a person asks: those that no limit killed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fanout_files import T0, Files, answer, died, interrupted, prompt, tool
from paceline.manifest import build_manifest
from paceline.recovery import open_drops, requeue

if TYPE_CHECKING:
    from pathlib import Path

NOW = T0 + 600.0
SPENT_OUT = "You've hit your monthly spend limit"


def ask(files: Files, now: float = NOW, **asked: Any) -> dict[str, Any]:
    return requeue(str(files.projects), str(files.state), now=now, **asked)


def standing(told: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(ticket["state"], ticket["how"]) for ticket in told["tickets"]]


def cut_off(files: Files) -> None:
    """Leave an agent at work whose session was ended."""
    reading = answer(tool("Read", file_path="/home/user/a.md"), stop="tool_use")
    mtime = files.agent("a1", [prompt("Read it."), reading]).stat().st_mtime
    start = {"e": "agent.start", "agent": "a1", "type": "general-purpose"}
    files.log({"t": 1, **start}, {"t": mtime - T0 + 1, "e": "session.end", "reason": "other"})


def test_who_was_cut_off_with_the_session_comes_back_when_a_person_asks(tmp_path: Path) -> None:
    """[P1] [§6 client] Held by a limit when the window was closed, it is lost like any other."""
    files = Files(tmp_path)
    cut_off(files)
    assert standing(ask(files)) == [("never", None)]
    told = ask(files, others=True)
    assert standing(told) == [("open", "send_message")]
    assert "You were cut off" in told["advice"]
    assert "refused by a rate limit" not in told["advice"]


def test_asking_for_all_again_starts_nothing_twice(tmp_path: Path) -> None:
    """[P6]"""
    files = Files(tmp_path)
    files.agent("a1", died(SPENT_OUT))
    first, second = ask(files, others=True), ask(files, now=NOW + 1, others=True)
    assert standing(first) == [("open", "send_message")]
    assert standing(second) == [("issued", "send_message")]
    assert first["tickets"][0]["ticket"] == second["tickets"][0]["ticket"]


@pytest.mark.parametrize("asked", [False, True])
def test_claude_is_not_asked_by_itself_for_who_only_a_person_asks_for(
    tmp_path: Path, *, asked: bool
) -> None:
    """[§6 spend] also after a person did."""
    files = Files(tmp_path)
    files.agent("a1", died(SPENT_OUT))
    ask(files, others=asked)
    manifest = build_manifest(str(files.projects), str(files.state), now=NOW + 1)
    assert open_drops(manifest, NOW + 1) == []


def test_whom_a_person_stopped_never_comes_back(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.agent("a1", [prompt("Read it."), interrupted()])
    told = ask(files, others=True)
    assert standing(told) == [("never", None)]
    assert told["tickets"][0]["why"] == "stopped by a person"
