"""Whose business a hold is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from paceline_hooks import pacing, presence

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1789041600.0


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / "sessions" / "s1").mkdir(parents=True)
    return tmp_path


def touch(state: Path, at: float) -> None:
    gate = state / "sessions" / "s1" / "gate"
    gate.touch()
    os.utime(gate, (at, at))


def event(**more: object) -> dict[str, object]:
    return {"session_id": "s1", "agent_id": "a1", **more}


@pytest.mark.parametrize(("age", "alive"), [(0, True), (19, True), (21, False), (-5, True)])
def test_a_gate_is_alive_while_its_last_sign_of_life_is_fresh(
    state: Path, *, age: float, alive: bool
) -> None:
    touch(state, NOW - age)
    assert presence.gate_alive(str(state), "s1", NOW) is alive


def test_a_sign_of_life_from_far_ahead_is_no_gate(state: Path) -> None:
    """A clock that was set back must not switch pacing off for hours."""
    touch(state, NOW + 3600)
    assert presence.gate_alive(str(state), "s1", NOW) is False


@pytest.mark.parametrize("session", ["s1", "none", "../s1", ""])
def test_no_sign_of_life_is_no_gate(state: Path, session: str) -> None:
    assert presence.gate_alive(str(state), session, NOW) is False


def test_hooks_hold_an_agent_where_no_gate_is_alive(state: Path) -> None:
    env = {"PACELINE_STATE_DIR": str(state)}
    assert pacing.ours(event(), env, NOW) is True
    touch(state, NOW - 60)
    assert pacing.ours(event(), env, NOW) is True


def test_hooks_hold_nothing_while_a_gate_is_alive(state: Path) -> None:
    touch(state, NOW)
    assert pacing.ours(event(), {"PACELINE_STATE_DIR": str(state)}, NOW) is False


@pytest.mark.parametrize("mode", ["observe", "off", "OBSERVE"])
def test_hooks_hold_nothing_in_another_mode(state: Path, mode: str) -> None:
    env = {"PACELINE_STATE_DIR": str(state), "PACELINE_MODE": mode}
    assert pacing.ours(event(), env, NOW) is False


@pytest.mark.parametrize("agent", [None, ""])
def test_the_main_thread_is_never_held(state: Path, agent: object) -> None:
    """[P7]"""
    env = {"PACELINE_STATE_DIR": str(state)}
    assert pacing.ours(event(agent_id=agent), env, NOW) is False
