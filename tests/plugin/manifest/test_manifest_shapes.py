"""Shapes beyond the reports: resumed, nested, retried, cut, copied, helped, without files."""

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
    woken,
)
from paceline.manifest import build_manifest

if TYPE_CHECKING:
    from pathlib import Path

SOON = T0 + 20.0
LATER = T0 + 86400.0
RUN = "wf_00000001-001"
GP = "general-purpose"


def manifest(files: Files, now: float = SOON, **asked: Any) -> dict[str, Any]:
    return build_manifest(str(files.projects), str(files.state), now=now, **asked)


def states(told: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(a["state"], a["cause"]) for run in told["runs"] for a in run["agents"]]


def only(told: dict[str, Any]) -> dict[str, Any]:
    (agent,) = [a for run in told["runs"] for a in run["agents"]]
    return dict(agent)


def start(agent: str, at: float = 0.5, kind: str = GP) -> dict[str, Any]:
    return {"t": at, "e": "agent.start", "agent": agent, "type": kind}


def stop(agent: str, at: float, *, empty: bool = False) -> dict[str, Any]:
    return {"t": at, "e": "agent.stop", "agent": agent, "type": GP, "empty": empty}


def fan_out(files: Files, *labels: str, ident: str = "msg_1") -> list[dict[str, Any]]:
    """Return the main thread's rows that launch one background agent a label."""
    rows: list[dict[str, Any]] = []
    for n, label in enumerate(labels):
        call = f"toolu_{label}"
        rows.append(answer(launch(call, label), stop="tool_use", ident=ident, at=1.0 + n / 10))
        rows.append(launched(call, f"a{label}", at=1.05 + n / 10))
    files.main(rows)
    return rows


def test_the_agents_of_one_message_are_one_run(tmp_path: Path) -> None:
    files = Files(tmp_path)
    rows = fan_out(files, "1", "2")
    rows += [answer(launch("toolu_3", "3"), stop="tool_use", ident="msg_2", at=9.0)]
    files.main([*rows, launched("toolu_3", "a3", 9.1)])
    for agent in ("a1", "a2", "a3"):
        files.agent(agent, delivered(), toolUseId=f"toolu_{agent[1]}")
    told = manifest(files)
    assert [(run["run_id"], run["launched"]) for run in told["runs"]] == [
        ("msg_1", 2),
        ("msg_2", 1),
    ]
    assert told["verdict"] == "complete"


def test_a_call_that_never_became_an_agent_is_listed(tmp_path: Path) -> None:
    """[§6 client] The client's own cap: nobody may think that agent ran."""
    files = Files(tmp_path)
    files.main(
        [
            answer(launch("toolu_1", "one"), launch("toolu_2", "two"), stop="tool_use"),
            result("toolu_1", "Concurrent subagent limit reached.", is_error=True),
            result("toolu_2", "The user doesn't want to proceed with this", is_error=True),
        ]
    )
    files.agent("a9", delivered())
    told = manifest(files)
    every = [a for run in told["runs"] for a in run["agents"]]
    listed = {a["label"]: (a["agent_id"], a["state"], a["cause"]) for a in every}
    assert listed["one"] == (None, "dropped", "client")
    assert listed["two"] == (None, "stopped", None)
    assert told["verdict"] == "degraded"


def test_an_agent_at_work_is_running_and_after_half_an_hour_without_a_sign_lost(
    tmp_path: Path,
) -> None:
    files = Files(tmp_path)
    path = files.agent("a1", [prompt("x"), answer(tool("Bash"), stop="tool_use")])
    mtime = path.stat().st_mtime
    assert states(manifest(files, mtime + 60)) == [("running", None)]
    lost = only(manifest(files, mtime + 1900))
    assert (lost["state"], lost["cause"], lost["retryable"]) == ("dropped", "stall", False)


def test_an_agent_that_the_gate_holds_is_held_and_one_at_a_quota_parked(tmp_path: Path) -> None:
    """[P1] A refused request that is being brought back is no drop."""
    files = Files(tmp_path)
    files.agent("a1", [prompt("x"), error(at=5.0)])
    refused = {"t": 5.1, "e": "request.refused", "agent": "a1", "cause": "throttle"}
    wait = {"t": 5.2, "e": "request.wait", "agent": "a1", "id": "r", "by": "gate"}
    files.log(start("a1"), refused, wait)
    assert states(manifest(files, T0 + 8.0)) == [("held", None)]
    parked = {"t": 6.0, "e": "request.refused", "agent": "a1", "cause": "quota"}
    files.log({**parked, "resets_at": T0 + 900}, {**wait, "t": 6.1})
    told = only(manifest(files, T0 + 8.0))
    assert (told["state"], told["resets_at"]) == ("parked", T0 + 900)
    files.log({"t": 901.0, "e": "request.grant", "agent": "a1", "id": "r", "waited": 895.0})
    files.log({"t": 901.1, "e": "request.revived", "agent": "a1", "id": "r", "n": 2})
    told = only(manifest(files, T0 + 902))
    assert (told["state"], told["revivals"], told["held_s"]) == ("running", 2, 895.0)


