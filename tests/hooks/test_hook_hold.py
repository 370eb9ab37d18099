"""What the hooks ask the ledger for, and what they tell it, where no gate does."""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from hook_session import SESSION
from paceline import account
from paceline.ledger import history
from paceline.ledger.store import FileStore
from paceline_hooks import hold, replies

if TYPE_CHECKING:
    from pathlib import Path

    from hook_session import Hooks
    from paceline.ledger.values import Ledger

AGENT = "a1111111111111111"
TYPE = {"agent_id": AGENT, "agent_type": "general-purpose"}
OLD, NEW = "2.1.240", "2.1.332"
OPUS, HAIKU = "claude-opus-5-5", "claude-haiku-4-5-20251001"
AUTH = {"error": "authentication_failed", "last_assistant_message": "Invalid API key"}
"""A death after which nothing is waited for."""
THROTTLE = {"error": "rate_limit", "last_assistant_message": "API Error: Rate limited"}


@pytest.fixture
def pacing(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    """A session that its hooks pace, now: a hold reads the clock and the environment itself."""
    hooks.now = time.time()
    hooks.env["PACELINE_MODE"] = "pace"
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_SUBAGENT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in hooks.env.items():
        monkeypatch.setenv(name, value)
    # As in a real state folder: word of where filelock is.
    hooks.state.mkdir(parents=True)
    (hooks.state / "site").write_text(next(iter(sys.path)), encoding="utf-8")
    return hooks


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


def main(hooks: Hooks, version: str, model: str = OPUS) -> None:
    """Write the main thread's transcript with one reply."""
    hooks.projects.mkdir(parents=True, exist_ok=True)
    row = reply("m_main", model, hooks.now - 1, created=100) | {"version": version}
    (hooks.projects / f"{SESSION}.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")


def reply(ident: str, model: str, at: float, *, created: int = 0, read: int = 0) -> dict[str, Any]:
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": created,
        "cache_read_input_tokens": read,
        "output_tokens": 20,
    }
    message = {"id": ident, "model": model, "role": "assistant", "usage": usage, "content": []}
    return {"type": "assistant", "timestamp": stamp(at), "message": message}


def agent_file(hooks: Hooks, *rows: dict[str, Any], **meta: Any) -> Path:
    folder = hooks.projects / SESSION / "subagents"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"agent-{AGENT}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    if meta:
        (folder / f"agent-{AGENT}.meta.json").write_text(json.dumps(meta), encoding="utf-8")
    return path


def ledger(hooks: Hooks) -> Ledger:
    whose = account.account_id(os.environ, str(hooks.state))
    return FileStore(str(hooks.state / "ledger"), whose).snapshot()


def begin(hooks: Hooks) -> dict[str, Any]:
    assert hooks.send("SubagentStart", **TYPE) is None
    assert hooks.lines("fault") == []
    return hooks.lines("request.grant")[-1]


def test_a_woken_agents_whole_context_counts_as_new_before_the_gate(pacing: Hooks) -> None:
    """[P2] So it was sent on 2.1.240; on 2.1.332 it was read from the cache."""
    main(pacing, OLD)
    assert begin(pacing)["cost"] == 9000
    pacing.now += 1
    agent_file(pacing, reply("m1", OPUS, pacing.now, created=12_000))
    pacing.send("SubagentStop", **TYPE, last_assistant_message="done")
    pacing.now += 10
    assert begin(pacing)["cost"] > 12_000
    main(pacing, NEW)
    pacing.now += 10
    assert begin(pacing)["cost"] < 1000


def test_a_usage_of_no_input_at_all_is_taken_for_none(pacing: Hooks) -> None:
    """[I1] By way of a proxy that does not count: given back, the same tokens are spent twice."""
    main(pacing, OLD)
    begin(pacing)
    pacing.now += 1
    row = reply("m1", OPUS, pacing.now)
    row["message"]["usage"] = {"input_tokens": 0, "output_tokens": 0}
    agent_file(pacing, row)
    pacing.send("SubagentStop", **TYPE, last_assistant_message="done")
    found = ledger(pacing)
    assert not found.reservations
    assert found.totals.settled == 9000
    assert [row[1] for row in history.rows(found.family("opus-5-5").learner)] == [9000]


def test_an_agent_woken_after_its_first_request_has_a_prefix_of_its_own(pacing: Hooks) -> None:
    main(pacing, OLD)
    begin(pacing)
    pacing.send("StopFailure", **TYPE, **AUTH)
    pacing.now += 100
    begin(pacing)
    kinds = {key.split("|")[1] for key in ledger(pacing).prefixes}
    assert kinds == {"general-purpose", "general-purpose+resumed"}


@pytest.mark.parametrize(
    ("meta", "call_model", "family"),
    [
        ({}, "", "opus-5-5"),
        ({"model": HAIKU}, "", "haiku-4-5"),
        ({"toolUseId": "toolu_1"}, "haiku", "haiku-4-5"),
        ({"toolUseId": "toolu_1"}, "sonnet", "sonnet"),
        ({"toolUseId": "toolu_2"}, "haiku", "opus-5-5"),
        ({"model": "../x", "toolUseId": ["a"]}, "", "opus-5-5"),
    ],
)
def test_a_refusal_counts_against_the_model_the_agent_was_launched_with(
    pacing: Hooks, meta: dict[str, Any], call_model: str, family: str
) -> None:
    """[I9] In another family's bucket it would slow down the wrong agents, and not the right."""
    main(pacing, OLD)
    other = {"t": 1.0, "e": "request.settle", "agent": "a2", "id": "r0", "model": HAIKU}
    log = pacing.state / "sessions" / SESSION / "events.jsonl"
    given = {"description": "one", "prompt": "x", "model": call_model}
    pacing.send("PreToolUse", tool_name="Agent", tool_use_id="toolu_1", tool_input=given)
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(other) + "\n")
    agent_file(pacing, **meta)
    begin(pacing)
    pacing.send("StopFailure", **TYPE, **THROTTLE)
    assert pacing.lines("fault") == []
    paced = {name for name, one in ledger(pacing).families.items() if one.learner.pace}
    assert paced == {family}


