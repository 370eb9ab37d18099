"""How an agent is brought back that was already tried once in this run. Pure.

The ladder of the recovery goes from a message to the dead agent to a new agent. Between resumes
more is known than inside a session: a message after which an agent died again had reached it, so
another one continues it at the least cost; one that a whole resume left without any sign of the
agent did not, and a new agent has to take its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paceline.recovery.tickets import AGENT, CLOCK_SLACK_S, SEND_MESSAGE

if TYPE_CHECKING:
    from collections.abc import Mapping

REACHED = "reached"
"""Stands for a message that did arrive: it is counted as a try, not as a failure of the way."""


def next_steps(manifest: Mapping[str, Any], since: float) -> dict[str, Any]:
    """Return the manifest with its tickets told by whether they reached their agents.

    Args:
        manifest: of a session without a process.
        since: epoch seconds of the last resume's begin; 0.0 before the first one, and where its
            main thread died before it could act.
    """
    return {
        **manifest,
        "runs": [
            {**run, "agents": [_next(agent, since) for agent in run["agents"]]}
            for run in manifest["runs"]
        ],
    }


def _next(agent: Mapping[str, Any], since: float) -> dict[str, Any]:
    given = agent.get("tickets") or []
    if agent["state"] != "dropped" or not given:
        return dict(agent)
    died = max((death["t"] for death in agent.get("deaths") or ()), default=0.0)
    last = given[-1]
    if died > last["t"] + CLOCK_SLACK_S:
        told = [
            {**one, "how": REACHED if one["how"] == SEND_MESSAGE else one["how"]} for one in given
        ]
        return {**agent, "tickets": told}
    if last["how"] == SEND_MESSAGE and last["t"] <= since:
        return {**agent, "tickets": [*given[:-1], {**last, "how": AGENT}]}
    return dict(agent)


def some(manifest: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    """Return the manifest without the dead agents whose keys are not among ``keys``.

    A workflow is finished as a whole, by one script: its agents stay.
    """
    return {
        **manifest,
        "runs": [
            {**run, "agents": [one for one in run["agents"] if _stays(run, one, keys)]}
            for run in manifest["runs"]
        ],
    }


def _stays(run: Mapping[str, Any], agent: Mapping[str, Any], keys: frozenset[str]) -> bool:
    return run["kind"] == "workflow" or agent["state"] != "dropped" or agent["key"] in keys
