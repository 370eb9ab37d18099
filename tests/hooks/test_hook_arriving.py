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


def session_began(state: Path, at: float) -> Path:
    """A session's log as its first hook leaves it."""
    log = state / "sessions" / "s1" / "events.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(json.dumps({"t": at, "e": "session.start"}) + "\n", encoding="utf-8")
    return log


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


def test_an_agent_that_comes_before_the_launcher_looks_for_it_a_while(
    state: Path, tmp_path: Path
) -> None:
    """[P1] The client starts both at once, and on a busy machine either may be first."""
    transcript = tmp_path / "t.jsonl"
    transcript.write_text('{"type":"user","version":"2.1.332"}\n', encoding="utf-8")
    session_began(state, time.time())
    with started(state, transcript) as hook:
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                hook.wait(1.0)
            arriving.begin(str(state))
            with pytest.raises(subprocess.TimeoutExpired):
                hook.wait(0.5)
            (state / "site").write_text("/nowhere", encoding="utf-8")
            arriving.end(str(state))
            assert hook.wait(BOUND) == 0
        finally:
            hook.kill()
    log = (state / "sessions" / "s1" / "events.jsonl").read_text(encoding="utf-8")
    told = [json.loads(line)["e"] for line in log.splitlines()]
    assert told == ["session.start", "agent.start"]


def test_a_launcher_is_looked_for_in_the_first_seconds_of_a_session_only(state: Path) -> None:
    """[P7] Where the server is switched off, nobody waits for it after them."""
    log = str(session_began(state, 1_000.0))
    assert waiting.to_expect(str(state), log, 1_000.5) == waiting.EXPECT_S - 0.5
    assert waiting.to_expect(str(state), log, 1_000.0 + waiting.EXPECT_S) == 0.0
    assert waiting.to_expect(str(state), log, 1e9) == 0.0
    assert waiting.to_expect(str(state), log, 0.0) == waiting.EXPECT_S, "a clock set back"
    assert waiting.to_expect(str(state), str(state / "none"), 1_000.0) == 0.0
    assert waiting.waited(str(state), str(state / "none")) is False


def test_nobody_looks_for_a_launcher_where_one_began_or_a_server_ran(state: Path) -> None:
    """[P7]"""
    log = str(session_began(state, 1_000.0))
    arriving.begin(str(state))
    assert waiting.to_expect(str(state), log, 1_000.0) == 0.0
    arriving.end(str(state))
    (state / "site").write_text("/nowhere", encoding="utf-8")
    assert waiting.to_expect(str(state), log, 1_000.0) == 0.0


@pytest.mark.parametrize("first", ["", "no json", "[]", '{"e":"session.start"}', '{"t":1e9}'])
def test_a_log_that_does_not_tell_its_start_holds_nobody(state: Path, first: str) -> None:
    """[P7]"""
    log = state / "log"
    log.write_text(first + "\n", encoding="utf-8")
    assert waiting.to_expect(str(state), str(log), 1e9) == 0.0


def test_the_mark_of_an_installation_that_was_killed_holds_nobody(state: Path) -> None:
    """[P7]"""
    arriving.begin(str(state))
    long_ago = time.time() - arriving.FRESH_S - 1
    os.utime(state / "arriving", (long_ago, long_ago))
    assert waiting.waited(str(state), str(state / "none")) is False
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
