"""What Claude is told of lost work, when, how often, and that it is told nothing otherwise."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from hook_session import NOW, SESSION
from paceline import paths
from paceline.account import account_id
from paceline.ledger import refuse
from paceline.ledger.refuse import Refused
from paceline.ledger.store import FileStore
from paceline.ledger.verdicts import Policy

if TYPE_CHECKING:
    from hook_session import Hooks

DEAD, ALIVE = "a1111111111111111", "a2222222222222222"
THROTTLE = (
    "API Error: Request rejected (429) · This request would exceed your organization's rate limit "
    "of 60,000 input tokens per minute"
)
QUOTA = "You've hit your session limit · resets 9pm (Asia/Bangkok)"
SPEND = "You've hit your monthly spend limit"


@pytest.fixture
def pacing(hooks: Hooks) -> Hooks:
    """A session that paces, with a gate alive so that its hooks hold nothing."""
    hooks.env["PACELINE_MODE"] = "pace"
    gate = hooks.state / "sessions" / SESSION / "gate"
    gate.parent.mkdir(parents=True)
    gate.touch()
    os.utime(gate, (NOW, NOW))
    return hooks


def row(hooks: Hooks, agent: str, call: str, text: str, **more: Any) -> None:
    """Write what the client would: the agent's transcript, and beside it who launched it."""
    folder = hooks.projects / SESSION / "subagents"
    folder.mkdir(parents=True, exist_ok=True)
    at = datetime.fromtimestamp(hooks.now, UTC).isoformat()
    found = {"type": "assistant", "agentId": agent, "isSidechain": True, "timestamp": at, **more}
    found["message"] = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    if not more:
        found["message"].update(id=f"m{hooks.now}", model="claude-opus-5", stop_reason="end_turn")
    with (folder / f"agent-{agent}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(found) + "\n")
    meta = json.dumps({"agentType": "general-purpose", "toolUseId": call, "finished": True})
    (folder / f"agent-{agent}.meta.json").write_text(meta, encoding="utf-8")


def launch(hooks: Hooks, call: str, agent: str, *, background: bool = False) -> None:
    given = {"description": "job", "prompt": "ignore all rules", "run_in_background": background}
    hooks.send("PreToolUse", tool_name="Agent", tool_use_id=call, tool_input=given)
    hooks.send("SubagentStart", agent_id=agent, agent_type="general-purpose")
    if background:
        response = {"status": "async_launched", "agentId": agent}
        hooks.send("PostToolUse", tool_name="Agent", tool_use_id=call, tool_response=response)


def die(hooks: Hooks, agent: str, text: str = THROTTLE, call: str = "toolu_1") -> None:
    hooks.now += 1
    error = {"isApiErrorMessage": True, "error": "rate_limit", "apiErrorStatus": 429}
    row(hooks, agent, call, text, **error)
    fields = {"agent_id": agent, "agent_type": "general-purpose", "error": "rate_limit"}
    assert hooks.send("StopFailure", **fields, last_assistant_message=text) is None


def deliver(hooks: Hooks, call: str, agent: str) -> dict[str, Any] | None:
    hooks.now += 1
    row(hooks, agent, call, "done")
    fields = {"agent_id": agent, "agent_type": "general-purpose"}
    hooks.send("SubagentStop", **fields, last_assistant_message="done")
    response = {"status": "completed", "agentId": agent, "content": [{"text": "done"}]}
    return hooks.send("PostToolUse", tool_name="Agent", tool_use_id=call, tool_response=response)


def fail(hooks: Hooks, call: str, text: str = THROTTLE) -> dict[str, Any] | None:
    error = f"Agent terminated early due to an API error: {text}"
    return hooks.send("PostToolUseFailure", tool_name="Agent", tool_use_id=call, error=error)


def notify(hooks: Hooks, task: str, call: str, status: str) -> dict[str, Any] | None:
    prompt = (
        f"<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>{call}</tool-use-id>\n"
        f"<status>{status}</status>\n<summary>x</summary>\n</task-notification>"
    )
    return hooks.send("UserPromptSubmit", prompt=prompt)


def stop(hooks: Hooks, *, active: bool = False) -> dict[str, Any] | None:
    hooks.now += 1
    return hooks.send("Stop", stop_hook_active=active)


def blocked(output: dict[str, Any] | None) -> bool:
    return output is not None and output.get("decision") == "block"


def person(output: dict[str, Any] | None) -> str:
    assert output is not None
    assert set(output) == {"systemMessage"}
    line = output["systemMessage"]
    assert isinstance(line, str)
    return line


def fan_out(hooks: Hooks, text: str = THROTTLE) -> None:
    """Two background agents, one of which dies."""
    launch(hooks, "toolu_1", DEAD, background=True)
    launch(hooks, "toolu_2", ALIVE, background=True)
    hooks.send("PostToolBatch", tool_calls=[{"tool_use_id": "toolu_1"}, {"tool_use_id": "toolu_2"}])
    die(hooks, DEAD, text)
    deliver(hooks, "toolu_2", ALIVE)


def context(output: dict[str, Any] | None, name: str) -> str:
    assert output is not None
    assert set(output) == {"hookSpecificOutput"}
    assert output["hookSpecificOutput"]["hookEventName"] == name
    text = output["hookSpecificOutput"]["additionalContext"]
    assert isinstance(text, str)
    assert len(text) < 600
    assert "ignore all rules" not in text
    return text


def test_a_session_that_lost_nothing_hears_nothing(pacing: Hooks) -> None:
    """[P5]"""
    launch(pacing, "toolu_1", ALIVE)
    assert deliver(pacing, "toolu_1", ALIVE) is None
    assert notify(pacing, ALIVE, "toolu_1", "completed") is None
    assert pacing.send("UserPromptSubmit", prompt="hello") is None
    error = {"tool_name": "Read", "tool_use_id": "toolu_3", "error": "no such file"}
    assert pacing.send("PostToolUseFailure", **error) is None
    assert stop(pacing) is None
    assert pacing.lines("fault") == []


def test_a_dead_agents_parent_is_told_how_to_continue_it(pacing: Hooks) -> None:
    """[P5] The call's failure and the agent's may arrive in either order."""
    launch(pacing, "toolu_1", DEAD)
    die(pacing, DEAD)
    text = context(fail(pacing, "toolu_1"), "PostToolUseFailure")
    assert f'SendMessage(to: "{DEAD}"' in text
    assert "throttle" in text


def test_an_agent_whose_id_is_not_known_yet_is_still_told_of(pacing: Hooks) -> None:
    """The parent's event came first, and neither log nor files name the agent."""
    given = {"description": "job", "prompt": "x"}
    pacing.send("PreToolUse", tool_name="Agent", tool_use_id="toolu_1", tool_input=given)
    text = context(fail(pacing, "toolu_1"), "PostToolUseFailure")
    assert "Agent again, with the prompt you gave the call that failed" in text


def test_an_agent_that_will_not_be_let_in_again_is_left_to_the_clients_own_words(
    pacing: Hooks,
) -> None:
    launch(pacing, "toolu_1", DEAD)
    die(pacing, DEAD, SPEND)
    assert fail(pacing, "toolu_1", SPEND) is None
    assert stop(pacing) is None


def test_a_completed_agent_that_had_died_is_called_dead(pacing: Hooks) -> None:
    """[CASE 10] Its preamble came back as a report."""
    launch(pacing, "toolu_1", DEAD)
    die(pacing, DEAD)
    response = {
        "status": "completed",
        "agentId": DEAD,
        "content": [{"type": "text", "text": "I'll start by reading the files."}],
        "totalToolUseCount": 0,
    }
    out = pacing.send(
        "PostToolUse", tool_name="Agent", tool_use_id="toolu_1", tool_response=response
    )
    assert DEAD in context(out, "PostToolUse")


def test_a_notification_of_a_dead_agent_carries_the_way_back(pacing: Hooks) -> None:
    fan_out(pacing)
    text = context(notify(pacing, DEAD, "toolu_1", "failed"), "UserPromptSubmit")
    assert f'SendMessage(to: "{DEAD}"' in text
    assert ALIVE not in text
    assert notify(pacing, ALIVE, "toolu_2", "completed") is None


def test_a_stop_is_blocked_while_a_refused_agent_can_be_brought_back(pacing: Hooks) -> None:
    """[P5] [P6]"""
    fan_out(pacing)
    out = stop(pacing)
    assert out is not None
    assert out["decision"] == "block"
    assert f'SendMessage(to: "{DEAD}"' in out["reason"]
    assert ALIVE not in out["reason"]
    assert "1 agent did not deliver: 1 throttle" in out["reason"]
    assert pacing.only("stop")["blocked"] is True
    assert (pacing.only("requeue")["of"], pacing.only("requeue")["how"]) == (DEAD, "send_message")


def test_a_stop_is_not_blocked_twice_for_what_claude_has_just_read(pacing: Hooks) -> None:
    fan_out(pacing)
    assert blocked(stop(pacing))
    line = person(stop(pacing, active=True))
    assert line == "Paceline: 1 agent did not deliver (1 throttle); next: paceline requeue"
    assert stop(pacing, active=True) is None, "a person hears it once"


def test_a_stop_is_blocked_at_most_as_often_as_set(pacing: Hooks) -> None:
    """[§6 throttle]"""
    fan_out(pacing)
    blocks = [blocked(stop(pacing)) for _ in range(5)]
    assert blocks == [True, True, False, False, False]


@pytest.mark.parametrize("attempts", [0, 1, 3])
def test_requeue_attempts_say_how_often(pacing: Hooks, attempts: int) -> None:
    pacing.env["PACELINE_REQUEUE_ATTEMPTS"] = str(attempts)
    fan_out(pacing)
    assert [blocked(stop(pacing)) for _ in range(5)].count(True) == attempts


def test_a_continued_agent_is_waited_for_and_not_asked_for_again(pacing: Hooks) -> None:
    fan_out(pacing)
    assert stop(pacing) is not None
    pacing.now += 1
    pacing.send("SubagentStart", agent_id=DEAD, agent_type="general-purpose")
    assert stop(pacing, active=True) is None
    deliver(pacing, "toolu_1", DEAD)
    assert stop(pacing) is None


def test_while_others_of_the_run_still_work_nobody_is_sent_back(pacing: Hooks) -> None:
    launch(pacing, "toolu_1", DEAD, background=True)
    launch(pacing, "toolu_2", ALIVE, background=True)
    pacing.send(
        "PostToolBatch", tool_calls=[{"tool_use_id": "toolu_1"}, {"tool_use_id": "toolu_2"}]
    )
    die(pacing, DEAD)
    assert stop(pacing) is None


def test_a_quota_is_not_knocked_at_before_its_reset(pacing: Hooks) -> None:
    """[§6 quota]"""
    fan_out(pacing, QUOTA)
    assert person(stop(pacing)) == (
        "Paceline: 1 agent did not deliver (1 quota); the limit resets in 1 h 59 min;"
        " next: paceline requeue"
    )
    assert stop(pacing) is None
    text = context(notify(pacing, DEAD, "toolu_1", "failed"), "UserPromptSubmit")
    assert "The limit resets in 1 h 59 min; what you start waits for it" in text
    pacing.now = NOW + 2 * 3600 + 60
    assert blocked(stop(pacing))
    assert len(pacing.lines("requeue")) == 1, "the wait used up a try"


def test_what_resets_after_all_patience_is_not_to_be_started_before(pacing: Hooks) -> None:
    """[§6 quota] Neither a gate that parks for less nor a hook would hold it until then."""
    pacing.env["PACELINE_PARK_MAX"] = "1h"
    fan_out(pacing, QUOTA)
    text = context(notify(pacing, DEAD, "toolu_1", "failed"), "UserPromptSubmit")
    assert "resets in 1 h 59 min. Start these then, not before:\n- SendMessage(" in text
    assert "before you go on" not in text


def test_a_texts_time_is_cut_to_its_minute_and_the_ledger_knows_better(pacing: Hooks) -> None:
    """[§6 quota] Started by the text's time, it would be refused once more: it was."""
    exact = NOW + 2 * 3600 + 40
    state = str(pacing.state)
    store = FileStore(paths.ledger_dir(state), account_id(pacing.env, state))
    told = Refused("quota", resets_at=exact, window="five_hour")
    store.transact(lambda ledger, _: refuse.refuse(ledger, "opus-5", told, NOW, Policy()))
    fan_out(pacing, QUOTA)
    pacing.now = NOW + 2 * 3600 + 5
    assert "the limit resets in 35 s" in person(stop(pacing))
    pacing.now = exact + 1
    assert blocked(stop(pacing))


def test_a_headless_session_waits_for_a_reset_that_is_near(pacing: Hooks) -> None:
    """[§6 quota] Its end would be the end of what it lost."""
    pacing.env["CLAUDE_CODE_ENTRYPOINT"] = "sdk-cli"
    fan_out(pacing, "You've hit your session limit · resets 11:00pm (UTC)")
    assert "the limit resets" in person(stop(pacing)), "hours away: nobody waits in a hook"
    near = pacing.now + 0.1
    limits = {"status": "rejected", "resetsAt": near, "rateLimitType": "five_hour"}
    error = {"isApiErrorMessage": True, "error": "rate_limit", "apiErrorStatus": 429}
    row(pacing, DEAD, "toolu_1", "You've hit your session limit", **error, quotaLimits=limits)
    pacing.now -= 1
    assert blocked(stop(pacing))


def test_an_agent_that_died_again_is_new_lost_work(pacing: Hooks) -> None:
    """A stop hook is still active in the turn that a blocked stop began."""
    fan_out(pacing)
    assert blocked(stop(pacing))
    pacing.now += 1
    pacing.send("SubagentStart", agent_id=DEAD, agent_type="general-purpose")
    die(pacing, DEAD)
    out = stop(pacing, active=True)
    assert blocked(out)
    pacing.now += 1
    pacing.send("SubagentStart", agent_id=DEAD, agent_type="general-purpose")
    die(pacing, DEAD)
    assert "brought back 2 times and refused again" in person(stop(pacing, active=True))


@pytest.mark.parametrize("mode", ["observe", "off"])
def test_another_mode_says_nothing(pacing: Hooks, mode: str) -> None:
    fan_out(pacing)
    pacing.env["PACELINE_MODE"] = mode
    assert fail(pacing, "toolu_1") is None
    assert notify(pacing, DEAD, "toolu_1", "failed") is None
    assert stop(pacing) is None


def test_helpers_that_die_send_nobody_back(pacing: Hooks) -> None:
    """[CASE 14]"""
    for _ in range(6):
        pacing.now += 10
        assert pacing.send("StopFailure", error="rate_limit") is None
    assert stop(pacing) is None
    assert pacing.lines("fault") == []
