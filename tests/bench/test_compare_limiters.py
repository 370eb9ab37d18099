"""Generic limiters on virtual time: the real libraries, doing what they are for and no more."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline_bench.compare.__main__ import main
from paceline_bench.compare.generic import AioLimiter, PyrateLimiter
from paceline_bench.compare.loop import run
from paceline_bench.compare.rows import LIMITERS, SCENARIOS, play_generic
from paceline_bench.simulate import Scenario, play_alone, play_paced
from paceline_bench.simulate.timeline import START

if TYPE_CHECKING:
    from collections.abc import Callable

    from paceline_bench.compare.generic import Limiter
    from paceline_bench.compare.loop import LoopClock
    from paceline_bench.compare.rows import Row

EITHER = pytest.mark.parametrize("limiter", [AioLimiter, PyrateLimiter])


def test_virtual_time_jumps_over_every_wait() -> None:
    async def sleeps(clock: LoopClock) -> tuple[float, list[str]]:
        seen: list[str] = []
        clock.at(START + 7_200.0, seen.append, "two hours")
        clock.at(START + 3_600.0, seen.append, "one hour")
        await asyncio.gather(*(asyncio.sleep(86_400.0) for _ in range(50)))
        return clock.now, seen

    now, seen = run(sleeps)
    assert now == pytest.approx(START + 86_400.0, abs=0.01)
    assert seen == ["one hour", "two hours"]


def test_a_loop_on_which_everybody_waits_for_ever_says_so() -> None:
    async def waits(clock: LoopClock) -> None:
        await clock.stopped()

    with pytest.raises(RuntimeError, match="everybody waits for ever"):
        run(waits)


@EITHER
@settings(deadline=None, max_examples=15)
@given(costs=st.lists(st.integers(1, 60_000), min_size=1, max_size=25))
def test_a_limiter_lets_no_more_go_than_the_bucket_it_was_told(
    limiter: Callable[[float, float], Limiter], costs: list[int]
) -> None:
    """It is used as its documentation says: rate, capacity, and a weight for each request."""
    itpm, capacity = 240_000.0, 60_000.0

    async def main(clock: LoopClock) -> list[tuple[float, int]]:
        bucket = limiter(itpm, capacity)
        went: list[tuple[float, int]] = []

        async def one(cost: int) -> None:
            await bucket.acquire(cost)
            went.append((clock.now, cost))

        await asyncio.gather(*(one(cost) for cost in costs))
        return went

    went = run(main)
    assert sorted(cost for _, cost in went) == sorted(costs)
    left, last = capacity, START
    for at, cost in went:
        left = min(capacity, left + itpm / 60.0 * (at - last)) - cost
        last = at
        assert left >= -itpm / 60.0 * 0.01, "ahead of its bucket by more than ten milliseconds"
    least = max(0.0, sum(costs) - capacity) / (itpm / 60.0)
    slack = 0.1 * len(costs) + 0.1
    assert went[-1][0] - START <= least + slack, "slower than its bucket"


@EITHER
def test_with_one_process_and_good_estimates_a_limiter_is_mostly_not_refused(
    limiter: Callable[[float, float], Limiter],
) -> None:
    """The comparison is a fair one: it gets the costs the ledger itself would reserve."""
    scenario = SCENARIOS["agents"][2]
    played = play_generic(scenario, "limiter", limiter)
    assert played.counts.dropped == 0
    assert played.counts.refusals <= 3


@EITHER
def test_two_processes_with_a_limiter_each_are_refused(
    limiter: Callable[[float, float], Limiter],
) -> None:
    """Neither knows of the other: together they spend twice the limit. One ledger does. [P8]"""
    scenario = SCENARIOS["sessions"][2]
    played = play_generic(scenario, "limiter", limiter)
    assert played.counts.dropped > 0
    paced = play_paced(replace(scenario, told="set"))
    assert paced.counts.dropped == 0
    assert paced.counts.refusals == 0


@EITHER
def test_a_limiter_without_a_limit_in_the_way_changes_nothing(
    limiter: Callable[[float, float], Limiter],
) -> None:
    """The world is the same on either clock."""
    free = Scenario(sessions=(5,), stagger_s=0.0).unlimited()
    played, alone = play_generic(free, "limiter", limiter), play_alone(free)
    assert played.counts.delivered == alone.counts.delivered == 5
    assert played.counts.uncached_tokens == alone.counts.uncached_tokens
    assert played.counts.span_s == pytest.approx(alone.counts.span_s, rel=0.05)


def test_paceline_is_ahead_of_each_peer_in_every_scenario(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All delivered, nothing else to tune, and never more tokens or time. [P1] [P2] [P3]"""
    assert main(["--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    for name in SCENARIOS:
        mine = [row for row in rows if row["scenario"] == name]
        ours = [row for row in mine if row["pacing"] == "Paceline"]
        assert {row["pacing"] for row in mine} >= {"Paceline", *LIMITERS}
        assert len(ours) == 2
        assert all(row["delivered"] == row["launched"] for row in ours)
        known = next(row for row in ours if row["told"] != "nothing")
        assert known["ratio"] <= 1.05
        for peer in (row for row in mine if row["pacing"] != "Paceline"):
            if peer["delivered"] == peer["launched"]:
                assert known["span_s"] <= peer["span_s"]
                assert known["tokens"] <= peer["tokens"]
            assert known["refusals"] <= peer["refusals"]


def test_the_tables_for_the_page_hold_a_row_for_each_pacing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["agents", "--markdown", "--seed", "2"]) == 0
    out = capsys.readouterr().out
    lines = [line for line in out.splitlines() if line.startswith("| ")]
    assert len(lines) == 1 + 3 + len(LIMITERS) + 2
    assert all(line.count("|") == 8 for line in lines)
    assert "seed 2" in out


def test_an_unknown_scenario_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["agents", "nothing"])
    assert stopped.value.code == 2
    assert "no scenario is called 'nothing'" in capsys.readouterr().err


def test_a_row_can_be_written_as_json() -> None:
    from paceline_bench.compare import compared

    row: Row = next(iter(compared(["agents"], 1)))
    assert json.loads(json.dumps(row.to_json()))["scenario"] == "agents"
