"""Which work a session has lost, as the manifest tells. Only imported when a refusal was seen."""

from __future__ import annotations

import os

from paceline import jsonl, paths

from . import event as fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    Run = dict[str, Any]
    Agent = dict[str, Any]

_SIGN = b'"e":"agent.failed"'


def seen(event: Mapping[str, Any], env: Mapping[str, str], child: str = "") -> bool:
    """Say whether the log has an agent that was refused for good: that one, or any.

    A look at the bytes, for the many times nothing is wrong.
    """
    sign = _SIGN + (f',"agent":"{child}"'.encode("ascii") if child else b"")
    try:
        with open(_log(event, env), "rb") as file:
            return sign in file.read()
    except OSError:
        return False


def runs(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> list[Run]:
    """Return the session's runs as in the manifest."""
    from paceline.manifest import build_manifest

    transcript = fields.text_of(event, "transcript_path", fields.PATH_MAX)
    session = fields.session_of(event, env)
    state = paths.state_dir(env)
    found = build_manifest(os.path.dirname(transcript), state, session, now=now)
    return list(found["runs"])


def lines(event: Mapping[str, Any], env: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the session's event log."""
    return jsonl.read(_log(event, env))[0]


def dropped(run: Run) -> list[Agent]:
    """Return the agents of a run that were refused, are worth another try, and got none yet."""
    return [
        agent
        for agent in run["agents"]
        if agent["state"] == "dropped" and agent["retryable"] and agent["requeued_as"] is None
    ]


def due(agents: Iterable[Agent], now: float) -> list[Agent]:
    """Return those that may go now: no reset is known, or it is over."""
    return [agent for agent in agents if not agent["resets_at"] or agent["resets_at"] <= now]


def _log(event: Mapping[str, Any], env: Mapping[str, str]) -> str:
    session = fields.session_of(event, env)
    if session is None:
        msg = "session_id"
        raise fields.FieldError(msg)
    return paths.events_file(paths.state_dir(env), session)
