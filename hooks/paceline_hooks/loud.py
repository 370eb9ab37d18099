"""When Claude is told of lost work. Nothing is said when nothing is lost, or in another mode.

What is said is :mod:`paceline.recovery`'s: short, of ids and counts, nothing an agent wrote.
"""

from __future__ import annotations

from paceline import settings

from . import lost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Output = dict[str, Any] | None


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


def at_stop(
    event: Mapping[str, Any], env: Mapping[str, str], now: float
) -> tuple[str, list[str]] | None:
    """Return why the main thread should go on and for which work, or None to let it stop.

    It is stopped at most ``requeue_attempts`` times for the same losses, only for what may go now,
    only when its run is over, and not again at once (``stop_hook_active``) when nothing new was
    lost since.
    """
    if settings.mode(env) != settings.PACE or not lost.seen(event, env):
        return None
    attempts = settings.load(env).requeue_attempts
    over = [run for run in lost.runs(event, env, now) if run["verdict"] == "degraded"]
    due = [one for one in lost.tickets(over, now, attempts) if one.not_before is None]
    if not due:
        return None
    keys = sorted({one.key for one in due})
    since = min(_died_at(agent) for run in over for agent in run["agents"] if agent["key"] in keys)
    blocked = [
        line
        for line in lost.lines(event, env)
        if line.get("e") == "stop" and line.get("blocked") is True and _time(line) >= since
    ]
    if len(blocked) >= attempts:
        return None
    if event.get("stop_hook_active") is True and blocked and set(keys) <= _named(blocked[-1]):
        return None
    some = [
        {**run, "agents": [agent for agent in run["agents"] if agent["key"] in keys]}
        if run["kind"] == "agents"
        else run
        for run in over
    ]
    reason = lost.advice(some, event, env, now, attempts)
    return (reason, keys) if reason else None


def _died_at(agent: Mapping[str, Any]) -> float:
    """Return when it first died (epoch seconds)."""
    deaths = agent["deaths"]
    return float(deaths[0]["t"] if deaths else agent["ended_at"] or agent["launched_at"] or 0.0)


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
    text = lost.advice(some, event, env, now, settings.load(env).requeue_attempts) if some else ""
    if not text:
        return None
    name = event.get("hook_event_name")
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
