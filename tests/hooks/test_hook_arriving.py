"""Agents that start while the server's packages are still being installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paceline import arriving
from paceline_hooks import arriving as waiting

ROOT = Path(__file__).resolve().parents[2]
BOUND = 60


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    return tmp_path / "state"


def started(state: Path, transcript: Path) -> subprocess.Popen[bytes]:
    """An agent's start, as the client tells it to a hook's process."""
    event = {
        "hook_event_name": "SubagentStart",
        "session_id": "s1",
        "agent_id": "a1",
        "agent_type": "general-purpose",
        "transcript_path": str(transcript),
    }
    kept = {name: os.environ[name] for name in ("SYSTEMROOT", "PATH") if name in os.environ}
    hook = subprocess.Popen(
        [sys.executable, "-I", "-S", "-X", "utf8", str(ROOT / "hooks" / "run.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=kept | {"PACELINE_STATE_DIR": str(state), "HOME": str(state)},
    )
    assert hook.stdin is not None
    hook.stdin.write(json.dumps(event).encode())
    hook.stdin.close()
    return hook


def test_an_agent_of_a_first_session_waits_for_the_installation(
    state: Path, tmp_path: Path
) -> None:
    """[P1] It would meet the limit with nobody to pace it and nobody to bring it back."""
    transcript = tmp_path / "t.jsonl"
    transcript.write_text('{"type":"user","version":"2.1.332"}\n', encoding="utf-8")
    arriving.begin(str(state))
    with started(state, transcript) as hook:
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                hook.wait(1.0)
            (state / "site").write_text("/nowhere", encoding="utf-8")
            arriving.end(str(state))
            assert hook.wait(BOUND) == 0
        finally:
            hook.kill()
        assert hook.stdout is not None
        assert hook.stdout.read() == b""
    log = (state / "sessions" / "s1" / "events.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line)["e"] for line in log.splitlines()] == ["agent.start"]


def test_without_an_installation_there_is_nothing_to_wait_for(state: Path) -> None:
    """[P7]"""
    assert waiting.waited(str(state)) is False


def test_the_mark_of_an_installation_that_was_killed_holds_nobody(state: Path) -> None:
    """[P7]"""
    arriving.begin(str(state))
    long_ago = time.time() - arriving.FRESH_S - 1
    os.utime(state / "arriving", (long_ago, long_ago))
    assert waiting.waited(str(state)) is False
    arriving.begin(str(state))
    assert arriving.going_on(str(state))
    arriving.end(str(state))
    arriving.end(str(state))
    assert not arriving.going_on(str(state))


@pytest.mark.parametrize(
    ("rows", "gate"),
    [
        ('{"version":"2.1.332"}', True),
        ('{"version":"2.1.287"}', True),
        ('{"version":"2.1.286"}', False),
        ('{"version":"2.1.240"}\n{"type":"summary"}', False),
        ('{"version":"2.1.x"}\n{"version":null}', False),
        ("not json", False),
        ("", False),
    ],
)
def test_the_transcript_tells_whether_the_client_has_a_gate(
    tmp_path: Path, rows: str, *, gate: bool
) -> None:
    transcript = tmp_path / "t.jsonl"
    transcript.write_text(rows + "\n", encoding="utf-8")
    assert waiting.brings_gate({"transcript_path": str(transcript)}) is gate
    assert waiting.brings_gate({"transcript_path": str(tmp_path / "none")}) is False
    assert waiting.brings_gate({}) is False
