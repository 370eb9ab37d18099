"""When Claude is told of lost work. Nothing is said when nothing is lost, or in another mode.

What is said is :mod:`paceline.recovery`'s: short, of ids and counts, nothing an agent wrote.
"""

from __future__ import annotations

from paceline import settings

from . import headless, lost, rest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Output = dict[str, Any] | None

STOP_WAIT_S = 540.0
"""Seconds a headless session's stop waits for a reset at most; its hook may run 600."""
AFTER_RESET_S = 1.0
"""A printed reset is rounded."""


def after_agent(
    event: Mapping[str, Any], env: Mapping[str, str], now: float, *, call: str, child: str
) -> Output:
    """Say how to bring back the agent that a call launched, where it died of a limit.

    Args:
        event: the parent's PostToolUse or PostToolUseFailure.
        env: the hook's environment.
        now: epoch seconds.
        call: the call's tool_use id.
        child: the agent's id, ``""`` where the event does not tell but its refusal is known.
    """
    if settings.mode(env) != settings.PACE or (child and not lost.seen(event, env, child)):
        return None
    for run in lost.runs(event, env, now):
        its = [
            agent
            for agent in run["agents"]
            if agent["key"] == call or (child and agent["agent_id"] == child)
        ]
        if its:
            return _context([{**run, "agents": its}], event, env, now)
    return None


def after_notification(
    event: Mapping[str, Any],
    env: Mapping[str, str],
    now: float,
    tasks: Sequence[Mapping[str, str]],
) -> Output:
    """Say how to bring back what the just notified runs and agents lost."""
    if not tasks or settings.mode(env) != settings.PACE or not lost.seen(event, env):
        return None
    ended = {task["id"] for task in tasks}
    calls = {task["tool_use_id"] for task in tasks} - {""}
    for line in lost.lines(event, env):
        if line.get("e") == "tool.after" and (line.get("task") in ended or line.get("id") in calls):
            ended.add(str(line.get("run") or ""))
    told = []
    for run in lost.runs(event, env, now):
        its = [agent for agent in run["agents"] if agent["agent_id"] in ended]
        if run["run_id"] in ended:
            told.append(run)
        elif its:
            told.append({**run, "agents": its})
    return _context(told, event, env, now)


class Said:
    """What a ``Stop`` is answered with.

    Attributes:
        reason: why the main thread should go on, ``""`` to let it stop.
        person: a line for a person where it is let go.
        keys: of the lost work it is about.
    """

    __slots__ = ("keys", "person", "reason")

    def __init__(self, keys: Sequence[str], *, reason: str = "", person: str = "") -> None:
        self.keys = list(keys)
        self.reason = reason
        self.person = person


def at_stop(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> Said | None:
    """Return what to say to a main thread that stops, or None when nothing is lost.

    It is stopped at most ``requeue_attempts`` times for the same losses, only for what may go now,
    only when its run is over, and not again at once (``stop_hook_active``) when nothing new was
    lost since. A person hears once of what is not brought back now.
    """
    if settings.mode(env) != settings.PACE or not lost.seen(event, env):
        return None
    now = _at_reset(event, env, now)
    attempts = settings.load(env).requeue_attempts
    over = _over(event, env, now)
    tickets = lost.all_tickets(over, now, attempts)
    due = [one for one in tickets if one.to_do and one.not_before is None]
    keys = sorted({one.key for one in due})
    stops = [line for line in lost.lines(event, env) if line.get("e") == "stop"]
    if due and _may_block(
        stops, over, keys, attempts, active=event.get("stop_hook_active") is True
    ):
        some = [
            {**run, "agents": [agent for agent in run["agents"] if agent["key"] in keys]}
            if run["kind"] == "agents"
            else run
            for run in over
        ]
        before = [line for line in stops if line.get("blocked") is True]
        unanswered = {key for line in before for key in _named(line)}
        reason = lost.advice(some, event, env, now, unanswered)
        if reason:
            return Said(keys, reason=reason)
    rest = [one for one in tickets if one.to_do or one.state == lost.SPENT]
    named = {key for line in stops if line.get("said") is True for key in _named(line)}
    new = sorted({one.key for one in rest} - named)
    return Said(new, person=lost.line(rest, now)) if new else None


def _over(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> list[dict[str, Any]]:
    return [run for run in lost.runs(event, env, now) if run["verdict"] == "degraded"]


def _at_reset(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> float:
    """Wait for a reset that is near where nobody else would, and return the time then.

    A headless session ends with this stop, and what it lost with it. A person's does not: they are
    told, and the next stop after the reset is blocked.
    """
    if not headless.is_so(event, env):
        return now
    attempts = settings.load(env).requeue_attempts
    tickets = lost.all_tickets(_over(event, env, now), now, attempts)
    resets = [one.not_before for one in tickets if one.to_do]
    if not resets or None in resets:
        return now
    first = min(reset for reset in resets if reset is not None) + AFTER_RESET_S
    if first - now > STOP_WAIT_S:
        return now
    rest.sleep(max(0.0, first - now))
    return first


def _may_block(
    stops: Sequence[Mapping[str, Any]],
    over: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
    attempts: int,
    *,
    active: bool,
) -> bool:
    """Say whether a stop may be blocked for this lost work."""
    dead = [agent for run in over for agent in run["agents"] if agent["key"] in keys]
    since = min(_deaths(agent)[0] for agent in dead)
    blocked = [line for line in stops if line.get("blocked") is True and _time(line) >= since]
    if len(blocked) >= attempts:
        return False
    if not (active and blocked):
        return True
    new = {agent["key"] for agent in dead if _deaths(agent)[-1] > _time(blocked[-1])}
    return bool(new) or not set(keys) <= _named(blocked[-1])


def _deaths(agent: Mapping[str, Any]) -> list[float]:
    """Return when it died, first to last (epoch seconds)."""
    times = [float(death["t"]) for death in agent["deaths"]]
    return times or [float(agent["ended_at"] or agent["launched_at"] or 0.0)]


def _time(line: Mapping[str, Any]) -> float:
    at = line.get("t")
    return float(at) if isinstance(at, (int, float)) else 0.0


def _named(line: Mapping[str, Any]) -> set[str]:
    told = line.get("of")
    return {str(key) for key in told} if isinstance(told, list) else set()


def _context(
    some: Sequence[dict[str, Any]],
    event: Mapping[str, Any],
    env: Mapping[str, str],
    now: float,
) -> Output:
    text = lost.advice(some, event, env, now) if some else ""
    if not text:
        return None
    name = event.get("hook_event_name")
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
