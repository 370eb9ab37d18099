"""When Claude is told of lost work. Nothing is said when nothing is lost, or in another mode."""

from __future__ import annotations

from paceline import settings

from . import lost, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Output = dict[str, Any] | None


def after_agent(
    event: Mapping[str, Any], env: Mapping[str, str], now: float, *, call: str, child: str
) -> Output:
    """Speak of the agent that a call launched, where it died of something worth another try.

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
        for agent in lost.dropped(run):
            if agent["key"] == call or (child and agent["agent_id"] == child):
                return _context(event, words.of_agent(agent, now))
    return None


def after_notification(
    event: Mapping[str, Any],
    env: Mapping[str, str],
    now: float,
    tasks: Sequence[Mapping[str, str]],
) -> Output:
    """Speak of the runs and agents whose end was just notified, where some were lost."""
    if not tasks or settings.mode(env) != settings.PACE or not lost.seen(event, env):
        return None
    ended = {task["id"] for task in tasks}
    calls = {task["tool_use_id"] for task in tasks} - {""}
    for line in lost.lines(event, env):
        if line.get("e") == "tool.after" and (line.get("task") in ended or line.get("id") in calls):
            ended.add(str(line.get("run") or ""))
    told = []
    for run in lost.runs(event, env, now):
        dropped = lost.dropped(run)
        if run["run_id"] in ended and dropped:
            told.append(words.of_run(run, dropped, now))
        else:
            told += [words.of_agent(one, now) for one in dropped if one["agent_id"] in ended]
    return _context(event, " ".join(told)) if told else None


def at_stop(
    event: Mapping[str, Any], env: Mapping[str, str], now: float
) -> tuple[str, list[str]] | None:
    """Return why the main thread should go on and for which agents, or None to let it stop.

    It is stopped at most ``requeue_attempts`` times for the same losses, only for what may go now,
    and not again at once (``stop_hook_active``) when nothing new was lost since.
    """
    if settings.mode(env) != settings.PACE or not lost.seen(event, env):
        return None
    ended = [run for run in lost.runs(event, env, now) if run["verdict"] == "degraded"]
    open_ = [(run, lost.due(lost.dropped(run), now)) for run in ended]
    open_ = [(run, agents) for run, agents in open_ if agents]
    if not open_:
        return None
    agents = [agent for _, some in open_ for agent in some]
    keys = sorted({str(agent["key"]) for agent in agents})
    since = min(_died_at(agent) for agent in agents)
    blocked = [
        line
        for line in lost.lines(event, env)
        if line.get("e") == "stop" and line.get("blocked") is True and _time(line) >= since
    ]
    if len(blocked) >= settings.load(env).requeue_attempts:
        return None
    if event.get("stop_hook_active") is True and blocked and set(keys) <= _named(blocked[-1]):
        return None
    return words.of_stop(open_, now), keys


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


def _context(event: Mapping[str, Any], text: str) -> dict[str, Any]:
    name = event.get("hook_event_name")
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
