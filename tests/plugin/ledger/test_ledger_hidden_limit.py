"""A limit that nobody tells, on a virtual clock: found, followed, and never a reason to stop."""

from __future__ import annotations

import pytest

from paceline.ledger import refuse, settle, slots
from paceline.ledger.refuse import Refused
from paceline.ledger.values import MAIN, Ledger
from paceline.ledger.verdicts import Usage
from paceline_bench.hidden_limit import MIXES, Api, Found, Run
from strategies_ledger import EXACT, FAMILY, T0, ask, granted, take, tick


def _run(limit: float, capacity_s: float, mix: str, seed: int = 1, **more: object) -> Found:
    rate = limit / 60.0
    return Run(MIXES[mix], Api(rate, rate * capacity_s), seed=seed, **more).play()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limit", "capacity_s", "mix"),
    [
        (30_000.0, 15.0, "small"),
        (60_000.0, 60.0, "mixed"),
        (240_000.0, 15.0, "small"),
        (240_000.0, 30.0, "reads"),
        (240_000.0, 60.0, "mixed"),
        (1_000_000.0, 30.0, "mixed"),
    ],
)
def test_a_hidden_limit_is_used_and_hardly_ever_exceeded(
    limit: float, capacity_s: float, mix: str
) -> None:
    """From the second minute on: 85 % of it used, 2 % of the requests refused. [I10] [P4]"""
    runs = [_run(limit, capacity_s, mix, seed) for seed in (1, 2)]
    sent = sum(run.requests for run in runs)
    refused = sum(run.refused * run.requests for run in runs)
    assert min(run.used for run in runs) >= 0.85
    assert refused <= max(0.02 * sent, 2.0)
    assert [run.lost for run in runs] == [0, 0]
    assert max(run.longest_wait for run in runs) < 240.0


def test_a_hidden_limit_is_found_by_requests_that_are_most_of_its_bucket() -> None:
    """Two a minute, each a third to all of the bucket: 3 % of an hour's are refused at most. [I10]

    2 % is not to be had: with the limit told and estimates off by 6 % it is 0.8 %, and one refusal
    more is what a bound of 7 % costs after the second minute (docs/benchmarks.md).
    """
    runs = [_run(30_000.0, 60.0, "large", seed, minutes=60.0) for seed in range(1, 9)]
    sent = sum(run.requests for run in runs)
    assert sum(run.refused * run.requests for run in runs) <= 0.03 * sent
    assert min(run.used for run in runs) >= 0.85
    assert [run.lost for run in runs] == [0] * len(runs)


@pytest.mark.parametrize("mix", ["small", "mixed"])
def test_a_limit_that_others_ate_up_for_minutes_is_found_again_soon(mix: str) -> None:
    """[I10] another tenant stops; the pace of its time is not remembered as the limit."""
    changes = [(180.0, 0.02), (360.0, 1.0)]
    run = _run(240_000.0, 30.0, mix, minutes=12.0, demand=6.0, changes=changes)
    assert max(run.minutes[4:6]) < 0.1
    assert sum(run.minutes[9:12]) / 3 >= 0.7
    assert run.lost == 0


def test_a_limit_that_was_raised_is_found_again() -> None:
    run = _run(240_000.0, 30.0, "mixed", minutes=10.0, demand=6.0, changes=[(180.0, 2.0)])
    assert sum(run.minutes[7:10]) / 3 >= 0.85


def test_a_limit_that_was_lowered_is_kept_within_a_minute() -> None:
    run = _run(240_000.0, 30.0, "mixed", minutes=10.0, demand=6.0, changes=[(180.0, 1 / 3)])
    assert 0.85 <= sum(run.minutes[5:10]) / 5 <= 1.1
    assert run.refused * run.requests <= 15


def test_a_limit_that_nobody_told_and_nothing_refused_paces_nobody() -> None:
    """[I10] an unknown limit starts unpaced."""
    ledger = Ledger(clock=T0)
    for i in range(200):
        ask(ledger, f"a{i}", T0, slots.LARGE)
    assert len(granted(tick(ledger, T0))) == 200


def test_a_throttle_cuts_the_rate_to_what_was_achieved() -> None:
    """[I10] multiplicatively, from what was really accepted, and once for one burst."""
    ledger = Ledger(clock=T0)
    grants = [take(ledger, f"a{i}", T0 + i, 3_000.0) for i in range(30)]
    for grant in grants[:20]:
        settle.settle(ledger, grant.reservation, Usage(3_000.0), T0 + 30.0, EXACT)
    paces = []
    for grant in grants[-4:]:
        told = Refused("throttle")
        refuse.refuse(ledger, FAMILY, told, T0 + 30.5, EXACT, reservation_id=grant.reservation)
        paces.append(ledger.families[FAMILY].learner.pace)
    assert paces[0] is not None
    assert 2_000.0 <= paces[0] <= 3_100.0
    assert len(set(paces)) == 1


@pytest.mark.parametrize("debt", [0.0, 900_000.0])
def test_one_request_at_a_time_goes_however_low_a_learned_rate_and_however_deep_its_debt(
    debt: float,
) -> None:
    """[I10] a belief out of refusals alone never stops an account for longer than two minutes."""
    ledger = Ledger(clock=T0)
    now = T0
    for i in range(12):  # refused and refused again, a little each time
        now += 5.0
        grant = take(ledger, f"a{i}", now, 300.0, cls=MAIN)
        told = Refused("throttle")
        refuse.refuse(ledger, FAMILY, told, now, EXACT, reservation_id=grant.reservation)
    if debt:
        main = take(ledger, "main", now, debt, cls=MAIN)
        settle.settle(ledger, main.reservation, Usage(debt), now, EXACT)
    for turn in range(3):
        asked = now
        while True:
            ask(ledger, f"agent{turn}", now, 25_000.0)
            mine = granted(tick(ledger, now))
            if mine:
                break
            now += 1.0
            assert now - asked <= 125.0
        settle.settle(ledger, mine[f"agent{turn}"].reservation, Usage(25_000.0), now, EXACT)


def test_a_refusal_that_another_layer_met_teaches_no_rate() -> None:
    """Nobody knows its size: a rate made of it would be none."""
    ledger = Ledger(clock=T0)
    take(ledger, "a", T0, 50_000.0)
    for second in range(5):
        refuse.refuse(ledger, FAMILY, Refused("throttle"), T0 + second, EXACT)
    pace = ledger.families[FAMILY].learner.pace
    assert pace is None or pace >= 500.0
