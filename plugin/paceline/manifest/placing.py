"""Which call launched which agent. Pure.

A sidecar file and a call's result tell. Where no transcripts are kept there is no sidecar, and an
agent that died or still runs has no result: then the event log's order has to do, since an agent's
start follows its call, and its death is told once of the agent and once of the call.
"""

from __future__ import annotations

from paceline import agent_types
from paceline.transcripts.calls import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .entries import Call, Parts
    from .log import AgentLog


def placed(parts: Parts, calls: Mapping[str, Call]) -> dict[str, str]:
    """Return the call each agent outside workflows belongs to, by agent."""
    found: dict[str, str] = {}
    for key, call in calls.items():
        if call.outcome is not None and call.outcome.child and not call.launch.workflow:
            found.setdefault(call.outcome.child, key)
    for agent, read in parts.agents.items():
        key = text_of(read.meta.get("toolUseId"))
        if key in calls:
            found[agent] = key
    lone = _lone(parts, found)
    if lone:
        taken = set(found.values())
        free = {
            key: call
            for key, call in calls.items()
            if not call.launch.workflow and key not in taken and call.log is not None
        }
        _by_death(lone, free, found)
        _by_order(lone, free, found)
    return found


def _lone(parts: Parts, found: Mapping[str, str]) -> dict[str, AgentLog]:
    """Return the agents that only the event log knows, and that nobody placed."""
    inside = {
        agent
        for workflow, read in parts.workflows.values()
        for agent in (*read, *(one for item in workflow.items for one in item.agents))
    }
    return {
        agent: log
        for agent, log in parts.log.agents.items()
        if agent not in found
        and agent not in parts.agents
        and agent not in parts.elsewhere
        and agent not in inside
        and log.started
        and log.type != agent_types.WORKFLOW
    }


def _by_death(lone: dict[str, AgentLog], free: dict[str, Call], found: dict[str, str]) -> None:
    """Pair agents and calls that died of the same cause, of those that may be one the nearest.

    The first to start chooses first: later ones may be of each call that it may be of, so whoever
    has a call finds one.
    """
    for agent, log in _by_start(lone):
        if log.failed is None:
            continue
        at, refusal = log.failed
        may = [
            (abs(at - call.outcome.at), key)
            for key, call in free.items()
            if call.outcome is not None
            and call.outcome.refusal is not None
            and call.outcome.refusal.cause == refusal.cause
            and _may(log, call)
        ]
        if may:
            found[agent] = key = min(may)[1]
            del free[key]


def _by_order(lone: dict[str, AgentLog], free: dict[str, Call], found: dict[str, str]) -> None:
    """Pair what has not ended: the first to start is of the first call."""
    for agent, log in _by_start(lone):
        if log.failed is not None:
            continue
        for key, call in free.items():
            if call.outcome is None and _may(log, call):
                found[agent] = key
                del free[key]
                break


def _by_start(lone: Mapping[str, AgentLog]) -> list[tuple[str, AgentLog]]:
    return sorted(lone.items(), key=lambda item: (item[1].started[0], item[0]))


def _may(log: AgentLog, call: Call) -> bool:
    """Whether this agent may be of this call: of its type, and not begun before it."""
    return (
        log.type == (call.launch.agent_type or agent_types.PLAIN)
        and call.launch.at <= log.started[0]
    )
