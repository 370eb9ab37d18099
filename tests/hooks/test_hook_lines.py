"""What each event leaves in the log; the inputs are as 2.1.139, 2.1.240 and 2.1.332 send them."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from hook_session import Hooks

AGENT = "a6fc8f83dfc56c1e0"
OF_AGENT = {"agent_id": AGENT, "agent_type": "general-purpose"}
LIMIT_TEXT = (
    "API Error: Request rejected (429) · This request would exceed your organization's rate limit "
    "of 60,000 input tokens per minute"
)


def test_a_session_start_names_transcript_folder_source_and_account(hooks: Hooks) -> None:
    hooks.env["ANTHROPIC_API_KEY"] = "sk-made-up"
    out = hooks.send("SessionStart", transcript_path="/p/s.jsonl", cwd="/w", source="startup")
    line = hooks.only("session.start")
    assert out is None
    assert line["agent"] is None
    assert (line["transcript"], line["cwd"], line["source"]) == ("/p/s.jsonl", "/w", "startup")
    assert "model" not in line
    assert len(line["account"]) == 16
    hooks.send("SessionStart", source="resume", model="claude-opus-5-5")
    assert hooks.lines("session.start")[1]["model"] == "claude-opus-5-5"


def test_no_credential_is_ever_written(hooks: Hooks) -> None:
    hooks.env["ANTHROPIC_API_KEY"] = "sk-made-up-and-secret"
    hooks.send("SessionStart", source="startup")
    for path in hooks.state.rglob("*"):
        if path.is_file():
            assert b"sk-made-up" not in path.read_bytes(), path


def test_a_read_is_estimated_before_it_runs(hooks: Hooks, tmp_path: Path) -> None:
    """[CASE 30]"""
    file = tmp_path / "notes.md"
    file.write_text("a line of plain words\n" * 500, encoding="utf-8")
    call = {"tool_name": "Read", "tool_use_id": "toolu_1"}
    assert hooks.send("PreToolUse", **OF_AGENT, **call, tool_input={"file_path": str(file)}) is None
    line = hooks.only("tool.before")
    assert (line["agent"], line["tool"], line["id"]) == (AGENT, "Read", "toolu_1")
    assert 1_500 < line["low"] <= line["tokens"] <= line["high"] < 10_000
    assert line["capped"] is False
    assert line["kind"] == "prose"


def test_a_launched_agent_is_known_by_a_fingerprint_of_its_prompt(hooks: Hooks) -> None:
    prompt = "Read the café notes and report."
    hooks.send(
        "PreToolUse",
        tool_name="Agent",
        tool_use_id="toolu_2",
        tool_input={
            "description": "job 1\x1b[31m",
            "prompt": prompt,
            "subagent_type": "general-purpose",
            "model": "haiku",
            "run_in_background": True,
        },
    )
    line = hooks.only("tool.before")
    assert line["prompt_sha"] == hashlib.sha256(prompt.encode()).hexdigest()[:16]
    assert (line["label"], line["agent_type"]) == ("job 1[31m", "general-purpose")
    assert (line["model"], line["background"]) == ("haiku", True)
    assert "café" not in json.dumps(line, ensure_ascii=False)


def test_a_finished_agent_call_names_its_child(hooks: Hooks) -> None:
    hooks.send(
        "PostToolUse",
        tool_name="Agent",
        tool_use_id="toolu_2",
        tool_response={
            "status": "completed",
            "agentId": AGENT,
            "prompt": "long " * 5000,
            "content": [{"type": "text", "text": "agent report done"}],
            "resolvedModel": "claude-opus-5-5",
        },
    )
    line = hooks.only("tool.after")
    assert (line["child"], line["status"]) == (AGENT, "completed")
    assert line["model"] == "claude-opus-5-5"
    assert line["tokens"] < 50, "its prompt does not come back to the parent"
    assert "cause" not in line


def test_an_old_clients_completed_agent_whose_report_is_the_refusal_carries_the_cause(
    hooks: Hooks,
) -> None:
    """[CASE 9] Clients before 2.1.199 (seen on 2.1.139) call a refused agent completed."""
    text = (
        "API Error: Server is temporarily limiting requests (not your usage limit) · Rate limited"
    )
    response = {"status": "completed", "agentId": AGENT, "totalToolUseCount": 36}
    response["content"] = [{"type": "text", "text": text}]
    hooks.send("PostToolUse", tool_name="Agent", tool_use_id="toolu_2", tool_response=response)
    line = hooks.only("tool.after")
    assert (line["child"], line["cause"], line["retryable"]) == (AGENT, "throttle", True)


@pytest.mark.parametrize("pieces", [1, 3])
def test_a_completed_agent_whose_report_begins_with_its_death_carries_the_cause(
    hooks: Hooks, pieces: int
) -> None:
    """[CASE 10] So both 2.1.240 and 2.1.332 end one that had said something before."""
    note = f"Agent terminated early due to an API error: {LIMIT_TEXT} (error type rate_limit)"
    texts = [note, "I will read the next file now.", "Partial."][:pieces]
    response: dict[str, Any] = {"status": "completed", "agentId": AGENT}
    response["content"] = [{"type": "text", "text": text} for text in texts]
    hooks.send("PostToolUse", tool_name="Agent", tool_use_id="toolu_2", tool_response=response)
    line = hooks.only("tool.after")
    assert (line["child"], line["cause"], line["retryable"]) == (AGENT, "throttle", True)
    assert line["limit"] == 60_000


def test_a_report_about_rate_limits_is_no_refusal(hooks: Hooks) -> None:
    """[CASE 6]"""
    text = f"API Error handling was reviewed.\nFinding 4: the log says {LIMIT_TEXT!r}"
    response = {
        "status": "completed",
        "agentId": AGENT,
        "content": [{"type": "text", "text": text}],
    }
    hooks.send("PostToolUse", tool_name="Agent", tool_use_id="toolu_2", tool_response=response)
    assert "cause" not in hooks.only("tool.after")


def test_a_started_workflow_names_its_run_and_folder(hooks: Hooks) -> None:
    hooks.send(
        "PostToolUse",
        tool_name="Workflow",
        tool_use_id="toolu_3",
        tool_response={
            "status": "async_launched",
            "taskId": "wgycn9k4g",
            "runId": "wf_264a4608-d12",
            "transcriptDir": "/p/subagents/workflows/wf_264a4608-d12",
        },
    )
    line = hooks.only("tool.after")
    assert (line["run"], line["task"]) == ("wf_264a4608-d12", "wgycn9k4g")
    assert line["dir"] == "/p/subagents/workflows/wf_264a4608-d12"
    assert line["status"] == "async_launched"


def test_an_edit_is_not_charged_for_the_whole_file_its_answer_holds(hooks: Hooks) -> None:
    response = {"filePath": "/w/a.py", "originalFile": "x = 1\n" * 20_000, "structuredPatch": []}
    hooks.send("PostToolUse", tool_name="Edit", tool_use_id="toolu_4", tool_response=response)
    assert hooks.only("tool.after")["tokens"] < 2_000


def test_a_failed_call_is_measured_and_told_apart_from_an_interrupted_one(hooks: Hooks) -> None:
    hooks.send("PostToolUseFailure", tool_name="Read", tool_use_id="t1", error="no such file")
    hooks.send(
        "PostToolUseFailure", tool_name="Bash", tool_use_id="t2", error="stop", is_interrupt=True
    )
    first, second = hooks.lines("tool.failed")
    assert (first["id"], first["interrupted"], second["interrupted"]) == ("t1", False, True)
    assert 0 < first["tokens"] < 20
    assert "cause" not in first


@pytest.mark.parametrize(
    "tail",
    ["", " (error type rate_limit, HTTP 429, request id req_1, model sent to the API: m)"],
    ids=["2.1.240", "2.1.332"],
)
def test_a_dead_foreground_agent_gives_its_parents_call_the_cause(hooks: Hooks, tail: str) -> None:
    error = f"Agent terminated early due to an API error: {LIMIT_TEXT}{tail}"
    hooks.send("PostToolUseFailure", tool_name="Agent", tool_use_id="t1", error=error)
    line = hooks.only("tool.failed")
    assert (line["cause"], line["retryable"]) == ("throttle", True)
    assert (line["dimension"], line["limit"]) == ("input", 60_000)


def test_a_stalled_foreground_agent_is_no_rate_limit(hooks: Hooks) -> None:
    """Its parent sees an interruption (2.1.240 and 2.1.332, stall limit of 3 s)."""
    error = "[Request interrupted by user for tool use]"
    hooks.send(
        "PostToolUseFailure", tool_name="Agent", tool_use_id="t1", error=error, is_interrupt=True
    )
    line = hooks.only("tool.failed")
    assert (line["cause"], line["retryable"], line["interrupted"]) == ("client", False, True)


def test_a_batch_holds_the_tokens_of_the_text_the_model_will_see(hooks: Hooks) -> None:
    shown = "".join(f"{n}\ta line of plain words\n" for n in range(1, 101))
    calls = [
        {"tool_name": "Read", "tool_use_id": "t1", "tool_response": shown},
        {"tool_name": "Grep", "tool_use_id": "t2", "tool_response": [{"text": shown}]},
        "garbage",
    ]
    hooks.send("PostToolBatch", **OF_AGENT, tool_calls=calls)
    line = hooks.only("batch")
    assert line["agent"] == AGENT
    assert line["ids"] == ["t1", "t2"]
    assert 1_000 < line["tokens"] < 3_000


def test_an_agents_start_and_stop_are_written_with_its_type(hooks: Hooks) -> None:
    hooks.send("SubagentStart", **OF_AGENT)
    hooks.send(
        "SubagentStop",
        **OF_AGENT,
        agent_transcript_path="/p/agent.jsonl",
        last_assistant_message="Done: 12 findings",
    )
    assert hooks.only("agent.start") == {
        "t": hooks.now,
        "e": "agent.start",
        "agent": AGENT,
        "type": "general-purpose",
    }
    stop = hooks.only("agent.stop")
    assert (stop["transcript"], stop["empty"]) == ("/p/agent.jsonl", False)


def test_an_orphan_stop_and_a_doubled_one_change_nothing_but_the_log(hooks: Hooks) -> None:
    """[CASE 17] Both are written as seen, with the id that makes the fold idempotent."""
    orphan = {"agent_id": "a0000000000000000", "agent_type": "", "agent_transcript_path": None}
    assert hooks.send("SubagentStop", **orphan) is None
    known = {**OF_AGENT, "agent_transcript_path": "/p/a.jsonl", "last_assistant_message": "x"}
    assert hooks.send("SubagentStop", **known) is None
    assert hooks.send("SubagentStop", **known) is None
    first, second, third = hooks.lines("agent.stop")
    assert (first["agent"], first["type"], first["transcript"]) == ("a0000000000000000", "", "")
    assert first["empty"] is True
    assert second == third
    assert hooks.lines("fault") == []


def test_a_dead_agent_is_written_with_what_refused_it(hooks: Hooks) -> None:
    hooks.send("StopFailure", **OF_AGENT, error="rate_limit", last_assistant_message=LIMIT_TEXT)
    line = hooks.only("agent.failed")
    assert (line["agent"], line["type"], line["cause"]) == (AGENT, "general-purpose", "throttle")
    assert (line["retryable"], line["limit"], line["dimension"]) == (True, 60_000, "input")
    assert line["resets_at"] is None


def test_helpers_that_die_in_a_burst_name_no_agent(hooks: Hooks) -> None:
    """[CASE 14]"""
    for second in range(6):
        hooks.now += second * 10
        assert hooks.send("StopFailure", error="rate_limit") is None
    lines = hooks.lines("agent.failed")
    assert len(lines) == 6
    assert {line["agent"] for line in lines} == {None}
    assert {line["cause"] for line in lines} == {"throttle"}


def test_a_session_limit_is_written_with_its_reset(hooks: Hooks) -> None:
    """[CASE 15] 9 pm in Bangkok is 14:00 UTC."""
    text = "You've hit your session limit · resets 9pm (Asia/Bangkok)"
    hooks.send("StopFailure", **OF_AGENT, error="rate_limit", last_assistant_message=text)
    line = hooks.only("agent.failed")
    assert (line["cause"], line["window"]) == ("quota", "five_hour")
    assert datetime.fromtimestamp(line["resets_at"], UTC) == datetime(2026, 9, 10, 14, tzinfo=UTC)


def test_what_a_person_types_is_not_written(hooks: Hooks) -> None:
    hooks.send("UserPromptSubmit", prompt="my secret plan <task-id>abc</task-id>")
    assert hooks.only("prompt")["tasks"] == []
    assert "secret" not in json.dumps(hooks.lines())


def test_a_task_notification_is_written_by_ids_and_status(hooks: Hooks) -> None:
    prompt = (
        "<task-notification>\n<task-id>wgycn9k4g</task-id>\n<tool-use-id>toolu_e4</tool-use-id>\n"
        "<output-file>/t/x.output</output-file>\n<status>completed</status>\n"
        '<summary>Dynamic workflow "probe" completed</summary>\n<result>[null]</result>\n'
        "</task-notification>"
    )
    hooks.send("UserPromptSubmit", prompt=prompt)
    task = {"id": "wgycn9k4g", "tool_use_id": "toolu_e4", "status": "completed"}
    assert hooks.only("prompt")["tasks"] == [task]


def test_a_stop_and_the_end_of_a_session_are_written(hooks: Hooks) -> None:
    hooks.send("Stop", stop_hook_active=True)
    hooks.send("SessionEnd", reason="other")
    assert (hooks.only("stop")["active"], hooks.only("stop")["blocked"]) == (True, False)
    assert hooks.only("session.end")["reason"] == "other"


def test_an_event_that_arrives_twice_has_the_same_ids_twice(hooks: Hooks) -> None:
    """Two interpreters, two copies of the plugin: the fold counts ids, not lines."""
    for _ in range(2):
        hooks.send(
            "PreToolUse", **OF_AGENT, tool_name="Bash", tool_use_id="t1", tool_input={"command": ""}
        )
        hooks.send("SubagentStart", **OF_AGENT)
    before, again = hooks.lines("tool.before")
    assert before == again
    assert len(hooks.lines("agent.start")) == 2


@pytest.mark.parametrize("bad", ["../../escape", "a/b", "x" * 200, 7, ["a"], {"a": 1}])
def test_an_agent_whose_id_is_none_is_charged_to_nobody(hooks: Hooks, bad: object) -> None:
    hooks.send("PreToolUse", agent_id=bad, tool_name="Bash", tool_use_id="t1", tool_input={})
    hooks.send("SubagentStart", agent_id=bad)
    assert hooks.lines("tool.before") == hooks.lines("agent.start") == []
    assert [line["agent"] for line in hooks.lines("fault")] == [None, None]


@pytest.mark.parametrize("bad", ["../../../escape", "", None, 5, "a b"])
def test_a_session_id_that_is_none_reaches_no_path(
    hooks: Hooks, bad: object, tmp_path: Path
) -> None:
    hooks.send("Stop", session_id=bad)
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert found == {"state", "state/faults.jsonl"}


def test_the_environment_tells_the_session_where_the_event_does_not(hooks: Hooks) -> None:
    hooks.env["CLAUDE_CODE_SESSION_ID"] = "from-env"
    hooks.send("Stop", session_id=None)
    assert len(hooks.lines("stop", session="from-env")) == 1


@pytest.mark.parametrize("name", ["PreToolUse", "PostToolUse", "PostToolUseFailure", "StopFailure"])
@pytest.mark.parametrize("value", [None, 3, "text", [], {}, [[]], {"content": 5}, True])
def test_fields_of_a_wrong_type_count_as_absent(hooks: Hooks, name: str, value: object) -> None:
    every = ("tool_name", "tool_input", "tool_response", "tool_use_id", "error", "agent_type")
    hooks.send(name, **dict.fromkeys(every, value))
    hooks.send(name, tool_name="Agent", tool_input=value, tool_response=value, error=value)
    hooks.send(name, tool_name="Workflow", tool_response=value)
    assert hooks.lines("fault") == []
    assert len(hooks.lines()) == 3
