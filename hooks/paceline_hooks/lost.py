"""What a session has lost and how it is brought back. Only imported when a refusal was seen."""

from __future__ import annotations

import os

from paceline import jsonl, paths, settings

from . import event as fields
from . import presence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from typing import Any

    from paceline.recovery import Ticket

    Run = dict[str, Any]

SPENT = "spent"
"""State of a ticket whose work was tried as often as allowed (``recovery.tickets``)."""
_SIGN = b'"e":"agent.failed"'


def seen(event: Mapping[str, Any], env: Mapping[str, str], child: str = "") -> bool:
    """Say whether the log has an agent that was refused for good: that one, or any.

    A look at the bytes, for the many times nothing is wrong.
    """
    sign = _SIGN + (f',"agent":"{child}"'.encode("ascii") if child else b"")
    return has(event, env, sign)


def has(event: Mapping[str, Any], env: Mapping[str, str], sign: bytes) -> bool:
    """Say whether the session's log has these bytes."""
    try:
        with open(_log(event, env), "rb") as file:
            return sign in file.read()
    except OSError:
        return False


def lines(event: Mapping[str, Any], env: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the session's event log."""
    return jsonl.read(_log(event, env))[0]


def runs(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> list[Run]:
    """Return the session's runs as in the manifest, a plan's resets as the ledger knows them.

    Whoever is started before would be refused again: the row that tells an agent's reset to the
    second may not be written yet, and the event's text tells the minute only.
    """
    from paceline.manifest import build_manifest

    session = fields.session_of(event, env)
    state = paths.state_dir(env)
    found = list(build_manifest(_projects(event), state, session, now=now)["runs"])
    closed = [
        agent
        for run in found
        for agent in run["agents"]
        if agent["state"] == "dropped" and agent["cause"] == "quota"
    ]
    if closed:
        from . import opening

        until = opening.until(event, env, now, told=True)
        for agent in closed:
            agent["resets_at"] = max(agent["resets_at"] or 0.0, until) or None
    return found


def all_tickets(some: Sequence[Run], now: float, attempts: int) -> list[Ticket]:
    """Return what these runs lost: what can be brought back and when, and what cannot."""
    from paceline.recovery import plan

    return plan({"runs": some}, now, attempts)


def line(some: Sequence[Ticket], now: float) -> str:
    """Return a line about lost work for a person."""
    from paceline.recovery import for_person

    return for_person(some, now)


def advice(
    some: Sequence[Run],
    event: Mapping[str, Any],
    env: Mapping[str, str],
    now: float,
    unanswered: Container[str] = (),
) -> str:
    """Give the tickets of these runs out, and return what Claude is to do, ``""`` for nothing.

    ``unanswered``: keys of work that Claude was told of when it stopped before, without an effect.
    """
    from paceline.recovery import issue

    told = settings.load(env)
    given = issue(
        {"runs": some},
        _projects(event),
        paths.state_dir(env),
        now,
        attempts=told.requeue_attempts,
        patience=_patience(event, env, now, told.park_max),
        unanswered=unanswered,
    )
    return str(given["advice"])


def _patience(
    event: Mapping[str, Any], env: Mapping[str, str], now: float, park_max: float
) -> float:
    """Return how many seconds an agent that is started now waits for a reset by itself."""
    from paceline.recovery.words import PATIENCE_S

    session = fields.session_of(event, env)
    gate = session is not None and presence.gate_alive(paths.state_dir(env), session, now)
    return park_max if gate else min(park_max, PATIENCE_S)


def _projects(event: Mapping[str, Any]) -> str:
    return os.path.dirname(fields.text_of(event, "transcript_path", fields.PATH_MAX))


def _log(event: Mapping[str, Any], env: Mapping[str, str]) -> str:
    session = fields.session_of(event, env)
    if session is None:
        msg = "session_id"
        raise fields.FieldError(msg)
    return paths.events_file(paths.state_dir(env), session)
