"""Cases from public reports, as files and events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fanout_files import (
    SESSION_LIMIT,
    T0,
    THROTTLE,
    Files,
    agent_id,
    answer,
    delivered,
    died,
    error,
    launch,
    launched,
    notice,
    prompt,
    result,
    tool,
)
from paceline.manifest import build_manifest

if TYPE_CHECKING:
    from pathlib import Path

LATER = T0 + 86400.0
SOON = T0 + 20.0


def manifest(files: Files, now: float = LATER, **asked: Any) -> dict[str, Any]:
    return build_manifest(str(files.projects), str(files.state), now=now, **asked)


def agents(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {a["agent_id"] or a["key"]: a for run in told["runs"] for a in run["agents"]}


def states(told: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(a["state"], a["cause"]) for run in told["runs"] for a in run["agents"]]


def test_a_bare_transcript_that_ends_in_a_throttle_is_a_drop(tmp_path: Path) -> None:
    """[CASE 1]"""
    files = Files(tmp_path)
    files.agent("a1", [prompt("x"), error(at=5.0)])
    told = agents(manifest(files))["a1"]
    assert (told["state"], told["cause"], told["retryable"]) == ("dropped", "throttle", True)
    assert told["resets_at"] is None
    assert sum(told["tokens"].values()) == 0


def test_a_quota_gives_the_reset_of_its_day(tmp_path: Path) -> None:
    """[CASE 2]"""
    files = Files(tmp_path)
    files.agent("a1", died(SESSION_LIMIT))
    told = agents(manifest(files))["a1"]
    assert (told["cause"], told["window"], told["retryable"]) == ("quota", "five_hour", True)
    assert told["resets_at"] == 1789111200.0


def test_an_entitlement_is_dropped_for_good(tmp_path: Path) -> None:
    """[CASE 5]"""
    files = Files(tmp_path)
    files.agent("a1", died("Usage credits required for 1M context · run /usage-credits ..."))
    told = agents(manifest(files))["a1"]
    assert (told["cause"], told["retryable"]) == ("entitlement", False)


def test_a_report_about_rate_limits_is_a_report(tmp_path: Path) -> None:
    """[CASE 6] [P5]"""
    files = Files(tmp_path)
    files.agent(
        "a1",
        [
            prompt("x"),
            answer(tool("Read"), stop="tool_use"),
            result(text=str(error())),
            answer('Finding 4: the API returns 429 "rate_limit"', at=4.0),
        ],
    )
    told = manifest(files)
    assert told["verdict"] == "complete"
    assert states(told) == [("completed", None)]


def test_an_error_that_was_survived_is_no_drop(tmp_path: Path) -> None:
    """[CASE 7]"""
    files = Files(tmp_path)
    files.agent("a1", [prompt("x"), error(at=1.0), answer("Done.", at=2.0)])
    told = agents(manifest(files))["a1"]
    assert (told["state"], told["revivals"]) == ("completed", 1)
    assert [death["cause"] for death in told["deaths"]] == ["throttle"]


@pytest.mark.parametrize("transcript", ["there", "gone"])
def test_an_old_clients_completed_agent_that_is_an_error_is_dropped(
    tmp_path: Path, transcript: str
) -> None:
    """[CASE 9] Before 2.1.199 the error text was the result of a "completed" agent."""
    files = Files(tmp_path)
    usage = "<usage><tool_uses>36</tool_uses></usage>"
    files.main(
        [
            answer(launch("toolu_1", "one"), stop="tool_use", ident="msg_1"),
            launched("toolu_1", "a1"),
            notice("a1", "completed", 9.0, f"<result>{THROTTLE}</result>", usage),
        ]
    )
    if transcript == "there":
        work = [answer(tool("Read", f"t{n}"), at=1.0 + n, stop="tool_use") for n in range(36)]
        files.agent("a1", [prompt("x"), *work, error(at=50.0)], toolUseId="toolu_1")
    told = agents(manifest(files))["a1"]
    assert (told["state"], told["cause"]) == ("dropped", "throttle")
    assert told["tool_uses"] == 36


def test_partial_success_of_a_foreground_agent_is_a_drop(tmp_path: Path) -> None:
    """[CASE 10]"""
    files = Files(tmp_path)
    preamble = "I'll start by reading the files."
    response = {
        "status": "completed",
        "agentId": "a2",
        "content": [{"type": "text", "text": preamble}],
        "totalToolUseCount": 0,
    }
    files.main(
        [
            answer(launch("toolu_1", "one"), stop="tool_use"),
            result("toolu_1", preamble, 9.0, structured=response),
        ]
    )
    files.agent(
        "a2",
        [prompt("x"), answer(preamble, at=2.0, stop="tool_use"), error(SESSION_LIMIT, at=8.0)],
        toolUseId="toolu_1",
    )
    told = agents(manifest(files))["a2"]
    assert (told["state"], told["cause"], told["partial"]) == ("dropped", "quota", preamble)


def test_failures_with_nobodys_id_are_one_incident_and_no_drop(tmp_path: Path) -> None:
    """[CASE 14]"""
    files = Files(tmp_path)
    files.log(
        *({"t": 10.0 * n, "e": "agent.failed", "type": "", "cause": "throttle"} for n in range(6))
    )
    told = manifest(files, session=files.session)
    assert told["runs"] == []
    (incident,) = told["sessions"][0]["incidents"]
    assert (incident["cause"], incident["count"]) == ("throttle", 6)


def test_missing_stops_are_made_up_for_by_the_transcripts(tmp_path: Path) -> None:
    """[CASE 16]"""
    files = Files(tmp_path)
    names = [agent_id(n) for n in range(15)]
    files.log(
        *(
            {"t": 0.1 * n, "e": "agent.start", "agent": name, "type": "general-purpose"}
            for n, name in enumerate(names)
        )
    )
    for name in names[:8]:
        files.agent(name, delivered())
        files.log({"t": 6.0, "e": "agent.stop", "agent": name, "type": "general-purpose"})
    for name in names[8:]:
        files.agent(name, died())
    told = manifest(files, SOON)
    assert told["census"] == {
        "launched": 15,
        "completed": 8,
        "dropped": 7,
        "running": 0,
        "stopped": 0,
    }


def test_a_stop_nobody_started_is_ignored_and_a_double_one_counts_once(tmp_path: Path) -> None:
    """[CASE 17]"""
    files = Files(tmp_path)
    known = {"agent": "a1", "type": "general-purpose"}
    stop = {"t": 6.0, "e": "agent.stop", "empty": False, **known}
    files.log(
        {"t": 1.0, "e": "agent.start", **known},
        stop,
        stop,
        {"t": 7.0, "e": "agent.stop", "agent": "a9", "type": "", "empty": True},
    )
    told = manifest(files, SOON)
    assert states(told) == [("completed", None)]
    assert told["sessions"][0]["ignored"] == 1


def test_a_transcript_that_lags_behind_its_stop(tmp_path: Path) -> None:
    """[CASE 18]"""
    files = Files(tmp_path)
    work = [prompt("x"), answer(tool("Read"), at=5.0, stop="tool_use")]
    start = {"t": 0.5, "e": "agent.start", "agent": "a1", "type": "general-purpose"}
    stop = {"t": 6.0, "e": "agent.stop", "agent": "a1", "type": "general-purpose"}
    files.agent("a1", work)
    files.log(start, {**stop, "empty": False})
    assert states(manifest(files, T0 + 6.1)) == [("completed", None)]

    other = Files(tmp_path / "other")
    other.agent("a1", work)
    other.log(start, {**stop, "empty": True})
    other.agent("a1", [*work, error(at=7.5)])
    assert states(manifest(other, T0 + 8.0)) == [("dropped", "throttle")]


def test_a_workflow_that_says_completed_is_degraded_when_items_are_missing(
    tmp_path: Path,
) -> None:
    """[CASE 26] [P5]"""
    files = Files(tmp_path)
    run = "wf_00000001-001"
    journal: list[dict[str, Any]] = [{"type": "launched"}]
    for n in range(22):
        key = {"key": f"v2:{n:064x}", "agentId": agent_id(n)}
        journal.append({"type": "started", **key, **({"label": f"item {n}"} if n % 2 else {})})
        if n < 7:
            journal.append({"type": "result", **key, "result": "ok"})
            files.agent(agent_id(n), delivered(), run)
        else:
            files.agent(agent_id(n), died(SESSION_LIMIT), run)
    files.journal(run, journal)
    files.main(
        [
            answer(tool("Workflow", "toolu_w", script="x"), stop="tool_use"),
            result(
                "toolu_w", structured={"status": "async_launched", "runId": run, "taskId": "w1"}
            ),
            notice("w1", "completed", 30.0, "<result>[]</result>"),
        ]
    )
    told = manifest(files)
    (found,) = told["runs"]
    assert (found["verdict"], found["completed"], found["dropped"]) == ("degraded", 7, 15)
    assert {a["cause"] for a in found["agents"]} == {None, "quota"}
    assert [a["label"] for a in found["agents"]][7:9] == ["item 7", None]
    assert all(a["transcript"] for a in found["agents"])
    assert "unverified, never refuted" in found["note"]


def test_tokens_of_a_workflows_agents_count_each_response_once(tmp_path: Path) -> None:
    """[CASE 29]"""
    files = Files(tmp_path)
    run = "wf_00000001-001"
    files.agent(
        "a1",
        [
            prompt("x"),
            answer(tool("Read"), ident="m1", request="r1", stop="tool_use", usage=(0, 0, 0, 9)),
            answer(tool("Read"), ident="m1", request="r1", stop="tool_use", usage=(0, 0, 0, 159)),
            result(),
            answer("D", at=4.0, ident="m2", request=None, usage=(3, 2285, 22137, 2)),
            answer("Done.", at=4.0, ident="m2", request=None, usage=(3, 2285, 22137, 40)),
        ],
        run,
    )
    files.journal(run, [{"type": "started", "key": "k", "agentId": "a1"}])
    files.record(run)
    told = agents(manifest(files))["a1"]
    assert told["tokens"] == {
        "input": 3,
        "cache_creation": 2285,
        "cache_read": 22137,
        "output": 199,
    }
