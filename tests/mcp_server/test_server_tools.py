"""The tools of the contract, over MCP in one process."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client

from gate_talk import FAMILY, MODEL, SESSION, called
from paceline import jsonl, paths

if TYPE_CHECKING:
    from gate_talk import Bench

pytestmark = pytest.mark.anyio

CONTRACT = {
    "reserve_budget",
    "settle_budget",
    "report_rate_limit",
    "budget_status",
    "plan_fanout",
    "run_manifest",
    "requeue_dropped",
}
SECONDS = 30.0
THROTTLE = json.dumps(
    {
        "type": "error",
        "error": {
            "type": "rate_limit_error",
            "message": "This request would exceed your organization's rate limit of 30,000 input "
            "tokens per minute (org: 00000000, model: claude-opus-5)",
        },
    }
)


async def test_every_tool_of_the_contract_is_there_annotated_and_short(bench: Bench) -> None:
    """Their schemas may stand in every agent's prefix, so their size is bounded."""
    async with Client(bench.server()) as client:
        tools = (await client.list_tools()).tools
    assert {tool.name for tool in tools} == CONTRACT | {"gate"}
    for tool in tools:
        assert tool.description
        assert tool.annotations is not None, tool.name
        assert tool.name == "gate" or tool.output_schema is not None
    described = sum(len(json.dumps([t.name, t.description, t.input_schema])) for t in tools)
    assert described < 9000


async def test_a_reservation_takes_tokens_and_its_settlement_corrects_them(bench: Bench) -> None:
    bench.tell(60_000, 60_000)
    async with Client(bench.server()) as client:
        got = await called(client, "reserve_budget", input_tokens=20_000, model=MODEL)
        assert got["granted"]
        held = bench.ledger().families[FAMILY].buckets["input"].level
        settled = await called(
            client, "settle_budget", reservation=got["reservation"], input_tokens=1_000
        )
        again = await called(
            client, "settle_budget", reservation=got["reservation"], input_tokens=1_000
        )
    assert settled["settled"]
    assert not again["settled"]
    assert bench.ledger().families[FAMILY].buckets["input"].level - held >= 19_000


async def test_a_budget_that_is_not_there_in_time_is_refused_with_the_seconds_to_go(
    bench: Bench,
) -> None:
    bench.tell(60_000, 10_000)
    async with Client(bench.server()) as client:
        await called(client, "reserve_budget", input_tokens=9_600, model=MODEL)
        got = await called(
            client, "reserve_budget", input_tokens=9_000, model=MODEL, wait_seconds=0
        )
        assert not got["granted"]
        assert 5 <= got["wait_s"] <= 10
        for _ in range(50):
            if not bench.ledger().tickets:
                break
            await asyncio.sleep(0.05)
    assert not bench.ledger().tickets


async def test_a_reported_refusal_teaches_the_limit_and_tells_how_long_to_wait(
    bench: Bench,
) -> None:
    """[P4] [§6 throttle]"""
    async with Client(bench.server()) as client:
        told = await called(client, "report_rate_limit", status=429, body=THROTTLE, model=MODEL)
        status = await called(client, "budget_status")
    assert (told["cause"], told["limit"], told["retryable"]) == ("throttle", 30_000, True)
    assert told["wait_s"] > 0
    (row,) = [row for row in status["buckets"] if row["dimension"] == "input"]
    assert (row["limit"], row["source"]) == (30_000, "text")


async def test_a_reported_quota_closes_the_account_until_its_reset(bench: Bench) -> None:
    """[§6 quota]"""
    reset = int(time.time()) + 3600
    headers = {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-5h-status": "rejected",
        "anthropic-ratelimit-unified-5h-reset": str(reset),
        "anthropic-ratelimit-unified-reset": str(reset),
    }
    async with Client(bench.server()) as client:
        told = await called(client, "report_rate_limit", status=429, headers=headers, model=MODEL)
        status = await called(client, "budget_status")
        waits = await called(client, "reserve_budget", input_tokens=10, wait_seconds=0, model=MODEL)
    assert told["cause"] == "quota"
    assert abs(status["closed_until"] - reset) <= 2
    assert not waits["granted"]


async def test_what_is_no_refusal_is_told_so(bench: Bench) -> None:
    async with Client(bench.server()) as client:
        told = await called(client, "report_rate_limit", status=200, body="{}")
    assert told["cause"] == "none"
    assert not told["retryable"]


