from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.errors import UsageError
from paceline.ledger import refuse, settle
from paceline.ledger.passing import advance
from paceline.ledger.refuse import Refused
from paceline.ledger.values import Ledger
from paceline.ledger.verdicts import Drop, Usage, Wait
from strategies_ledger import EXACT, FAMILY, T0, ask, granted, level, limited, take, tick


@given(st.lists(st.floats(0.0, 0.99), min_size=2, max_size=40))
def test_a_clock_that_jitters_by_less_than_a_second_fills_no_bucket(jitter: list[float]) -> None:
    """Time that stands still on average adds no token, in whatever order it is read. [I2]"""
    ledger = limited()
    take(ledger, "a", T0, 60_000.0)
    for i, back in enumerate(jitter):
        ask(ledger, f"w{i}", T0 + 1.0 - back, 50_000.0)
        tick(ledger, T0 + 1.0 - back)
    assert level(ledger) <= 1_000.0 + 1e-6


def test_a_clock_that_ran_back_an_hour_makes_nobody_wait_that_hour_again() -> None:
    ledger = limited()
    take(ledger, "a", T0, 60_000.0)
    ask(ledger, "b", T0 + 1.0, 30_000.0)
    tick(ledger, T0 + 1.0)
    back = T0 - 3600.0
    wait = tick(ledger, back)["b"]
    assert isinstance(wait, Wait)
    assert wait.at - back == pytest.approx(29.0)
    assert not granted(tick(ledger, back + 5.0))
    for second in range(6, 29):
        tick(ledger, back + second)
    assert granted(tick(ledger, back + 29.1))


def test_a_clock_that_jumped_ahead_and_back_leaves_no_breaker_closed_for_long() -> None:
    """A backoff of ours moves with the clock; only a reset that the API named stands. [I9]"""
    ledger = limited()
    ahead = T0 + 30 * 86_400.0
    refuse.refuse(ledger, FAMILY, Refused("quota"), ahead, EXACT)
    ask(ledger, "a", T0)
    wait = tick(ledger, T0)["a"]
    assert isinstance(wait, Wait)
    assert wait.at <= T0 + 61.0


def test_a_machine_that_slept_for_hours_finds_its_tokens_back_once() -> None:
    ledger = limited()
    grant = take(ledger, "a", T0, 60_000.0, lease=60.0)
    ask(ledger, "b", T0 + 1.0, 10_000.0)
    woke = T0 + 9 * 3600.0
    assert tick(ledger, woke, ["b"])["b"] == Drop("b", "gone")
    assert ledger.totals.expired == 60_000.0
    assert settle.settle(ledger, grant.reservation, Usage(input=50_000.0), woke, EXACT)
    assert not settle.settle(ledger, grant.reservation, Usage(input=50_000.0), woke, EXACT)
    assert level(ledger) == pytest.approx(10_000.0)


def test_time_alone_expires_what_nobody_came_back_for() -> None:
    """[I2] a dead process's leases expire, and its ticket stands in nobody's way."""
    ledger = limited()
    take(ledger, "a", T0, 40_000.0, lease=30.0)
    ask(ledger, "dead", T0 + 0.5, 20_000.0, session="dead")
    ask(ledger, "b", T0 + 1.0, 20_000.0)
    assert not granted(tick(ledger, T0 + 1.0, ["b"]))
    for second in range(2, 11):
        tick(ledger, T0 + second, ["b"])
    assert set(ledger.tickets) == {"dead", "b"}
    assert granted(tick(ledger, T0 + 10.6, ["b"]))
    advance(ledger, T0 + 30.0)
    assert [r.agent for r in ledger.reservations.values()] == ["b"]
    assert ledger.totals.expired == 40_000.0


@pytest.mark.parametrize("time", [math.nan, math.inf, -math.inf, -1.0, 1e300])
def test_a_time_that_is_none_is_refused(time: float) -> None:
    ledger = Ledger(clock=T0)
    with pytest.raises(UsageError, match="time"):
        ask(ledger, "a", time)
    with pytest.raises(UsageError, match="time"):
        settle.renew(ledger, [], time, 30.0)
    assert ledger == Ledger(clock=T0)


def test_what_a_session_was_given_is_kept_while_it_waits_for_hours() -> None:
    """Forgetting it would let the session that was parked longest go before all others. [I7]"""
    ledger = limited()
    for session in ("waits", "left"):
        grant = take(ledger, session, T0, 9_000.0, session=session)
        settle.settle(ledger, grant.reservation, Usage(input=9_000.0), T0, EXACT)
    ask(ledger, "parked", T0, session="waits", not_before=T0 + 2 * 3600.0)
    for step in range(2 * 3600 // 9):
        tick(ledger, T0 + 9.0 * step, ["parked"])
    assert "waits" in ledger.shares
    assert "left" not in ledger.shares
