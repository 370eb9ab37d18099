"""The gate's conversation with its server, over MCP in one process."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp import Client

from gate_talk import FAMILY, MODEL, SESSION, called, gate
from paceline import jsonl, paths
from paceline.errors import StateError
from paceline.ledger.admit import enqueue, tick
from paceline.ledger.store import FileStore
from paceline.ledger.values import NEW
from paceline.ledger.verdicts import Grant, Policy
from paceline_mcp.broker import Desk, evidence
from paceline_mcp.broker import gate as gate_module

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gate_talk import Bench
    from paceline.ledger.values import Ledger

pytestmark = pytest.mark.anyio

AGENT = "a0123456789abcdef"
SECONDS = 30.0
THROTTLED = {
    "type": "assistant",
    "isSidechain": True,
    "agentId": AGENT,
    "isApiErrorMessage": True,
    "apiErrorStatus": 429,
    "error": "rate_limit",
    "message": {
        "role": "assistant",
        "model": "<synthetic>",
        "content": [
            {
                "type": "text",
                "text": "API Error: Request rejected (429) · This request would exceed your "
                "organization's rate limit of 60,000 input tokens per minute",
            }
        ],
    },
}


def stamped(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z")}


async def test_a_request_is_reserved_before_it_goes_and_settled_with_what_it_used(
    bench: Bench,
) -> None:
    bench.tell(240_000, 60_000)
    async with Client(bench.server()) as client:
        pass_ = await gate(client, op="ask", call="c1", agent=AGENT, model=MODEL, index=0)
        held = bench.ledger().reservations[pass_["id"]]
        assert held.amounts["input"] > 1000
        usage = {"input_tokens": 10, "cache_creation_input_tokens": 500, "output_tokens": 20}
        await gate(client, op="done", id=pass_["id"], usage=usage)
        ledger = bench.ledger()
    assert not ledger.reservations
    assert ledger.totals.taken == ledger.totals.settled
    level = ledger.families[FAMILY].buckets["input"].level
    assert 60_000 * 0.96 - 510 <= level <= 60_000 * 0.96
    (settled,) = bench.events("request.settle")
    assert (settled["input"], settled["cache_creation"]) == (10, 500)


async def test_a_hold_is_answered_in_slices_and_the_same_call_is_granted_later(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[P2] The wait is the server's; the gate only asks again."""
    monkeypatch.setattr(gate_module, "SLICE_S", 0.05)
    bench.tell(60_000, 10_000)
    async with Client(bench.server()) as client:
        first = await gate(client, op="ask", call="c1", agent=AGENT, model=MODEL, index=0)
        usage = {"cache_creation_input_tokens": 14_000}
        await gate(client, op="done", id=first["id"], usage=usage)
        answers = []
        async with asyncio.timeout(SECONDS):
            while True:
                asked = {"call": "c2", "agent": AGENT, "model": MODEL, "index": 1}
                answer = await gate(client, op="ask", **asked)
                answers.append(answer)
                if not answer.get("wait"):
                    break
    assert len(answers) > 1
    assert answers[-1]["id"]
    assert len(bench.events("request.wait")) == 1
    assert bench.events("request.grant")[-1]["waited"] > 0


async def test_a_hold_is_told_of_before_a_client_of_little_patience_gives_up(bench: Bench) -> None:
    """[P7] Each answer came too late with ``MCP_TOOL_TIMEOUT`` set, and nobody was paced."""
    bench.tell(60_000, 10_000)
    told = {"op": "ask", "agent": AGENT, "model": MODEL}
    async with Client(bench.server(MCP_TOOL_TIMEOUT="1000")) as client:
        first = await gate(client, call="c1", index=0, **told)
        await gate(client, op="done", id=first["id"], usage={"input_tokens": 20_000})
        for _ in range(2):
            answer = await asyncio.wait_for(gate(client, call="c2", index=1, **told), 10.0)
            assert answer["wait"]


