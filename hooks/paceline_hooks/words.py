"""What Claude is told of lost work: short, made of ids and counts, nothing an agent wrote. Pure."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Run = dict[str, Any]
    Agent = dict[str, Any]

IDS_MAX = 20
"""Agents named in one text; more are counted."""


def of_agent(agent: Agent, now: float) -> str:
    """Return what to say of one agent that was refused."""
    ident = agent["agent_id"]
    name = f"agent {ident}" if ident else "this agent"
    said = f"Paceline: {name} was refused ({agent['cause']}) and delivered nothing."
    return f"{said} {_bring_back([agent], now)}"


def of_run(run: Run, lost: Sequence[Agent], now: float) -> str:
    """Return what to say of a run that lost agents."""
    causes = ", ".join(sorted({str(agent["cause"]) for agent in lost}))
    said = (
        f"Paceline: run {run['run_id']} launched {run['launched']} agents, "
        f"{run['completed']} delivered, {len(lost)} refused ({causes}). "
        "What these should have done is not done, whatever the run's status says."
    )
    if run["kind"] == "workflow":
        return f"{said} {_by_tool(run, lost, now)}"
    return f"{said} {_bring_back(lost, now)}"


def of_stop(runs: Sequence[tuple[Run, Sequence[Agent]]], now: float) -> str:
    """Return why the main thread should not stop yet."""
    said = " ".join(of_run(run, lost, now) for run, lost in runs)
    return f"{said} Do this before you finish; then say plainly what is still missing."


def _bring_back(lost: Sequence[Agent], now: float) -> str:
    """Return how to go on with agents, the cheapest way: continue each where it stopped."""
    known = [agent["agent_id"] for agent in lost if agent["agent_id"]][:IDS_MAX]
    if not known:
        return "The tool requeue_dropped (server paceline) tells how to bring it back."
    calls = ", ".join(f'SendMessage {{to: "{ident}"}}' for ident in known)
    more = len(lost) - len(known)
    tail = f", and {more} more that requeue_dropped lists" if more else ""
    each = "Continue it where it stopped" if len(lost) == 1 else "Continue each where it stopped"
    return f"{each}, once: {calls}{tail}.{_not_before(lost, now)}"


def _by_tool(run: Run, lost: Sequence[Agent], now: float) -> str:
    return (
        f"Call requeue_dropped (server paceline) for run {run['run_id']} and follow its tickets: "
        f"finished results are kept, only the dead agents run again.{_not_before(lost, now)}"
    )


def _not_before(lost: Sequence[Agent], now: float) -> str:
    latest = max((agent["resets_at"] or 0.0 for agent in lost), default=0.0)
    if latest <= now:
        return ""
    return f" Not before {time.strftime('%Y-%m-%dT%H:%MZ', time.gmtime(latest))}, its reset."
