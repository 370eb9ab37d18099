"""How an agent's transcript ends, and what it tells on the way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fanout_files import (
    SESSION_LIMIT,
    THROTTLE,
    answer,
    died,
    error,
    interrupted,
    launch,
    prompt,
    result,
    row,
    tool,
    woken,
    write_lines,
)
from paceline.transcripts import agents
from paceline.transcripts.agents import AgentRows, read_agent
from paceline.transcripts.prompts import sha

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1789041600.0 + 3600


def read(tmp_path: Path, rows: list[Any]) -> AgentRows:
    return read_agent(str(write_lines(tmp_path / "agent-a1.jsonl", rows)), NOW)


def test_an_error_row_at_the_end_is_a_death_that_costs_nothing(tmp_path: Path) -> None:
    """[CASE 1]"""
    rows = read(tmp_path, died())
    assert rows.end == agents.DIED
    assert rows.refusal is not None
    assert (rows.refusal.cause, rows.refusal.retryable) == ("throttle", True)
    assert rows.usage.charged() == 0


@pytest.mark.parametrize("spaces", [None, (",", ":")])
def test_prose_and_quotations_of_an_error_are_none(
    tmp_path: Path, spaces: tuple[str, str] | None
) -> None:
    """[CASE 6] Whatever way the JSON is spaced."""
    quoted = json.dumps(error(), separators=spaces)
    rows = read(
        tmp_path,
        [
            json.dumps(one, separators=spaces)
            for one in [
                prompt("Read it."),
                answer(tool("Read"), stop="tool_use"),
                result(text=quoted, structured={"isApiErrorMessage": True, "content": quoted}),
                answer(
                    f'Finding 4: the API returns 429 "rate_limit" {quoted}',
                    at=4.0,
                    usage=(0, 0, 0, 812),
                ),
            ]
        ],
    )
    assert rows.end == agents.DONE
    assert rows.errors == []
    assert rows.usage.tokens["output"] == 832


def test_an_error_that_was_recovered_from_is_a_revival_and_no_death(tmp_path: Path) -> None:
    """[CASE 7]"""
    rows = read(tmp_path, [prompt("x"), error(at=1.0), answer("Done.", at=2.0)])
    assert rows.end == agents.DONE
    assert rows.refusal is None
    assert [found.cause for _, found in rows.errors] == ["throttle"]
    assert (rows.revived, rows.continued) == (1, 0)


def test_a_dead_agent_that_a_message_woke_was_continued(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        [
            prompt("x"),
            answer(tool("Read"), at=1.0, stop="tool_use"),
            result(at=2.0),
            error(at=3.0),
            woken(4.0),
            answer("Done.", at=5.0),
        ],
    )
    assert (rows.end, rows.revived, rows.continued) == (agents.DONE, 0, 1)
    assert rows.kept == 123


def test_an_agent_at_work_after_a_message_keeps_what_it_died_of(tmp_path: Path) -> None:
    rows = read(tmp_path, [*died(SESSION_LIMIT), woken(6.0)])
    assert rows.end == agents.WAITING
    assert rows.refusal is not None
    assert rows.refusal.cause == "quota"


@pytest.mark.parametrize(
    ("rows", "end"),
    [
        ([], agents.EMPTY),
        ([prompt("x")], agents.WAITING),
        ([prompt("x"), answer("Hm.", tool("Read"), stop="tool_use")], agents.TOOL),
        ([prompt("x"), answer("Reading.", stop="tool_use")], agents.TOOL),
        ([prompt("x"), answer(tool("Read"), stop="tool_use"), result()], agents.WAITING),
        ([prompt("x"), answer("Done.", stop=None)], agents.OPEN),
        ([prompt("x"), answer(tool("Read"), stop=None)], agents.TOOL),
        ([prompt("x"), answer("I will not.", stop="refusal")], agents.REFUSED),
        ([prompt("x"), answer("Long", stop="max_tokens")], agents.DONE),
        ([prompt("x"), interrupted()], agents.STOPPED),
        ([prompt("x"), interrupted(), woken(9.0), answer("Ok.", at=10.0)], agents.DONE),
        ([prompt("x"), answer(tool("SubagentHandback", message="Report"))], agents.DONE),
        (
            [prompt("x"), answer(tool("StructuredOutput", n=1), stop="tool_use"), result()],
            agents.DONE,
        ),
        (
            [
                prompt("x"),
                answer(tool("StructuredOutput", n="one"), stop="tool_use"),
                result(is_error=True, text="n must be a number"),
            ],
            agents.WAITING,
        ),
        (
            [prompt("x"), answer("Done."), row("user", 9.0, content="reminder", isMeta=True)],
            agents.DONE,
        ),
    ],
)
def test_how_a_transcript_ends(tmp_path: Path, rows: list[Any], end: str) -> None:
    assert read(tmp_path, rows).end == end


def test_attempts_without_an_answer_are_silent_retries(tmp_path: Path) -> None:
    attempt = {"type": "api-request", "id": "x"}
    done = answer("Done.", at=4.0)
    done["requestRef"] = "x3"
    rows = read(
        tmp_path,
        [prompt("x"), *(json.dumps(attempt, separators=(",", ":")) for _ in range(3)), done],
    )
    assert (rows.attempts, rows.answered) == (3, 1)


def test_writes_and_pull_requests_are_seen_once_each(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        [
            prompt("x"),
            answer(tool("Write", "t1", file_path="/a"), stop="tool_use"),
            answer(tool("Write", "t1", file_path="/a"), stop="tool_use"),
            answer(tool("Bash", "t2", command="gh pr create --fill"), stop="tool_use"),
            answer(tool("Bash", "t3", command="ls"), stop="tool_use"),
            answer(tool("mcp__github__create_pull_request", "t4"), stop="tool_use"),
            answer(tool("Read", "t5"), stop="tool_use"),
        ],
    )
    assert (rows.effects.edits, rows.effects.published, rows.tool_uses) == (1, 2, 5)


def test_the_prompt_is_known_without_the_frame_and_the_ticket(tmp_path: Path) -> None:
    plain = "Read a.py\n\n  indented\nSay what it does."
    framed = "[Workflow harness — computed task] Text.\nThe computed task text follows:\n" + (
        "\n".join(f"  {line}" for line in plain.split("\n"))
    )
    ticketed = f"{plain}\npaceline-ticket: tk_0123456789ab"
    found = [read(tmp_path, [prompt(text)]) for text in (plain, framed, ticketed)]
    assert {rows.prompt_sha for rows in found} == {sha(plain)}
    assert [rows.ticket for rows in found] == ["", "", "tk_0123456789ab"]
    assert found[1].preview == "Read a.py indented Say what it does."


def test_agents_an_agent_launched_are_its_calls(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        [
            prompt("x"),
            answer(launch("toolu_n", "inner"), stop="tool_use", ident="msg_n"),
            result(
                "toolu_n",
                f"Agent terminated early due to an API error: {THROTTLE} (error type rate_limit,"
                " HTTP 429, request id req_1)",
                is_error=True,
            ),
        ],
    )
    (call,) = rows.calls.launches.values()
    assert (call.message, call.label) == ("msg_n", "inner")
    outcome = rows.calls.outcomes["toolu_n"]
    assert outcome.status == "failed"
    assert outcome.refusal is not None
    assert outcome.refusal.cause == "throttle"


def test_damage_is_passed_over(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        [
            prompt("x"),
            b"\xff\xfe garbage \x00\n",
            '{"type": "assistant"',
            '{"type": "assistant", "message": 7, "isApiErrorMessage": true}',
            '{"type": "assistant", "message": {"content": 3, "usage": [], "id": {}}}',
            "[]",
            answer("Done.", at=5.0),
            b'{"type":"assistant","message":{"cut',
        ],
    )
    assert rows.end == agents.DONE
    assert rows.odd > 0


def test_a_tool_result_of_many_megabytes_is_no_end(tmp_path: Path) -> None:
    path = tmp_path / "agent-a1.jsonl"
    write_lines(path, [prompt("x"), answer(tool("Read"), stop="tool_use")])
    with path.open("ab") as file:
        file.write(b'{"type":"user","message":{"role":"user","content":[{"type":"tool_result",')
        file.write(b'"content":"' + b"isApiErrorMessage" * 1_000_000 + b'"}]}}\n')
    rows = read_agent(str(path), NOW)
    assert rows.end == agents.WAITING
    assert rows.odd == 1


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["assistant", "user", "x"])},
            optional={
                "message": junk
                | st.fixed_dictionaries(
                    {},
                    optional={
                        "content": junk
                        | st.lists(
                            st.fixed_dictionaries(
                                {"type": st.sampled_from(["text", "tool_use", "tool_result"])},
                                optional={
                                    "id": junk,
                                    "name": junk | st.just("Agent"),
                                    "input": junk,
                                    "text": junk,
                                    "content": junk,
                                    "tool_use_id": junk,
                                },
                            )
                        ),
                        "stop_reason": junk,
                        "usage": junk,
                        "model": junk,
                        "id": junk,
                    },
                ),
                "timestamp": junk,
                "isApiErrorMessage": st.booleans(),
                "toolUseResult": junk,
                "requestRef": junk,
                "requestId": junk,
                "version": junk,
                "origin": junk,
            },
        ),
        max_size=6,
    )
)
def test_no_row_of_any_shape_raises(rows: list[Any]) -> None:
    found = AgentRows()
    for one in rows:
        found.add(json.dumps(one).encode(), NOW)
    found.finish(NOW)
    assert isinstance(found.model, str)
    assert found.partial.isprintable()
