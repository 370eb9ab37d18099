"""Sessions without transcripts (``--no-session-persistence``): the event log is all there is."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fanout_files import T0, Files
from paceline.manifest import build_manifest

if TYPE_CHECKING:
    from collections.abc import Sequence

GP = "general-purpose"
ENDS = ("completed", "throttle", "overload", "invalid", "running")
AGENT = st.tuples(
    st.sampled_from(ENDS),
    st.sampled_from([GP, "", "Explore"]),
    st.floats(0.0, 30.0),  # seconds from its launch to its start: it may wait for a place
    st.floats(0.1, 60.0),  # and from its start to its end
    st.floats(-1.0, 1.0),  # between what is told of its death and of its call's failure
)


def lines_of(number: int, at: float, agent: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Return what hooks write of one Agent call and its agent."""
    end, kind, waits, lives, apart = agent
    call: dict[str, Any] = {"tool": "Agent", "id": f"toolu_{number}"}
    own: dict[str, Any] = {"agent": f"a{number}", "type": kind or GP}
    begun = at + waits
    ended = begun + lives
    launch = {"label": f"reader-{number}", "agent_type": kind}
    lines = [
        {"t": at, "e": "tool.before", **call, **launch},
        {"t": begun, "e": "agent.start", **own},
    ]
    if end == "completed":
        told = {"child": own["agent"], "status": "completed"}
        lines.append({"t": ended, "e": "agent.stop", **own})
        lines.append({"t": ended + 0.1, "e": "tool.after", **call, **told})
    elif end != "running":
        why = {"cause": end, "retryable": end != "invalid", "text": f"API Error: {end}"}
        lines.append({"t": ended, "e": "agent.failed", **own, **why})
        lines.append({"t": max(begun, ended + apart), "e": "tool.failed", **call, **why})
    return lines


def told_of(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the manifest's agents of a session whose log has these lines."""
    with tempfile.TemporaryDirectory() as folder:
        files = Files(Path(folder))
        files.log(*sorted(lines, key=lambda line: float(line["t"])))
        told = build_manifest(str(files.projects), str(files.state), now=T0 + 100.0)
    return [agent for run in told["runs"] for agent in run["agents"]]


def of_all(agents: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Return the lines of agents launched 0.1 s apart."""
    return [
        line
        for number, agent in enumerate(agents)
        for line in lines_of(number, 1.0 + number / 10, agent)
    ]


@settings(max_examples=200, deadline=None)
@given(st.lists(AGENT, min_size=1, max_size=6))
def test_each_agent_is_told_of_once_and_as_it_ended(agents: list[tuple[Any, ...]]) -> None:
    """[P5] Not once of the call and once of the agent: that would also bring it back twice."""
    told = told_of(of_all(agents))
    assert len(told) == len(agents)
    ends = {agent["label"]: agent["cause"] or agent["state"] for agent in told}
    assert ends == {f"reader-{number}": agent[0] for number, agent in enumerate(agents)}


def test_a_dead_agent_and_its_failed_call_are_one_though_another_died_with_it() -> None:
    """[P6] Its id is what its tokens and its attempts are told by."""
    lines = of_all([("throttle", GP, 0.0, 5.0, 0.2), ("overload", GP, 0.0, 5.1, -0.2)])
    told = {agent["label"]: agent for agent in told_of(lines)}
    assert (told["reader-0"]["agent_id"], told["reader-0"]["cause"]) == ("a0", "throttle")
    assert (told["reader-1"]["agent_id"], told["reader-1"]["cause"]) == ("a1", "overload")


def test_a_call_that_failed_before_its_agent_began_has_no_agent() -> None:
    """[P5] What failed at once is one drop; the agent that began is another call's."""
    failed, running = ("throttle", GP, 0.0, 1.0, 0.0), ("running", GP, 0.0, 1.0, 0.0)
    lines = [line for line in of_all([failed, running]) if line.get("agent") != "a0"]
    states = {agent["label"]: (agent["agent_id"], agent["state"]) for agent in told_of(lines)}
    assert states == {"reader-0": (None, "dropped"), "reader-1": ("a1", "running")}
