"""A limit that was raised: nothing but accepted requests, one after the other, can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from paceline.ledger import belief, learn, refuse, settle
from paceline.ledger.refuse import Refused
from paceline.ledger.values import Ledger
from paceline.ledger.verdicts import Usage
from strategies_ledger import EXACT, FAMILY, T0, again, ask, granted, take, tick

if TYPE_CHECKING:
    from collections.abc import Iterator

COST = 1_000.0
LIMIT = 30_000.0


def busy(ledger: Ledger, now: float, seconds: float) -> Iterator[tuple[float, str]]:
    """Keep three requests waiting and yield (time, reservation) of each that goes."""
    n, until = 0, now + seconds
    while now < until:
        while len(ledger.tickets) < 3:
            n += 1
            ask(ledger, f"b{now:.2f}-{n}", now, COST)
        for grant in granted(tick(ledger, now)).values():
            yield now, grant.reservation
        now += 0.25


def taken(ledger: Ledger, now: float, seconds: float) -> float:
    """Let a busy ledger run, every request accepted, and return the tokens a minute at the end."""
    went: list[float] = []
    for at, reservation in busy(ledger, now, seconds):
        settle.settle(ledger, reservation, Usage(input=COST), at, EXACT)
        went.append(at)
    late = [at for at in went if at >= now + seconds - 60.0]
    return len(late) * COST


def test_a_number_that_a_refusal_named_is_tried_again_after_many_accepted_requests() -> None:
    """It stands in the file for ever otherwise, whatever the account was raised to. [P4] [I9]"""
    ledger = Ledger(clock=T0)
    grant = take(ledger, "a", T0, COST)
    told = Refused("throttle", dimension="input", limit=LIMIT)
    refuse.refuse(ledger, FAMILY, told, T0 + 1.0, EXACT, reservation_id=grant.reservation)
    assert taken(ledger, T0 + 1.0, 180.0) == pytest.approx(LIMIT, rel=0.1)
    ledger = again(ledger)
    assert taken(ledger, T0 + 181.0, 600.0) > 2 * LIMIT
    grant = take(ledger, "z", T0 + 800.0, COST)
    refuse.refuse(ledger, FAMILY, told, T0 + 801.0, EXACT, reservation_id=grant.reservation)
    assert taken(ledger, T0 + 801.0, 180.0) == pytest.approx(LIMIT, rel=0.1)


@pytest.mark.parametrize("source", ["set", "header", "probe"])
def test_a_number_that_somebody_stands_behind_is_not_tried(source: str) -> None:
    """[I1]"""
    ledger = Ledger(clock=T0)
    belief.tell(ledger, FAMILY, "input", LIMIT, T0, source=source, capacity=5_000.0)
    assert taken(ledger, T0, 900.0) == pytest.approx(LIMIT, rel=0.05)


def test_requests_that_nobody_had_to_wait_for_raise_no_limit() -> None:
    """They say nothing of more than was asked for: the limit was not what held them. [I10]"""
    ledger = Ledger(clock=T0)
    belief.tell(ledger, FAMILY, "input", LIMIT, T0, source="text")
    now = T0
    for n in range(400):
        grant = take(ledger, f"t{n}", now, COST)
        settle.settle(ledger, grant.reservation, Usage(input=COST), now + 1.0, EXACT)
        now += 3.0
    assert ledger.families[FAMILY].learner.calm == 0


def test_however_often_it_is_refused_a_request_of_that_size_goes_every_few_minutes() -> None:
    """Pace, which nothing else bounds from below, never sinks to hours a request. [I10]"""
    ledger = Ledger(clock=T0)
    now = T0
    for attempt in range(40):
        now += 10.0
        grant = take(ledger, f"t{attempt}", now, 50_000.0, cls="main")
        again_at = refuse.refuse(
            ledger,
            FAMILY,
            Refused("throttle"),
            now + 1.0,
            EXACT,
            reservation_id=grant.reservation,
            attempt=attempt,
        )
        assert again_at.again
    ask(ledger, "w", now, 50_000.0)
    for second in range(1, round(learn.SLOWEST_S) + 40):
        if granted(tick(ledger, now + second)):
            break
    else:
        pytest.fail("a request of 50,000 tokens still waits")


def test_one_refusal_that_cannot_be_is_not_believed_and_a_second_one_soon_is() -> None:
    """The API counted more than anybody knew, once; a limit that fell refuses again. [I9] [I10]"""
    ledger = Ledger(clock=T0)
    learner = ledger.family(FAMILY).learner
    now = T0
    for second in (0.0, 30.0, 60.0):  # found: about 500 a second
        for step in range(15):
            now = T0 + second + 2.0 * step
            learn.sent(learner, f"a{now}", COST, now, waited=True)
            learn.settled(learner, f"a{now}", COST, now)
        learn.refused(learner, f"r{now}", COST, now + 1.0, now + 1.0, None)
    for _ in range(30):
        now += 2.1
        learn.sent(learner, f"a{now}", COST, now, waited=True)
        learn.settled(learner, f"a{now}", COST, now)
    found, pace = learner.high, learner.pace
    assert found is not None
    assert pace is not None
    now += 60.0
    learn.sent(learner, "x", 50.0, now, waited=True)
    learn.refused(learner, "x", 50.0, now, now + 1.0, None)
    assert learner.high == found
    assert learner.pace == pytest.approx(learn.CUT * pace)
    learn.sent(learner, "y", 50.0, now + 5.0, waited=True)
    learn.refused(learner, "y", 50.0, now + 5.0, now + 6.0, None)
    assert learner.high < 0.2 * found