async def test_a_throttled_request_is_sent_again_and_the_number_in_its_text_is_believed(
    bench: Bench,
) -> None:
    """[P1] [P4] [§6 throttle] The agent lives on; the next request is paced by the number."""
    bench.transcript()
    async with Client(bench.server()) as client:
        pass_ = await gate(client, op="ask", call="c1", agent=AGENT, model=MODEL, index=0)
        bench.agent_row(AGENT, stamped(THROTTLED))
        answer = await gate(client, op="refused", id=pass_["id"], attempt=0)
        limits = bench.ledger().families[FAMILY].buckets["input"]
    assert answer == {"again": True}
    assert (limits.limit, limits.source) == (60_000, "text")
    (refused,) = bench.events("request.refused")
    assert (refused["cause"], refused["limit"]) == ("throttle", 60_000)
    assert len(bench.events("request.revived")) == 1


@pytest.mark.parametrize(
    ("said", "cause", "told"),
    [
        ("API Error: Request rejected (429) · Rate limited", "throttle", {"again": True}),
        ("API Error: 529 Overloaded", "overload", {"again": True, "own": True}),
        ("API Error: 401 invalid x-api-key", "auth", {"again": False}),
        ("You've hit your 5-hour limit · resets 5:49pm (UTC)", "quota", {"again": True}),
    ],
)
async def test_where_no_transcript_is_kept_the_clients_own_words_tell_why(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, said: str, cause: str, told: dict[str, bool]
) -> None:
    """[P1] ``claude -p --no-session-persistence``: no agent may die of its first refusal there."""
    monkeypatch.setattr(evidence, "PATIENCE_S", float("inf"))
    bench.log(t=1.0, e="session.start", agent=None, transcript=str(bench.home / "none"), cwd="/p")
    async with Client(bench.server(PACELINE_PARK_MAX="48h")) as client, asyncio.timeout(SECONDS):
        pass_ = await gate(client, op="ask", call="c1", agent=AGENT, model=MODEL, index=0)
        answer = await gate(client, op="refused", id=pass_["id"], attempt=0, said=said)
    assert answer == told
    assert [line["cause"] for line in bench.events("request.refused")] == [cause]


async def test_a_turns_next_request_ends_the_one_before_it(bench: Bench) -> None:
    """[I2] A client that falls back on another model never says how the last one ended.

    Renewed for ever, it would be a probe that everybody waits for in vain.
    """
    async with Client(bench.server()) as client:

        async def asks(call: str, turn: str, model: str = MODEL, index: int = 1) -> str:
            told = {"agent": AGENT, "turn": turn, "model": model, "index": index}
            return str((await gate(client, op="ask", call=call, **told))["id"])

        first, other = await asks("c1", "t1"), await asks("c2", "t2")
        second = await asks("c3", "t1", "claude-haiku-5", 2)
        assert set(bench.ledger().reservations) == {other, second}
        await gate(client, op="done", id=first, usage={"input_tokens": 5})
    assert [line["id"] for line in bench.events("request.release")] == [first]


