from __future__ import annotations

import json
from typing import Any

import pytest

from paceline_bench.simapi.script import (
    CLOSE,
    OPEN,
    RULES,
    Reply,
    ToolCall,
    agent_prompt,
    answer,
    delivered,
    fanout_calls,
    read_turn,
    script_text,
)

AGENTS: list[dict[str, Any]] = [
    {"label": "one", "steps": [["/a", "/b"], ["/c"]]},
    {"label": "two", "steps": []},
]
TOOLS = [{"name": name} for name in ("Agent", "Workflow", "Read")]


def turn(*messages: Any, tools: list[dict[str, str]] | None = None, length: int = 0) -> Reply:
    """The reply to a conversation: strings are the user's, replies the assistant's."""
    return answer(read_turn(body(*messages, tools=tools), length))


def body(*messages: Any, tools: list[dict[str, str]] | None = None) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, Reply):
            content = [
                {"type": "tool_use", "id": "t", "name": call.name, "input": call.input}
                for call in message.calls
            ] or message.text
            found.append({"role": "assistant", "content": content})
        else:
            found.append({"role": "user", "content": message})
    return {"messages": found, "tools": TOOLS if tools is None else tools}


def test_an_agent_reads_step_by_step_and_reports() -> None:
    prompt = agent_prompt(AGENTS[0])
    first = turn(prompt)
    assert first.calls == (
        ToolCall("Read", {"file_path": "/a"}),
        ToolCall("Read", {"file_path": "/b"}),
    )
    second = turn(prompt, first, "results")
    assert second.calls == (ToolCall("Read", {"file_path": "/c"}),)
    last = turn(prompt, first, "results", second, "result")
    assert last.text.startswith("DELIVERED one.")
    assert delivered(read_turn(body(prompt)), last) == "one"
    assert delivered(read_turn(body(prompt)), first) is None


def test_the_same_request_sent_again_is_answered_alike() -> None:
    prompt = agent_prompt(AGENTS[0])
    assert turn(prompt) == turn(prompt)


def test_a_conversation_that_is_continued_goes_on_where_it_stood() -> None:
    prompt = agent_prompt(AGENTS[0])
    again = turn(prompt, turn(prompt), "results", Reply(text="API Error: 429"), "Go on please.")
    assert again.calls == (ToolCall("Read", {"file_path": "/c"}),)


def test_the_main_thread_starts_agents_at_once_and_then_answers() -> None:
    prompt = script_text({"role": "main", "fanout": {"kind": "agent", "agents": AGENTS}})
    first = turn(prompt)
    assert [call.name for call in first.calls] == ["Agent", "Agent"]
    assert {call.input["run_in_background"] for call in first.calls} == {False}
    note = "<task-notification>x</task-notification>"
    assert turn(prompt, first, f"{note} and {note}").text.startswith("FINAL after 2")


def test_a_workflow_script_is_plain_javascript_with_its_literal_first() -> None:
    (call,) = fanout_calls({"kind": "workflow", "agents": AGENTS})
    script = call.input["script"]
    assert script.startswith("export const meta = {name: ")
    jobs = json.loads(script.split("const jobs = ")[1].splitlines()[0])
    assert [job["label"] for job in jobs] == ["one", "two"]
    assert read_turn(body(jobs[1]["prompt"])).label == "two"


def test_what_has_no_script_gets_a_short_answer() -> None:
    assert turn("quota") == Reply(text="ok")


def test_a_helper_that_quotes_a_script_does_not_act_it_out() -> None:
    quoted = f"Write a title for: {agent_prompt(AGENTS[0])}"
    assert turn(quoted, tools=[]) == Reply(text="ok")


def test_a_deferred_tool_is_looked_for_once_and_takes_no_step() -> None:
    prompt = agent_prompt(AGENTS[0])
    tools = [{"name": "ToolSearch"}]
    look = turn(prompt, tools=tools)
    assert look.calls == (ToolCall("ToolSearch", {"query": "select:Read"}),)
    assert turn(prompt, look, "found", tools=[*tools, {"name": "Read"}]).calls[0].name == "Read"
    assert turn(prompt, look, "nothing", tools=tools) == Reply(text="ok")


@pytest.mark.parametrize("text", ["{", "[1]", '"x"'])
def test_a_script_that_is_no_object_is_no_script(text: str) -> None:
    assert turn(OPEN + text + CLOSE) == Reply(text="ok")


def test_a_script_in_a_tool_result_is_data() -> None:
    found = {"type": "tool_result", "content": agent_prompt(AGENTS[0])}
    assert turn([found]) == Reply(text="ok")


def test_another_rule_can_be_put_into_the_table() -> None:
    rules = {**RULES, "echo": lambda turn: Reply(text=turn.text_after_step().upper())}
    found = read_turn(body(script_text({"role": "echo"}), Reply(text="x"), "hello"))
    assert answer(found, rules).text == "HELLO"


def test_a_text_reply_is_filled_up_to_the_wanted_length() -> None:
    prompt = agent_prompt(AGENTS[1])
    assert turn(prompt, length=300).output_tokens == 300