def test_while_a_gate_is_alive_a_fresh_refusal_is_not_called_a_drop(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.agent("a1", [prompt("x"), error(at=5.0)])
    files.log(
        start("a1"),
        {
            "t": 5.1,
            "e": "request.refused",
            "agent": "a1",
            "cause": "throttle",
            "retryable": True,
        },
    )
    gate = files.state / "sessions" / files.session / "gate"
    assert states(manifest(files, T0 + 6)) == [("dropped", "throttle")]
    gate.touch()
    assert states(manifest(files, gate.stat().st_mtime)) == [("running", None)]


def test_a_gate_that_gave_up_leaves_a_drop(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.agent("a1", [prompt("x"), error(at=5.0)])
    files.log(
        start("a1"),
        {"t": 4.0, "e": "request.grant", "agent": "a1", "id": "r", "waited": 0.0},
        {"t": 5.1, "e": "request.wait", "agent": "a1", "id": "r"},
        {"t": 9.0, "e": "agent.failed", "agent": "a1", "type": GP, "cause": "throttle"},
    )
    assert states(manifest(files)) == [("dropped", "throttle")]


def test_the_grant_before_a_refusal_does_not_hide_the_drop(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.agent("a1", [prompt("x"), error(at=5.0)])
    files.log(start("a1"), {"t": 4.99, "e": "request.grant", "agent": "a1", "id": "r"})
    assert states(manifest(files)) == [("dropped", "throttle")]


def test_events_alone_are_enough(tmp_path: Path) -> None:
    files = Files(tmp_path)
    for n, call in enumerate(("toolu_1", "toolu_2", "toolu_3", "toolu_4")):
        files.log(
            {
                "t": 1.0 + n / 10,
                "e": "tool.before",
                "tool": "Agent",
                "id": call,
                "label": f"job {n}",
                "agent_type": GP,
                "prompt_sha": f"{n:016x}",
            },
            start(agent_id(n), 1.05 + n / 10),
        )
    files.log(
        {
            "t": 5.0,
            "e": "tool.after",
            "tool": "Agent",
            "id": "toolu_1",
            "child": agent_id(0),
            "status": "completed",
        },
        {
            "t": 5.1,
            "e": "tool.after",
            "tool": "Agent",
            "id": "toolu_2",
            "child": agent_id(1),
            "status": "async_launched",
        },
        {"t": 5.2, "e": "agent.failed", "agent": agent_id(1), "type": GP, "cause": "overload"},
        {
            "t": 5.3,
            "e": "tool.after",
            "tool": "Agent",
            "id": "toolu_3",
            "child": agent_id(2),
            "status": "async_launched",
        },
        {
            "t": 5.3,
            "e": "tool.failed",
            "tool": "Agent",
            "id": "toolu_4",
            "interrupted": True,
        },
        {"t": 5.4, "e": "batch", "ids": ["toolu_1", "toolu_2", "toolu_3", "toolu_4"]},
        {"t": 9.0, "e": "prompt", "tasks": [{"id": agent_id(2), "status": "completed"}]},
        {"t": 3.0, "e": "request.settle", "agent": agent_id(0), "input": 10, "output": 5},
    )
    told = manifest(files)
    run = told["runs"][0]
    assert [(a["label"], a["state"], a["cause"]) for a in run["agents"]] == [
        ("job 0", "completed", None),
        ("job 1", "dropped", "overload"),
        ("job 2", "completed", None),
        ("job 3", "stopped", None),
    ]
    assert run["agents"][0]["tokens"]["input"] == 10


def test_one_key_is_one_item_however_many_agents_tried_it(tmp_path: Path) -> None:
    files = Files(tmp_path)
    key = {"key": "v2:1"}
    files.journal(
        RUN,
        [
            {"type": "started", **key, "agentId": "a1"},
            {"type": "failed", **key, "agentId": "a1"},
            {"type": "started", **key, "agentId": "a2"},
            {"type": "result", **key, "agentId": "a2", "result": "ok"},
        ],
    )
    files.agent("a1", [prompt("x"), answer(tool("Read"), at=1.0, stop="tool_use"), error()], RUN)
    files.agent("a2", delivered(), RUN)
    files.record(RUN)
    told = only(manifest(files))
    assert (told["state"], told["attempts"], told["agent_id"]) == ("completed", 2, "a2")
    assert told["wasted"] == 123


def test_results_that_are_an_old_clients_error_text_are_drops(tmp_path: Path) -> None:
    """REPORTS 29: 299 agents "completed", 13 of them really."""
    files = Files(tmp_path)
    files.journal(
        RUN,
        [
            {"type": "started", "key": "k1", "agentId": "a1"},
            {"type": "result", "key": "k1", "agentId": "a1", "result": THROTTLE},
            {"type": "started", "key": "k2", "agentId": "a2"},
            {"type": "result", "key": "k2", "agentId": "a2", "result": {"n": 1}},
        ],
    )
    files.record(RUN)
    assert states(manifest(files)) == [("dropped", "throttle"), ("completed", None)]


def test_a_workflow_still_at_work_is_running_even_when_its_items_are_done(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.agent("a1", delivered(), RUN)
    path = files.journal(
        RUN,
        [
            {"type": "started", "key": "k1", "agentId": "a1"},
            {"type": "result", "key": "k1", "agentId": "a1", "result": "ok"},
        ],
    )
    soon = path.stat().st_mtime + 5
    assert manifest(files, soon)["runs"][0]["verdict"] == "running"
    files.record(RUN)
    assert manifest(files, soon)["runs"][0]["verdict"] == "complete"


def test_a_workflow_a_person_killed_has_stopped_agents(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.agent("a1", [prompt("x")], RUN)
    files.journal(RUN, [{"type": "started", "key": "k1", "agentId": "a1"}])
    files.record(RUN, status="killed")
    assert states(manifest(files)) == [("stopped", None)]


def test_a_run_whose_files_lie_in_two_sessions_is_one_run(tmp_path: Path) -> None:
    """REPORTS 70: after a compaction the journal lives under the old session."""
    files = Files(tmp_path)
    other = Files(tmp_path, "00000002-0000-4000-8000-000000000002")
    files.agent("a1", died(), RUN)
    files.journal(RUN, [{"type": "started", "key": "k1", "agentId": "a1"}])
    other.record(RUN)
    other.agent("a5", delivered())
    told = manifest(files)
    found = [run for run in told["runs"] if run["kind"] == "workflow"]
    assert [(run["launched"], run["dropped"]) for run in found] == [(1, 1)]


def test_a_resumed_session_that_repeats_old_rows_adds_no_agents(tmp_path: Path) -> None:
    files = Files(tmp_path)
    rows = fan_out(files, "1", "2")
    files.agent("a1", delivered(), toolUseId="toolu_1")
    files.agent("a2", died(), toolUseId="toolu_2")
    copy = Files(tmp_path, "00000002-0000-4000-8000-000000000002")
    copy.main(rows)
    copy.agent("a7", delivered())
    told = manifest(files)
    assert told["census"]["launched"] == 3
    assert told["census"]["dropped"] == 1


def test_an_agent_woken_again_is_running_until_it_reports(tmp_path: Path) -> None:
    files = Files(tmp_path)
    rows = fan_out(files, "1")
    body = "<summary>Agent failed: Agent terminated early due to an API error: x</summary>"
    files.main([*rows, notice("a1", "failed", 6.0, body)])
    path = files.agent("a1", [*died(), woken(8.0)], toolUseId="toolu_1")
    soon = path.stat().st_mtime + 5
    assert states(manifest(files, soon)) == [("running", None)]
    files.agent("a1", [*died(), woken(8.0), answer("Done.", at=9.0)], toolUseId="toolu_1")
    told = only(manifest(files))
    assert (told["state"], told["attempts"], told["requeued_as"]) == ("completed", 2, "a1")


def test_a_relaunch_with_the_same_prompt_closes_the_drop(tmp_path: Path) -> None:
    """[P6] Known by its prompt, with lineage both ways; what the dead one paid is wasted."""
    files = Files(tmp_path)
    files.main(
        [
            answer(launch("toolu_1", "one", "Read a.py"), stop="tool_use", ident="msg_1", at=1.0),
            launched("toolu_1", "a1", 1.1),
            answer(launch("toolu_2", "again", "Read a.py"), stop="tool_use", ident="msg_2", at=9.0),
            launched("toolu_2", "a2", 9.1),
        ]
    )
    work = answer(tool("Read"), at=2.0, stop="tool_use")
    files.agent("a1", [prompt("Read a.py", 1.2), work, error(at=5.0)], toolUseId="toolu_1")
    path = files.agent("a2", [prompt("Read a.py", 9.2)], toolUseId="toolu_2")
    running = manifest(files, path.stat().st_mtime + 5)
    assert states(running) == [("requeued", None), ("running", None)]
    files.agent("a2", [prompt("Read a.py", 9.2), answer("Done.", at=10.0)], toolUseId="toolu_2")
    told = manifest(files)
    first, second = (a for run in told["runs"] for a in run["agents"])
    assert told["verdict"] == "complete"
    assert (first["state"], first["requeued_as"], first["wasted"]) == ("completed", "a2", 123)
    assert second["replaces"] == "a1"


def test_a_relaunch_that_died_too_leaves_one_open_drop(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.main(
        [
            answer(launch("toolu_1", "one", "Read a.py"), stop="tool_use", ident="msg_1", at=1.0),
            launched("toolu_1", "a1", 1.1),
            answer(launch("toolu_2", "again", "Read a.py"), stop="tool_use", ident="msg_2", at=9.0),
            launched("toolu_2", "a2", 9.1),
        ]
    )
    files.agent("a1", [prompt("Read a.py", 1.2), error(at=5.0)], toolUseId="toolu_1")
    files.agent("a2", [prompt("Read a.py", 9.2), error(at=12.0)], toolUseId="toolu_2")
    told = manifest(files)
    assert [a["requeued_as"] for run in told["runs"] for a in run["agents"]] == ["a2", None]
    assert told["verdict"] == "degraded"


def test_equal_prompts_of_one_workflow_do_not_replace_each_other(tmp_path: Path) -> None:
    """A second item with the same prompt waited for its turn; it is no retry of the first."""
    files = Files(tmp_path)
    journal = [
        {"type": "started", "key": f"k{n}", "agentId": f"a{n}", "label": "vote"} for n in (1, 2)
    ]
    journal.append({"type": "result", "key": "k2", "agentId": "a2", "result": "yes"})
    files.journal(RUN, journal)
    files.agent("a1", [prompt("Vote.", 1.0), error(at=2.0)], RUN)
    files.agent("a2", [prompt("Vote.", 3.0), answer("yes", at=4.0)], RUN)
    progress = [
        {"agentId": f"a{n}", "index": n, "queuedAt": (T0 + 0.5) * 1000, "state": s}
        for n, s in ((1, "error"), (2, "done"))
    ]
    files.record(RUN, workflowProgress=progress)
    assert states(manifest(files)) == [("dropped", "throttle"), ("completed", None)]
    progress[1]["queuedAt"] = (T0 + 2.5) * 1000
    files.record(RUN, workflowProgress=progress)
    assert states(manifest(files)) == [("completed", None), ("completed", None)]


def test_the_clients_own_helpers_are_counted_and_left_out(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.agent("acompact-0123456789abcdef", delivered())
    files.agent("aprompt_suggestion-0123456789abcdef", died())
    files.agent("a1", delivered())
    told = manifest(files)
    assert told["verdict"] == "complete"
    assert told["census"]["launched"] == 1
    assert told["sessions"][0]["ignored"] == 2


def test_an_agent_cut_off_by_the_end_of_its_session_was_stopped(tmp_path: Path) -> None:
    files = Files(tmp_path)
    path = files.agent("a1", [prompt("x")])
    mtime = path.stat().st_mtime
    files.log(start("a1"), {"t": mtime - T0 + 1, "e": "session.end", "reason": "other"})
    assert states(manifest(files, mtime + 5)) == [("stopped", None)]


def test_a_task_that_was_stopped_is_stopped(tmp_path: Path) -> None:
    files = Files(tmp_path)
    rows = fan_out(files, "1")
    stopping = {"message": "Successfully stopped task: a1 (1)", "task_id": "a1"}
    files.main([*rows, result("toolu_s", structured=stopping, at=7.0)])
    path = files.agent("a1", [prompt("x")], toolUseId="toolu_1")
    assert states(manifest(files, path.stat().st_mtime)) == [("stopped", None)]


def test_a_killed_notice_is_a_stop_and_no_drop(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.main([*fan_out(files, "1"), notice("a1", "killed", 7.0)])
    assert states(manifest(files, LATER)) == [("stopped", None)]


def test_whom_a_killed_client_left_at_work_is_told_by_the_next_one_in_a_single_notice(
    tmp_path: Path,
) -> None:
    """[P5] The notice of 2.1.332 after ``--continue``; it is no person's stop."""
    files = Files(tmp_path)
    ids = "a1</task-id>\n<task-id>a2</task-id>\n<task-id>a3"
    told = "3 background agents didn't finish before the previous session ended: ..."
    summary = f"<summary>{told}</summary>"
    files.main([*fan_out(files, "1", "2", "3"), notice(ids, "stopped", 7.0, summary)])
    files.agent("a2", died(), toolUseId="toolu_2")
    cut_off = ("stopped", None)
    assert states(manifest(files, LATER)) == [cut_off, ("dropped", "throttle"), cut_off]
    whys = [agent["why"] for run in manifest(files, LATER)["runs"] for agent in run["agents"]]
    assert whys[0] == whys[2] == "still at work when its session or workflow was ended"


def test_a_content_refusal_is_listed_and_not_retried(tmp_path: Path) -> None:
    """[CASE 28] An item killed by content filtering."""
    files = Files(tmp_path)
    files.agent("a1", [prompt("x"), answer("I will not.", stop="refusal")])
    told = only(manifest(files))
    assert (told["state"], told["cause"], told["retryable"]) == ("dropped", "client", False)


def test_an_answer_that_does_not_say_it_is_finished_is_given_a_minute(tmp_path: Path) -> None:
    files = Files(tmp_path)
    path = files.agent("a1", [prompt("x"), answer("Done.", stop=None)])
    mtime = path.stat().st_mtime
    assert states(manifest(files, mtime + 10)) == [("running", None)]
    assert states(manifest(files, mtime + 90)) == [("completed", None)]


def test_only_one_run_or_session_when_asked(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.agent("a1", delivered())
    other = Files(tmp_path, "00000002-0000-4000-8000-000000000002")
    other.agent("a1", died(), RUN)
    other.journal(RUN, [{"type": "started", "key": "k", "agentId": "a1"}])
    other.record(RUN)
    assert manifest(files)["census"]["launched"] == 2
    assert manifest(files, session=files.session)["verdict"] == "complete"
    assert [run["run_id"] for run in manifest(files, run=RUN)["runs"]] == [RUN]
    assert manifest(files, session="../etc")["runs"] == []
    assert manifest(files, session="00000009-0000")["runs"] == []


def test_the_time_line_tells_holds_grants_refusals_and_revivals(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.agent("a1", delivered())
    files.log(
        start("a1"),
        {"t": 1.0, "e": "request.wait", "agent": "a1", "id": "r", "cost": 100, "by": "gate"},
        {"t": 3.0, "e": "request.grant", "agent": "a1", "id": "r", "waited": 2.0, "by": "gate"},
        {"t": 4.0, "e": "request.refused", "agent": "a1", "cause": "throttle", "text": "x"},
        {"t": 5.0, "e": "request.revived", "agent": "a1", "n": 1},
        {"t": 6.0, "e": "request.settle", "agent": "a1", "input": 1},
    )
    timeline = manifest(files)["sessions"][0]["timeline"]
    assert [entry["what"] for entry in timeline] == ["wait", "grant", "refused", "revived"]
    assert timeline[1]["waited"] == 2.0
    assert all("text" not in entry for entry in timeline)


def test_unknown_wordings_are_kept_for_doctor(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.agent("a1", died("The moon is in the wrong house"))
    told = manifest(files)
    assert told["sessions"][0]["unknown_texts"] == ["The moon is in the wrong house"]
    assert states(told) == [("dropped", "unknown")]


def test_the_main_threads_own_refusals_and_tokens_are_told(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.main([*fan_out(files, "1"), {**error(SESSION_LIMIT, at=9.0), "isSidechain": False}])
    files.agent("a1", delivered(), toolUseId="toolu_1")
    told = manifest(files, main_tokens=True)["sessions"][0]
    assert told["main_refusals"] == 1
    assert told["main_tokens"]["output"] == 20


@pytest.mark.parametrize("gone", ["main", "meta", "both"])
def test_agents_are_not_lost_when_other_files_are(tmp_path: Path, gone: str) -> None:
    files = Files(tmp_path)
    fan_out(files, "1", "2")
    meta = {} if gone in ("meta", "both") else {"agentType": GP}
    files.agent("a1", delivered(), **({"toolUseId": "toolu_1"} | meta if meta else {}))
    files.agent("a2", died(), **({"toolUseId": "toolu_2"} | meta if meta else {}))
    if gone in ("main", "both"):
        (files.project / f"{files.session}.jsonl").unlink()
    told = manifest(files)
    assert sorted(states(told)) == [("completed", None), ("dropped", "throttle")]
    assert len(told["runs"]) == 1
