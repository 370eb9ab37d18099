"""Continuations whose context left the cache while they waited: what they cost, when they go."""

from __future__ import annotations

from paceline.ledger import settle
from paceline.ledger.order import AGED_S
from paceline.ledger.values import NEW
from paceline.ledger.verdicts import Grant, Usage
from strategies_ledger import EXACT, T0, again, ask, granted, level, limited, take, tick


def test_a_context_that_expired_while_it_waited_is_reserved_for() -> None:
    """A warm request that goes too late counts its whole context: I1 needs it reserved. [I1]"""
    ledger = limited(60_000.0)
    take(ledger, "a", T0, 59_000.0)
    ask(ledger, "t", T0, 2_000.0, cache_until=T0 + 8.0, context=40_000.0)
    ledger = again(ledger)
    assert not granted(tick(ledger, T0 + 3.5)), "41,000 tokens at a level of 4,500"
    for second in range(4, 38):
        assert not granted(tick(ledger, T0 + second))
    grant = granted(tick(ledger, T0 + 41.1))["t"]
    assert grant.amounts["input"] == 42_000.0
    settle.settle(ledger, grant.reservation, Usage(input=42_000.0), T0 + 42.0, EXACT)
    assert not ledger.corrections, "a context is no estimate to be corrected"


def test_a_context_that_is_still_warm_is_not_reserved_for() -> None:
    ledger = limited(60_000.0)
    grant = take(ledger, "t", T0, 2_000.0, cache_until=T0 + 60.0, context=40_000.0)
    assert grant.amounts["input"] == 2_000.0
    assert level(ledger) == 58_000.0


def test_contexts_that_can_still_be_saved_go_before_one_that_has_expired() -> None:
    """Serving the expired one first lets the next expire too, and so on for all. [I6]"""
    ledger = limited(60_000.0)
    take(ledger, "a", T0, 60_000.0)
    ask(ledger, "expired", T0, 10_000.0, cache_until=T0 - 1.0)
    ask(ledger, "later", T0, 10_000.0, cache_until=T0 + 200.0)
    ask(ledger, "sooner", T0, 10_000.0, cache_until=T0 + 100.0)
    ask(ledger, "unknown", T0, 10_000.0)
    ask(ledger, "new", T0, 10_000.0, cls=NEW)
    went: list[str] = []
    for second in range(1, 60):
        went += granted(tick(ledger, T0 + second))
    assert went == ["unknown", "sooner", "later", "expired", "new"]


def test_an_expired_context_does_not_wait_for_the_others_for_ever() -> None:
    """Agents that keep coming back warm overtake an expired one for half an hour at most. [I3]"""
    ledger = limited(60_000.0)
    take(ledger, "a", T0, 60_000.0)
    ask(ledger, "expired", T0, 30_000.0, cache_until=T0 - 1.0)
    now = T0
    while "expired" in ledger.tickets and now < T0 + 2 * AGED_S:
        now += 5.0
        ask(ledger, f"warm{now:.0f}", now, 6_000.0, cache_until=now + 290.0)
        tick(ledger, now)
    assert AGED_S - 60.0 <= now - T0 <= AGED_S + 60.0


def test_two_sessions_take_turns_whatever_expired_in_them() -> None:
    """[I7]"""
    ledger = limited(60_000.0)
    take(ledger, "a", T0, 60_000.0, session="other")
    for name in ("x", "y"):
        for n in range(3):
            expiry = T0 - 1.0 if n == 0 else T0 + 200.0 + n
            ask(ledger, f"{name}{n}", T0, 10_000.0, session=name, cache_until=expiry)
    went: list[str] = []
    for second in range(1, 70):
        went += granted(tick(ledger, T0 + second))
    assert [ticket[0] for ticket in went] in (list("xyxyxy"), list("xyyxxy"), list("xyxyyx"))
    assert went[-2:] in (["x0", "y0"], ["y0", "x0"])
    assert isinstance(take(ledger, "z", T0 + 200.0), Grant)
