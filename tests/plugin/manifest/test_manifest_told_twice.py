"""The census does not hang on the order, the number or the presence of the words about an end."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fanout_files import T0, Files, agent_id, prompt, write_lines
from paceline.manifest import build_manifest

if TYPE_CHECKING:
    from pathlib import Path

    Line = dict[str, Any]

THROTTLE: dict[str, Any] = {
    "cause": "throttle",
    "retryable": True,
    "resets_at": None,
    "window": None,
    "dimension": None,
    "limit": None,
    "text": "Rate limited",
}
TYPE = "general-purpose"
ENDS = ("delivered", "revived", "died", "woken")
ABOUT_ENDS = {"agent.start", "agent.stop", "agent.failed", "tool.after", "tool.failed", "batch"}


def session(ends: list[str]) -> list[Line]:
    """Return the log of one fan-out whose agents ended so."""
    lines: list[Line] = []
    for number, end in enumerate(ends):
        agent, call, at = agent_id(number + 1), f"toolu_{number}", T0 + number * 0.01

        def add(after: float, kind: str, who: str | None, at: float = at, **more: Any) -> None:
            lines.append({"t": at + after, "e": kind, "agent": who, **more})

        add(0.0, "tool.before", None, tool="Agent", id=call, label=f"r{number}", agent_type=TYPE)
        add(0.1, "agent.start", agent, type=TYPE)
        add(0.2, "request.grant", agent, id=f"g{number}", cost=5, waited=0, by="gate")
        if end == "revived":
            add(0.3, "request.refused", agent, id=f"g{number}", attempt=0, **THROTTLE)
            add(0.4, "request.revived", agent, id=f"g{number}", n=1)
            add(0.5, "request.grant", agent, id=f"h{number}", cost=5, waited=0, by="gate")
        if end in ("delivered", "revived"):
            add(1.0, "agent.stop", agent, type=TYPE, empty=False)
            add(1.1, "tool.after", None, tool="Agent", id=call, child=agent, status="completed")
        else:
            add(1.0, "agent.failed", agent, type=TYPE, **THROTTLE)
            add(1.1, "tool.failed", None, tool="Agent", id=call, interrupted=False, **THROTTLE)
        if end == "woken":
            task = {"id": agent, "tool_use_id": "toolu_s", "status": "completed"}
            ticket: dict[str, Any] = {"ticket": f"tk_{number:012x}", "how": "send_message"}
            add(2.0, "requeue", None, prompt_sha="ab", of=agent, **ticket)
            add(3.0, "agent.start", agent, type=TYPE)
            add(4.0, "agent.stop", agent, type=TYPE, empty=False)
            add(4.1, "prompt", None, tasks=[task])
    calls = [f"toolu_{number}" for number in range(len(ends))]
    lines.append({"t": T0 + 1.5, "e": "batch", "agent": None, "ids": calls, "tokens": 5})
    return sorted(lines, key=lambda line: float(line["t"]))


def census(root: Path, lines: list[Line], ends: list[str]) -> Any:
    """Return the counts and every agent's state of the one run there is."""
    shutil.rmtree(root, ignore_errors=True)
    files = Files(root)
    write_lines(files.state / "sessions" / files.session / "events.jsonl", lines)
    for number, _ in enumerate(ends):
        meta = {"toolUseId": f"toolu_{number}", "agentType": TYPE}
        files.agent(agent_id(number + 1), [prompt("Read it.", 0.1)], **meta)
    found = build_manifest(str(files.projects), str(files.state), now=T0 + 20.0)
    (run,) = found["runs"]
    counts = {name: run[name] for name in ("launched", "completed", "dropped", "running")}
    agents = sorted(
        (one["agent_id"], one["state"], one["cause"], one["revivals"]) for one in run["agents"]
    )
    return counts, run["verdict"], agents


@settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    max_examples=40,
)
@given(st.lists(st.sampled_from(ENDS), min_size=1, max_size=4), st.data())
def test_an_end_told_twice_late_or_not_at_all_changes_no_census(
    tmp_path: Path, ends: list[str], data: st.DataObject
) -> None:
    """[P5] [CASE 16] [CASE 17] Hooks run beside each other; the transcripts lag as well."""
    lines = session(ends)
    root = tmp_path / "s"
    plain = census(root, lines, ends)
    died = ends.count("died")
    assert plain[0]["completed"] == len(ends) - died
    assert plain[0]["dropped"] == died

    where = [n for n, line in enumerate(lines) if line["e"] in ABOUT_ENDS]
    doubled = data.draw(st.sets(st.sampled_from(where)), label="doubled")
    twice = [line for n, line in enumerate(lines) for _ in range(1 + (n in doubled))]
    assert census(root, twice, ends) == plain

    late = list(lines)
    for moved in data.draw(st.lists(st.sampled_from(where), max_size=4), label="late"):
        late.insert(min(len(late), moved + 5), late.pop(moved))
    assert census(root, late, ends) == plain

    for kind in ("agent.stop", "agent.failed"):
        missing = [n for n, line in enumerate(lines) if line["e"] == kind]
        gone = data.draw(st.sets(st.sampled_from(missing)), label=kind) if missing else set()
        assert census(root, [one for n, one in enumerate(lines) if n not in gone], ends) == plain
