"""What a run of the real client came to, for tests of refusals."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.manifest import build_manifest
from paceline_bench.simapi.records import read_log

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paceline_bench.client.result import RunResult


def runs_of(result: RunResult) -> list[dict[str, Any]]:
    projects = str(Path(result.home, ".claude", "projects"))
    found: list[dict[str, Any]] = build_manifest(
        projects, str(result.state), result.session, now=time.time()
    )["runs"]
    return found


def run(result: RunResult) -> dict[str, Any]:
    (found,) = runs_of(result)
    return found


def refused(result: RunResult) -> list[str]:
    """Return who was refused and when, for the message of a test that fails."""
    records = list(read_log(result.api_log))
    return [
        f"{record.t - records[0].t:.2f} s {record.label} step {record.step} {record.agent}"
        for record in records
        if record.outcome == "refused"
    ]


def all_delivered(result: RunResult) -> list[dict[str, Any]]:
    """Check that everything closed, with lineage; return the entries that had died."""
    counts = result.counts
    assert counts.delivered == counts.launched, (counts, result.debug)
    assert (result.exit_code, result.is_error, result.leftovers) == (0, False, 0)
    runs = runs_of(result)
    assert {one["verdict"] for one in runs} == {"complete"}, runs
    entries = [agent for one in runs for agent in one["agents"]]
    known = {agent["agent_id"]: agent for agent in entries}
    # A revived agent is the same all along; what died for good has somebody in its place.
    dead = [agent for agent in entries if agent["deaths"] and not agent["revivals"]]
    for agent in dead:
        heir = known[agent["requeued_as"]]
        assert heir["state"] == "completed"
        assert heir is agent or heir["replaces"] in (agent["agent_id"], agent["key"])
        assert len(agent["tickets"]) >= 1
    return dead


def paid_once(result: RunResult, labels: Iterable[str]) -> None:
    """Check that each step of these agents' work was answered exactly once."""
    wanted = set(labels)
    taken = Counter(
        (record.label, record.step)
        for record in read_log(result.api_log)
        if record.label in wanted and record.outcome != "refused"
    )
    assert {label for label, _ in taken} == wanted
    assert set(taken.values()) == {1}, taken


def finished(result: RunResult) -> set[str]:
    """Return the labels of those that were never refused for good."""
    found = runs_of(result)[0]["agents"]
    return {agent["label"] for agent in found if not agent["deaths"]}


def events(result: RunResult) -> list[dict[str, Any]]:
    """Return the session's event log."""
    path = Path(result.state, "sessions", str(result.session), "events.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def stops(result: RunResult) -> list[dict[str, Any]]:
    """Return what the log has of the main thread's stops."""
    return [line for line in events(result) if line["e"] == "stop"]
