"""The main thread of a headless session while the account's quota is closed.

Refused now it would end the session, and with it the way back of all that was lost: ``claude -p``
gives up at once where a client with a terminal waits by itself, and a gate parks the request. What
a person typed is never held: only what follows the end of tools or of background work.
"""

from __future__ import annotations

import time

from paceline import agent_types, paths, settings

from . import event as fields
from . import lost, opening, presence, rest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

WAIT_S = 540.0
"""Seconds it waits at most; its hooks may run 600."""
LOOK_S = 1.0
SIGN = b'"cause":"quota"'
TOLD_S = 3.0
"""Seconds in which the hooks of an agent's end may still write: they run beside this one (client
2.1.240), so the word that a workflow ended is there before the word of how its agents did."""
SOON_S = 0.1


def wait(
    event: Mapping[str, Any], env: Mapping[str, str], now: float, ended: Iterable[str] = ()
) -> float:
    """Wait until the quota opens, where that is near. Return the time then (epoch seconds).

    Args:
        event: the main thread's.
        env: the hook's environment.
        now: epoch seconds.
        ended: ids of the background agents and workflows that the event tells of.
    """
    session = fields.session_of(event, env)
    if session is None or presence.gate_alive(paths.state_dir(env), session, now):
        return now
    now = _ended(event, env, now, set(ended))
    if not lost.has(event, env, SIGN):
        return now
    refused = max(
        (float(line["t"]) for line in lost.lines(event, env) if _is_quota(line)), default=0.0
    )
    last = now + min(WAIT_S, settings.load(env).park_max)
    while now < last:
        until = opening.until(event, env, now)
        fresh = abs(now - refused) <= TOLD_S  # a clock that was set back makes nothing fresh
        if until > last or (until <= now and not fresh):
            return now
        rest.sleep(min(LOOK_S, until - now) if until > now else SOON_S)
        now = time.time()
    return now


def _ended(
    event: Mapping[str, Any], env: Mapping[str, str], now: float, ended: Collection[str]
) -> float:
    """Wait a moment until the log has the end of every agent whose work ended."""
    last = now + TOLD_S
    while now < last and ended and under_way(lost.lines(event, env), ended):
        rest.sleep(SOON_S)
        now = time.time()
    return now


def under_way(lines: Sequence[Mapping[str, Any]], ended: Collection[str]) -> bool:
    """Say whether an agent whose work ended is in the log without its end.

    Which workflow an agent is of is not in the log: where one ended, each agent of one counts.
    """
    started: set[str] = set()
    alive: dict[str, str] = {}
    for line in lines:
        agent, kind = str(line.get("agent") or ""), line.get("e")
        if kind == "agent.start":
            started.add(agent)
            alive[agent] = str(line.get("type"))
        elif kind in ("agent.stop", "agent.failed"):
            alive.pop(agent, None)
    workflow = not started.issuperset(ended)
    return any(one in ended or (workflow and alive[one] == agent_types.WORKFLOW) for one in alive)


def _is_quota(line: Mapping[str, Any]) -> bool:
    return line.get("cause") == "quota" and isinstance(line.get("t"), (int, float))