async def test_a_spend_limit_is_never_retried(bench: Bench) -> None:
    """[§6 spend]"""
    body = {
        "type": "error",
        "error": {
            "type": "rate_limit_error",
            "message": "spend limit",
            "details": {"error_code": "enforced_spend_limit_reached"},
        },
    }
    async with Client(bench.server()) as client:
        told = await called(client, "report_rate_limit", status=429, body=json.dumps(body))
    assert (told["cause"], told["retryable"]) == ("spend", False)


async def test_the_agent_that_calls_is_found_by_its_tool_use(bench: Bench) -> None:
    agent = "a0123456789abcdef"
    bench.log(t=1.0, e="tool.before", agent=agent, tool="mcp", id="toolu_7", tokens=1)
    async with Client(bench.server()) as client:
        result = await client.call_tool(
            "budget_status",
            {},
            meta={"claudecode/toolUseId": "toolu_7"},  # type: ignore[arg-type]  # others' keys
        )
    assert result.structured_content is not None
    assert result.structured_content["agent"] == agent


async def test_a_call_that_stands_in_another_sessions_log_tells_which_session_it_is_now(
    bench: Bench,
) -> None:
    """[P5] After ``/clear``: a manifest of the session before would be the wrong one."""
    new, agent = SESSION[::-1], "a0123456789abcdef"
    paths.make_private(paths.session_dir(bench.state, new))
    log = paths.events_file(bench.state, new)
    line = {"t": 2.0, "e": "tool.before", "agent": agent, "tool": "mcp", "id": "toolu_8"}
    jsonl.append(log, line)
    async with Client(bench.server()) as client:
        for tool_use, caller in (("toolu_none", ""), ("../toolu_8", ""), ("toolu_8", agent)):
            meta: Any = {"claudecode/toolUseId": tool_use}
            result = await client.call_tool("budget_status", {}, meta=meta)
            assert result.structured_content is not None
            assert result.structured_content["agent"] == caller
        await called(client, "reserve_budget", input_tokens=10, model=MODEL)
    assert any(row.session == new for row in bench.ledger().reservations.values())


async def test_a_session_without_a_fan_out_is_complete_and_has_nothing_to_requeue(
    bench: Bench,
) -> None:
    bench.transcript()
    async with Client(bench.server()) as client:
        manifest = await called(client, "run_manifest")
        tickets = await called(client, "requeue_dropped")
    assert (manifest["runs"], manifest["verdict"]) == ([], "complete")
    assert tickets["tickets"] == []


async def test_a_fan_out_is_planned_at_the_believed_limit(bench: Bench) -> None:
    bench.tell(60_000, 60_000)
    work = bench.home / "work"
    work.mkdir()
    for name in ("a.py", "b.py", "c.py"):
        (work / name).write_text("value = compute(first, second)\n" * 1500, encoding="utf-8")
    async with Client(bench.server()) as client:
        told = await called(client, "plan_fanout", paths=["*.py"], agents=3, model=MODEL)
        nothing = await called(client, "plan_fanout", paths=["none/*.py"], model=MODEL)
    plan = told["plan"]
    assert [agent["files"] for agent in plan["agents"]] == [1, 1, 1]
    assert plan["low"] <= plan["tokens"] <= plan["high"]
    assert plan["least_s"] is not None
    assert len(nothing["plan"]["unreadable"]) == 1
    assert "check them" in nothing["advice"]
    assert "check them" not in told["advice"]


async def test_the_resources_tell_the_budget_and_the_manifest_as_json(bench: Bench) -> None:
    bench.tell(60_000, 10_000)
    async with Client(bench.server()) as client:
        budget = await client.read_resource("paceline://budget")
        manifest = await client.read_resource(f"paceline://manifest/{SESSION}")
    assert json.loads(budget.contents[0].text)["account"]  # type: ignore[union-attr]
    assert json.loads(manifest.contents[0].text)["runs"] == []  # type: ignore[union-attr]


@pytest.mark.parametrize("tokens", [-1, 10_000_001])
async def test_an_impossible_size_is_refused(bench: Bench, tokens: int) -> None:
    async with Client(bench.server()) as client:
        result = await client.call_tool("reserve_budget", {"input_tokens": tokens})
    assert result.is_error
