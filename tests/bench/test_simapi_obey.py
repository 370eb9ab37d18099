from __future__ import annotations

from typing import Any

from paceline_bench.simapi.obey import REQUEUE, obey
from paceline_bench.simapi.script import Reply, ToolCall, read_turn, script_text

ONE, TWO = "a0123456789abcdef", "a1123456789abcdef"
PROMPT = script_text(
    {"role": "obey", "fanout": {"kind": "agent", "agents": [{"label": "one", "steps": []}]}}
)


def said(role: str, *blocks: Any) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(call: ToolCall, ident: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": ident, "name": call.name, "input": call.input}


def result(ident: str, words: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": ident, "content": words, **more}


def paceline(*lines: str, before: str = "") -> dict[str, Any]:
    return text("\n".join((f"{before}Paceline: 2 agents did not deliver:", *lines)))


def reply(*messages: dict[str, Any]) -> Reply:
    return obey(read_turn({"messages": [said("user", text(PROMPT)), *messages]}))


LAUNCH = ToolCall("Agent", {"description": "one", "prompt": "read it"})
LAUNCHED = said("assistant", use(LAUNCH, "t1"))
DIED = said("user", result("t1", f"Agent terminated early. agentId: {ONE}", is_error=True))


def test_it_starts_the_fan_out_like_any_main_thread() -> None:
    assert [call.name for call in reply().calls] == ["Agent"]


def test_it_continues_each_named_agent_once_until_it_is_asked_again() -> None:
    order = said(
        "user",
        paceline(f'- SendMessage {{to: "{ONE}"}}', f'- SendMessage(to: "{TWO}", …)'),
        paceline(f'- SendMessage(to: "{ONE}")', before="PostToolUseFailure:Agent hook context: "),
    )
    first = reply(LAUNCHED, DIED, order)
    assert [(call.name, call.input["to"]) for call in first.calls] == [
        ("SendMessage", ONE),
        ("SendMessage", TWO),
    ]
    sent = said("assistant", *(use(call, call.input["to"]) for call in first.calls))
    done = said("user", result(ONE, "sent"), result(TWO, "sent"))
    assert reply(LAUNCHED, DIED, order, sent, done).calls == ()
    later = said("user", paceline(f"- SendMessage {{to: {TWO}}}"))
    assert [call.input["to"] for call in reply(LAUNCHED, DIED, order, sent, done, later).calls] == [
        TWO
    ]


def test_looking_for_a_tool_does_not_forget_the_order() -> None:
    order = said("user", paceline(f"- SendMessage {{to: {ONE}}}"))
    look = said("assistant", use(ToolCall("ToolSearch", {"query": "select:SendMessage"}), "t2"))
    found = said("user", result("t2", "loaded"))
    assert [call.name for call in reply(LAUNCHED, DIED, order, look, found).calls] == [
        "SendMessage"
    ]


def test_it_runs_a_named_workflow_script() -> None:
    order = said("user", paceline('- Workflow({scriptPath: "/state/x y.js"}): finished'))
    (call,) = reply(LAUNCHED, DIED, order).calls
    assert call == ToolCall("Workflow", {"scriptPath": "/state/x y.js"})


def test_it_launches_a_dead_agents_prompt_again_with_the_line_it_is_given() -> None:
    for which in (f"agent {ONE}", "the call that failed", f'agent {TWO} ("one")'):
        words = (
            f'- Agent again, with the prompt you gave {which} and the line "ticket 7" at its end.'
        )
        (call,) = reply(LAUNCHED, DIED, said("user", paceline(words))).calls
        assert call == ToolCall("Agent", {"description": "one", "prompt": "read it\nticket 7"})


def test_what_is_to_be_started_after_a_reset_is_not_started_now() -> None:
    later = "- The limit resets in 2 h. Start these then, not before:"
    words = paceline(f"- SendMessage(to: {TWO})", later, f"- SendMessage(to: {ONE})")
    (call,) = reply(LAUNCHED, DIED, said("user", words)).calls
    assert call.input["to"] == TWO


def test_it_asks_the_requeue_tool_and_then_follows_its_advice() -> None:
    order = said("user", paceline("- Call requeue_dropped (server paceline) for run wf_abc-123"))
    (call,) = reply(LAUNCHED, DIED, order).calls
    assert call == ToolCall(REQUEUE, {"run": "wf_abc-123"})
    asked = said("assistant", use(call, "t2"))
    advice = said("user", result("t2", f'- SendMessage(to: "{ONE}", summary: "go on")'))
    (follow,) = reply(LAUNCHED, DIED, order, asked, advice).calls
    assert follow.input["to"] == ONE


def test_the_clients_own_hint_in_a_result_is_no_order() -> None:
    hint = said("user", result("t1", f"agentId: {ONE} (Use SendMessage with to: '{ONE}')"))
    assert reply(LAUNCHED, hint).calls == ()


def test_what_the_client_says_of_a_workflow_is_no_order() -> None:
    """It did so without end: each start tells how to start it again."""
    hint = said("user", result("t1", 'To resume: Workflow({scriptPath: "/a.js"}) after an edit.'))
    assert reply(LAUNCHED, hint).calls == ()
    both = said("user", paceline("- wait"), text('Workflow({scriptPath: "/a.js"})'))
    assert reply(LAUNCHED, both).calls == ()