def test_what_a_refused_request_carried_is_part_of_the_next_ones_cost(pacing: Hooks) -> None:
    """[I2] The tool's result goes again when a message wakes the agent."""
    main(pacing, NEW)
    begin(pacing)
    pacing.now += 1
    path = agent_file(pacing, reply("m1", OPUS, pacing.now, created=8000))
    read = {"tool_name": "Read", "tool_use_id": "t1", "tool_response": "1\tword word\n" * 3000}
    pacing.send("PostToolBatch", **TYPE, tool_calls=[read])
    carried = pacing.lines("request.grant")[-1]["cost"]
    assert carried > 5000
    with path.open("a", encoding="utf-8") as file:
        row = reply("m2", "<synthetic>", pacing.now) | {"isApiErrorMessage": True}
        file.write(json.dumps(row) + "\n")
    pacing.send("StopFailure", **TYPE, **AUTH)
    (line,) = pacing.lines("request.refused")
    assert (line["by"], line["attempt"]) == ("hook", 0)
    pacing.now += 200
    assert begin(pacing)["cost"] >= carried


def test_a_quota_closes_the_account_until_the_second_its_row_tells(pacing: Hooks) -> None:
    """[§6 quota] The event has the client's text alone, cut to the minute."""
    main(pacing, OLD)
    begin(pacing)
    minute = pacing.now // 60 * 60 + 1800.0
    reset = minute + 19.0
    told = datetime.fromtimestamp(minute, UTC).strftime("%I:%M%p").lstrip("0").lower()
    text = f"You've hit your session limit · resets {told} (UTC)"
    limits = {"status": "rejected", "resetsAt": reset, "rateLimitType": "five_hour"}
    row = reply("e1", "<synthetic>", pacing.now) | {
        "isApiErrorMessage": True,
        "error": "rate_limit",
        "apiErrorStatus": 429,
        "quotaLimits": limits,
    }
    row["message"]["content"] = [{"type": "text", "text": text}]
    agent_file(pacing, row)
    pacing.send("StopFailure", **TYPE, error="rate_limit", last_assistant_message=text)
    assert pacing.lines("fault") == []
    assert pacing.only("request.refused")["resets_at"] == reset
    assert pacing.only("agent.failed")["resets_at"] == minute
    breaker = ledger(pacing).families["all"].breaker
    assert reset <= breaker.until < reset + 10


def die_of_quota(hooks: Hooks, reset: float) -> float:
    """Let the agent die of a quota; return until when the ledger is closed."""
    text = "You've hit your session limit"
    limits = {"status": "rejected", "resetsAt": reset, "rateLimitType": "five_hour"}
    row = reply("e1", "<synthetic>", hooks.now) | {
        "isApiErrorMessage": True,
        "error": "rate_limit",
        "apiErrorStatus": 429,
        "quotaLimits": limits,
    }
    row["message"]["content"] = [{"type": "text", "text": text}]
    agent_file(hooks, row)
    hooks.send("StopFailure", **TYPE, error="rate_limit", last_assistant_message=text)
    assert hooks.lines("fault") == []
    return ledger(hooks).families["all"].breaker.until


def test_a_headless_main_thread_is_held_while_the_quota_is_closed(pacing: Hooks) -> None:
    """[§6 quota] [P1] Its refusal would end the session, and the way back of what it lost."""
    pacing.env["CLAUDE_CODE_ENTRYPOINT"] = "sdk-cli"
    main(pacing, OLD)
    begin(pacing)
    until = die_of_quota(pacing, pacing.now + 0.3)
    pacing.send("UserPromptSubmit", prompt="hello")
    assert time.time() < until, "what a person typed goes at once"
    pacing.send("PostToolBatch", tool_calls=[{"tool_use_id": "t1"}])
    assert time.time() >= until
    assert pacing.lines("fault") == []


def test_a_person_is_not_held_while_the_quota_is_closed(pacing: Hooks) -> None:
    """[P7] [I5] Their client says it, and waits by itself."""
    main(pacing, OLD)
    begin(pacing)
    until = die_of_quota(pacing, pacing.now + 60)
    for entry in ("", "cli"):
        pacing.env["CLAUDE_CODE_ENTRYPOINT"] = entry
        pacing.send("PostToolBatch", tool_calls=[{"tool_use_id": "t1"}])
        assert time.time() < until


def test_an_agent_that_died_rests_longer_each_time() -> None:
    """[P1] The ladder has two tries; they must not be gone in seconds."""
    assert hold.rested([]) == 0.0
    rests = [hold.rested([100.0] * deaths) - 100.0 for deaths in range(1, 8)]
    assert rests == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0, 60.0]


def test_a_row_that_is_still_being_written_is_waited_for(pacing: Hooks) -> None:
    """On 2.1.240 hooks run before the reply that caused them is on disk."""
    looks = 0

    def find() -> str | None:
        nonlocal looks
        looks += 1
        if looks < 3:
            return None
        return str(agent_file(pacing, reply("m1", OPUS, pacing.now, created=5)))

    (found,) = replies.awaited(find, pacing.now - 1, pacing.now, wait=30.0)
    assert (found.model, found.used["cache_creation"], looks) == (OPUS, 5, 3)
    assert replies.awaited(lambda: None, pacing.now, pacing.now, wait=0.0) == []
