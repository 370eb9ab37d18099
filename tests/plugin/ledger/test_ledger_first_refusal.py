"""What happens when the very first request is refused: nothing is known of the rate."""

from __future__ import annotations

from typing import Any

import pytest

from paceline.ledger import admit, learn, refuse, settle
from paceline.ledger.refuse import Refused
from paceline.ledger.values import Learner, Ledger
from paceline.ledger.verdicts import Grant, Policy, Usage, Wait

T0 = 1789041600.0
POLICY = Policy()
COST, SMALL = 9000.0, 5000.0


def ask(ledger: Ledger, name: str, now: float, cost: float = COST) -> Grant | Wait:
    asked: dict[str, Any] = {"family": "opus-5", "session": "s", "agent": name}
    admit.enqueue(ledger, ticket=name, cls="new", amounts={"input": cost}, now=now, **asked)
    verdict = admit.tick(ledger, [name], now, POLICY)[name]
    assert isinstance(verdict, Grant | Wait)
    return verdict


def test_a_first_request_that_is_refused_is_tried_again_in_seconds_not_minutes() -> None:
    """[I10] No rate is known, so none is invented: the pace backs off like any retry."""
    ledger = Ledger(clock=T0)
    waits = []
    now = T0
    for attempt in range(8):
        asked, granted = now, ask(ledger, f"t{attempt}", now)
        while isinstance(granted, Wait):
            now = granted.at + 0.01
            granted = ask(ledger, f"t{attempt}", now)
        waits.append(now - asked)
        refused = Refused("throttle")
        refuse.refuse(
            ledger, "opus-5", refused, now + 1, POLICY, reservation_id=granted.reservation
        )
        now += 1
    assert waits[0] == 0
    assert all(1 < wait < 10 for wait in waits[1:5])
    assert waits[4:] == sorted(waits[4:])
    assert max(waits[:4]) < waits[-1] < 60


def test_refusals_of_requests_that_cost_nothing_hold_nobody_for_days() -> None:
    """[I10] What is all but nothing bounds no rate: a debt is paid at a token a second at least."""
    ledger = Ledger(clock=T0)
    learner = ledger.family("opus-5").learner
    for n in range(4):
        learn.sent(learner, f"t{n}", 1e-5, T0 + 10.0 * n)
        learn.refused(learner, f"t{n}", 1e-5, T0 + 10.0 * n, T0 + 10.0 * n + 1.0, None)
        learn.sent(learner, f"u{n}", 1e-5, T0 + 10.0 * n + 2.0)
    assert learner.pace is not None
    assert learner.pace >= learn.PACE_MIN


def refused_in_a_row(ledger: Ledger, before: float, times: int) -> float:
    """Let ``before`` tokens be accepted, then refuse each next request. Return the time."""
    now = T0
    grant = ask(ledger, "main", now, before)
    assert isinstance(grant, Grant)
    settle.settle(ledger, grant.reservation, Usage(before), now, POLICY)
    for attempt in range(times):
        now += 1.0
        granted = ask(ledger, f"t{attempt}", now, SMALL)
        while isinstance(granted, Wait):
            now = granted.at + 0.01
            granted = ask(ledger, f"t{attempt}", now, SMALL)
        throttle = Refused("throttle")
        refuse.refuse(ledger, "opus-5", throttle, now, POLICY, reservation_id=granted.reservation)
    return now


def test_refusals_that_no_limit_explains_pace_nobody() -> None:
    """[I10] Nothing was accepted for longer than the lowest limit takes to fill: not of tokens."""
    ledger = Ledger(clock=T0)
    now = refused_in_a_row(ledger, 12_900.0, 4)
    assert now < T0 + 40
    assert ledger.families["opus-5"].learner.pace is None
    for turn in range(4):  # a slot apart, and no more
        verdict = ask(ledger, f"w{turn}", now)
        while isinstance(verdict, Wait):
            assert verdict.at - now <= 4.0
            now = verdict.at + 0.01
            verdict = ask(ledger, f"w{turn}", now)
        settle.settle(ledger, verdict.reservation, Usage(COST), now, POLICY)


def test_refusals_that_go_on_are_believed() -> None:
    """[I10] What is left of a limit may be that little: the doubt is had once."""
    ledger = Ledger(clock=T0)
    refused_in_a_row(ledger, 12_900.0, 9)
    learner = ledger.families["opus-5"].learner
    assert learner.pace is not None
    assert learner.pace < learn.LOWEST
    assert learner.doubted_at > T0


def test_what_went_well_before_is_no_reason_to_doubt_that_others_spend_it_now() -> None:
    """[I10]"""
    ledger = Ledger(clock=T0)
    ledger.family("opus-5").learner.best = 4_000.0
    refused_in_a_row(ledger, 12_900.0, 5)
    assert ledger.families["opus-5"].learner.pace is not None


@pytest.mark.parametrize(("largest", "seconds"), [(1_000.0, 2.0), (40_000.0, 5.0)])
def test_a_pace_that_nothing_bounds_doubles_the_sooner_the_smaller_the_requests(
    largest: float, seconds: float
) -> None:
    """[I10] Only as many go before the doubling as show whether that pace is too high."""
    learner = Learner(pace=2_000.0, largest=largest, moved_at=T0)
    learn.rise(learner, T0 + seconds)
    assert learner.pace == 4_000.0