async def test_a_session_that_falls_back_on_another_model_does_not_wait_for_the_overloaded_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[P7] [§6 overload] Each agent has to be refused by itself before its client falls back."""
    monkeypatch.setattr(gate_module, "FIRST_SLICE_S", 0.3)
    monkeypatch.setattr(gate_module, "SLICE_S", 0.3)
    said = "API Error: 529 Overloaded"
    bench.log(t=1.0, e="session.start", agent=None, transcript=str(bench.home / "none"), cwd="/p")
    async with Client(bench.server()) as client, asyncio.timeout(SECONDS):

        async def asks(call: str, turn: str, model: str = MODEL) -> dict[str, Any]:
            told = {"agent": AGENT, "turn": turn, "model": model, "index": 1}
            return await gate(client, op="ask", call=call, **told)

        first = await asks("c1", "t1")
        told = await gate(client, op="refused", id=first["id"], attempt=0, said=said)
        assert told == {"again": True, "own": True}
        while not (again := await asks("c2", "t1")).get("id"):
            assert again["wait"], "nobody knows yet that there is another model"
        assert "own" not in again
        await asks("c3", "t1", "claude-haiku-5")
        while not (other := await asks("c4", "t2")).get("id"):
            assert other["wait"]
        await gate(client, op="refused", id=other["id"], attempt=0, said=said)
        while not (freed := await asks("c5", "t3")).get("id"):
            assert freed["wait"]
    assert (bool(freed["id"]), freed["own"]) == (True, True)


async def test_where_a_transcript_is_kept_its_row_tells_more_than_its_text(bench: Bench) -> None:
    """A row has the fields; the text is the last resort."""
    bench.transcript()
    async with Client(bench.server()) as client:
        pass_ = await gate(client, op="ask", call="c1", agent=AGENT, model=MODEL, index=0)
        bench.agent_row(AGENT, stamped(THROTTLED))
        await gate(client, op="refused", id=pass_["id"], attempt=0, said="API Error: 529 Over")
    assert [line["cause"] for line in bench.events("request.refused")] == ["throttle"]


async def test_a_row_that_is_written_late_is_waited_for(bench: Bench) -> None:
    bench.transcript()
    async with Client(bench.server()) as client:
        pass_ = await gate(client, op="ask", call="c1", agent=AGENT, model=MODEL, index=0)
        asking = asyncio.create_task(gate(client, op="refused", id=pass_["id"], attempt=0))
        await asyncio.sleep(0)  # it asks before the row is there
        bench.agent_row(AGENT, stamped(THROTTLED))
        assert await asyncio.wait_for(asking, SECONDS) == {"again": True}


@pytest.mark.parametrize(
    ("status", "error", "text"),
    [
        (401, "authentication_failed", "API Error: 401 invalid x-api-key"),
        (400, "invalid_request", "API Error: 400 messages: at least one is required"),
    ],
)
async def test_what_waiting_cannot_help_is_not_sent_again(
    bench: Bench, status: int, error: str, text: str
) -> None:
    """[§6 auth] [§6 invalid]"""
    bench.transcript()
    row = {**THROTTLED, "apiErrorStatus": status, "error": error}
    row["message"] = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    async with Client(bench.server()) as client:
        pass_ = await gate(client, op="ask", call="c1", agent=AGENT, model=MODEL, index=0)
        bench.agent_row(AGENT, stamped(row))
        assert await gate(client, op="refused", id=pass_["id"], attempt=0) == {"again": False}
    assert not bench.ledger().reservations


async def test_a_request_that_was_cut_off_is_given_back_and_not_sent_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person interrupted: no error row stands in the transcript, nothing was refused."""
    monkeypatch.setattr(evidence, "PATIENCE_S", 0.05)
    bench.transcript()
    bench.agent_row(AGENT, {"type": "user", "message": {"role": "user", "content": "go"}})
    async with Client(bench.server()) as client:
        pass_ = await gate(client, op="ask", call="c1", agent=AGENT, model=MODEL, index=0)
        assert await gate(client, op="refused", id=pass_["id"], attempt=0) == {"again": False}
    assert not bench.ledger().reservations
    assert not bench.events("request.refused")


async def test_a_revived_request_costs_again_all_that_it_carries(bench: Bench) -> None:
    """What tools brought in before the refused request is still to be sent."""
    bench.transcript()
    bench.log(t=time.time(), e="agent.start", agent=AGENT, type="general-purpose")
    async with Client(bench.server()) as client:
        first = await gate(client, op="ask", call="c1", agent=AGENT, model=MODEL, index=0)
        await gate(client, op="done", id=first["id"], usage={"input_tokens": 5000})
        bench.log(t=time.time(), e="batch", agent=AGENT, ids=["toolu_1"], tokens=20_000)
        second = await gate(client, op="ask", call="c2", agent=AGENT, model=MODEL, index=1)
        bench.agent_row(AGENT, stamped(THROTTLED))
        await gate(client, op="refused", id=second["id"], attempt=0)
        bench.tell(6_000_000, 6_000_000)
        third = await gate(client, op="ask", call="c3", agent=AGENT, model=MODEL, index=1)
        cost = bench.ledger().reservations[third["id"]].amounts["input"]
    assert cost >= 20_000


async def test_a_gate_that_comes_late_takes_over_what_a_hook_reserved(bench: Bench) -> None:
    """One request is paced by one layer: it is not reserved twice, and costs what it carries."""
    bench.tell(240_000, 60_000)
    bench.log(t=time.time(), e="request.settle", agent=AGENT, id="r0", input=5, output=5)
    bench.log(t=time.time(), e="batch", agent=AGENT, ids=["toolu_1"], tokens=20_000)

    def reserve(ledger: Any, now: float) -> str:
        asked: dict[str, Any] = {"ticket": "h1", "family": FAMILY, "agent": AGENT}
        asked["session"] = SESSION
        enqueue(ledger, cls="new", amounts={"input": 20_000}, now=now, **asked)
        return str(tick(ledger, ["h1"], now, Policy())["h1"].reservation)  # type: ignore[union-attr]

    held = bench.store.transact(reserve)
    bench.log(t=time.time(), e="request.grant", agent=AGENT, id=held, by="hook")
    async with Client(bench.server()) as client:
        asked = {"call": "c1", "agent": AGENT, "model": MODEL, "index": 1}
        pass_ = await asyncio.wait_for(gate(client, op="ask", **asked), SECONDS)
        ledger = bench.ledger()
    assert list(ledger.reservations) == [pass_["id"]]
    assert ledger.reservations[pass_["id"]].amounts["input"] >= 20_000


async def test_many_waiting_calls_are_one_transaction_a_tick(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_module, "SLICE_S", 0.2)
    bench.tell(60_000, 10_000)
    transactions = 0
    plain = type(bench.store).transact

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal transactions
        transactions += 1
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(type(bench.store), "transact", counted)
    async with Client(bench.server()) as client:
        asks = [
            gate(client, op="ask", call=f"c{n}", agent=f"a{n:016x}", model=MODEL, index=0)
            for n in range(40)
        ]
        answers = await asyncio.wait_for(asyncio.gather(*asks), SECONDS)
    assert sum(bool(answer.get("wait")) for answer in answers) >= 30
    assert transactions < 20


async def holds(bench: Bench, so: Callable[[set[str]], bool]) -> None:
    """Wait until the ledger holds reservations like ``so``; the caller bounds it."""
    while not so(set(bench.ledger().reservations)):  # noqa: ASYNC110 - another process' file
        await asyncio.sleep(0.01)


async def overdraw(client: Any) -> None:
    """Let one request take more than the bucket holds: the next ones have to wait."""
    first = await gate(client, op="ask", call="c1", agent=AGENT, model=MODEL, index=0)
    await gate(client, op="done", id=first["id"], usage={"input_tokens": 20_000})


async def test_who_is_interrupted_while_it_waits_stands_in_nobodys_way_for_long(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[I2] [P7] A person who stops a fan-out and starts another one waited behind the first."""
    monkeypatch.setattr(gate_module, "GONE_S", 0.1)
    monkeypatch.setattr(gate_module, "FORGET_S", 1_000.0)
    bench.tell(60_000, 10_000)
    told = {"op": "ask", "agent": AGENT, "model": MODEL}
    async with Client(bench.server()) as client, asyncio.timeout(SECONDS):
        await overdraw(client)
        assert (await gate(client, call="c2", index=1, **told))["wait"]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(gate(client, call="c2", index=1, **told), 1.0)
        assert bench.ledger().tickets
        while bench.ledger().tickets:  # noqa: ASYNC110 - another process' file
            await asyncio.sleep(0.01)


async def test_a_grant_that_nobody_comes_for_is_given_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[I2] Whoever waited was interrupted meanwhile; renewed for ever, its tokens were lost."""
    monkeypatch.setattr(gate_module, "FIRST_SLICE_S", 0.1)
    monkeypatch.setattr(gate_module, "FORGET_S", 4.0)
    bench.tell(600_000, 10_000)
    told = {"op": "ask", "agent": AGENT, "model": MODEL}
    async with Client(bench.server()) as client, asyncio.timeout(SECONDS):
        await overdraw(client)
        assert (await gate(client, call="c2", index=1, **told))["wait"]
        await holds(bench, lambda ids: len(ids) == 1)
        await holds(bench, lambda ids: not ids)
        totals = bench.ledger().totals
    assert totals.released > 0


async def test_a_ledger_that_cannot_be_used_holds_nobody(bench: Bench) -> None:
    """[P7] The state folder is a file: everybody goes at once, with nothing to settle."""
    (bench.home / "state").write_text("in the way", encoding="utf-8")
    async with Client(bench.server()) as client:
        answer = await gate(client, op="ask", call="c1", agent=AGENT, model=MODEL, index=0)
        status = await called(client, "budget_status")
    assert (answer["id"], answer["unpaced"]) == ("", True)
    assert "set" not in answer, "the client's own retries are all there is"
    assert status["buckets"] == []


async def test_that_the_ledger_cannot_be_used_is_said_once_until_it_can_be(bench: Bench) -> None:
    """[P7] To the person under the prompt, and to ``doctor``; a refused request goes once more."""
    ledgers = bench.home / "ledgers"
    ask = {"op": "ask", "agent": AGENT, "model": MODEL, "index": 0}
    async with Client(bench.server(PACELINE_LEDGER=str(ledgers))) as client:
        paced = await gate(client, call="c1", **ask)
        ledgers.rename(bench.home / "elsewhere")
        ledgers.write_text("in the way", encoding="utf-8")
        bench.transcript()
        bench.agent_row(AGENT, stamped(THROTTLED))
        again = await gate(client, op="refused", id=paced["id"], attempt=0)
        answers = [await gate(client, call=f"c{n}", **ask) for n in (2, 3)]
        ledgers.unlink()
        back = await gate(client, call="c4", **ask)
    assert again == {"again": True}
    assert "paceline doctor" in answers[0].pop("note")
    assert answers == [{"id": "", "unpaced": True}] * 2
    assert (bool(back["id"]), back["note"], "set" in back) == (True, "", True)
    (fault,) = bench.events("fault")
    assert (fault["where"], str(ledgers) in fault["what"]) == ("gate", True)


async def test_a_bug_in_a_transaction_lets_everybody_go_and_the_desk_goes_on(
    tmp_path: Path,
) -> None:
    """[P7] Where the loop died of it, every later request would wait for ever."""

    def bug(ledger: Ledger, now: float) -> None:
        raise ZeroDivisionError

    asked: dict[str, Any] = {"family": FAMILY, "session": "s1", "agent": AGENT, "cls": NEW}
    asked["amounts"] = {"input": 100.0}
    async with Desk(FileStore(str(tmp_path), "a"), Policy()) as desk, asyncio.timeout(SECONDS):
        waits = asyncio.create_task(desk.ask("t1", asked))
        with pytest.raises(StateError, match="ZeroDivisionError"):
            await asyncio.gather(waits, desk.told(bug))
        assert await waits is None
        assert "ZeroDivisionError" in desk.fault
        assert isinstance(await desk.ask("t2", asked), Grant)
        assert desk.fault == ""


async def test_the_hooks_see_that_a_gate_is_alive_and_that_it_has_gone(bench: Bench) -> None:
    from paceline_hooks.presence import gate_alive

    async with Client(bench.server()) as client:
        assert not gate_alive(bench.state, SESSION, time.time())
        await gate(client, op="ask", call="c1", agent="", model=MODEL, index=0)
        assert gate_alive(bench.state, SESSION, time.time())
    assert not gate_alive(bench.state, SESSION, time.time())


async def test_a_cleared_session_goes_on_under_its_new_id(bench: Bench) -> None:
    """[P2] [P5] Hooks go by the new one: seeing no gate there, they paced all of it once more."""
    from paceline_hooks.presence import gate_alive

    new = SESSION[::-1]
    told = {"op": "ask", "model": MODEL, "agent": ""}
    async with Client(bench.server()) as client:
        await gate(client, call="c1", session=SESSION, index=0, **told)
        assert gate_alive(bench.state, SESSION, time.time())
        await gate(client, call="c2", session=new, index=0, **told)
        assert gate_alive(bench.state, new, time.time())
        assert not gate_alive(bench.state, SESSION, time.time())
        await gate(client, call="c3", session="../x", index=1, **told)
    lines, _ = jsonl.read(paths.events_file(bench.state, new))
    assert [line["e"] for line in lines if line["e"] == "request.grant"] == ["request.grant"] * 2
    assert len(bench.events("request.grant")) == 1


async def test_a_person_is_never_queued_behind_agents(bench: Bench) -> None:
    """[P7] [I5] The main thread goes at once with the bucket in debt."""
    bench.tell(60_000, 10_000)
    async with Client(bench.server()) as client:
        first = await gate(client, op="ask", call="c1", agent=AGENT, model=MODEL, index=0)
        usage = {"cache_creation_input_tokens": 50_000}
        await gate(client, op="done", id=first["id"], usage=usage)
        started = time.monotonic()
        asked = gate(client, op="ask", call="c2", agent="", model=MODEL, index=0)
        answer = await asyncio.wait_for(asked, gate_module.SLICE_S / 2)
    assert answer["id"]
    assert time.monotonic() - started < gate_module.SLICE_S


@pytest.mark.parametrize(("mode", "paced"), [("off", False), ("observe", True)])
async def test_a_mode_that_does_not_pace_holds_nobody_and_changes_no_variable(
    bench: Bench, mode: str, *, paced: bool
) -> None:
    bench.tell(60_000, 10_000)
    async with Client(bench.server(PACELINE_MODE=mode)) as client:
        for n in range(5):
            asked = {"call": f"c{n}", "agent": f"a{n:016x}", "model": MODEL, "index": 0}
            answer = await gate(client, op="ask", **asked)
            assert "wait" not in answer
            assert "set" not in answer
            assert bool(answer["id"]) is paced


async def test_a_server_that_goes_gives_back_what_its_requests_held(bench: Bench) -> None:
    """[I2]"""
    bench.tell(240_000, 60_000)
    async with Client(bench.server()) as client:
        await gate(client, op="ask", call="c1", agent=AGENT, model=MODEL, index=0)
        assert bench.ledger().reservations
    ledger = bench.ledger()
    assert not ledger.reservations
    assert not ledger.tickets
    assert ledger.totals.released == ledger.totals.taken > 0


@pytest.mark.parametrize(
    "usage", [{}, {"input_tokens": 0, "output_tokens": 7}, {"input_tokens": "9"}]
)
async def test_a_usage_of_no_input_at_all_is_taken_for_none(bench: Bench, usage: Any) -> None:
    """[I1] By way of a proxy that does not count: given back, the same tokens are spent twice."""
    bench.tell(240_000, 60_000)
    async with Client(bench.server()) as client:
        pass_ = await gate(client, op="ask", call="c1", agent=AGENT, model=MODEL, index=0)
        cost = bench.ledger().reservations[pass_["id"]].amounts["input"]
        await gate(client, op="done", id=pass_["id"], agent=AGENT, model=MODEL, usage=usage)
        ledger = bench.ledger()
    assert not ledger.reservations
    at_most = 60_000 * 0.96 - cost
    assert ledger.families[FAMILY].buckets["input"].level == pytest.approx(at_most, abs=2_000)
    assert not bench.events("request.settle")


async def test_what_a_killed_server_let_go_is_told_of_to_the_next_one(bench: Bench) -> None:
    """[P1] [I2] The client starts a server that was killed again, in the middle of a request."""
    bench.transcript()
    asked = {"op": "ask", "agent": AGENT, "model": MODEL, "index": 1}
    async with Client(bench.server()) as client:
        first = await gate(client, call="c1", **asked)
        second = await gate(client, call="c2", **asked)
        kept = await anyio.Path(bench.store.path).read_bytes()
    await anyio.Path(bench.store.path).write_bytes(kept)  # as one leaves it that is killed
    async with Client(bench.server()) as client:
        usage = {"cache_creation_input_tokens": 500, "output_tokens": 20}
        await gate(client, op="done", id=first["id"], agent=AGENT, model=MODEL, usage=usage)
        sent = time.time()
        bench.agent_row(AGENT, stamped(THROTTLED))
        told = {"agent": AGENT, "model": MODEL, "sent": sent, "attempt": 0}
        answer = await gate(client, op="refused", id=second["id"], **told)
        assert not bench.ledger().reservations
    assert answer == {"again": True}
    assert {line["agent"] for line in bench.events("request.settle")} == {AGENT}
    assert [line["agent"] for line in bench.events("request.refused")] == [AGENT]
