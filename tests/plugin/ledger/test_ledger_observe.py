"""What the headers of responses correct, and what in them is too absurd to be believed."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.ledger import belief, settle
from paceline.ledger.observe import Seen, observe
from paceline.ledger.values import MAIN, Ledger
from paceline.ledger.verdicts import Usage
from paceline_bench.hidden_limit import Api
from strategies_ledger import (
    EXACT,
    FAMILY,
    T0,
    UNSHRUNK,
    again,
    ask,
    granted,
    level,
    limited,
    take,
    tick,
)


def test_a_response_tells_the_limit_and_what_is_left_of_it() -> None:
    """[I9] also what others spent, whom nobody here saw."""
    ledger = Ledger(clock=T0)
    grant = take(ledger, "a", T0, 5_000.0)
    seen = Seen("input", 60_000.0, remaining=20_000.0, resets_at=T0 + 41.0)
    assert observe(ledger, FAMILY, seen, T0, T0 + 1.0)
    assert level(ledger) == 20_000.0
    settle.settle(ledger, grant.reservation, Usage(5_000.0), T0 + 1.0, EXACT)
    ask(ledger, "b", T0 + 1.0, 30_000.0)
    assert not granted(tick(ledger, T0 + 5.0))
    assert granted(tick(ledger, T0 + 11.5))
    assert again(ledger).families[FAMILY].buckets["input"].source == "header"


def test_what_went_after_the_answered_request_is_not_in_its_number() -> None:
    """[I9] correcting the belief allows for what is in flight, and for what was answered since."""
    ledger = limited()
    first = take(ledger, "first", T0, 10_000.0)
    done = take(ledger, "done", T0 + 1.0, 8_000.0)
    take(ledger, "going", T0 + 2.0, 6_000.0)
    settle.settle(ledger, done.reservation, Usage(7_000.0), T0 + 3.0, EXACT)
    seen = Seen("input", 60_000.0, remaining=40_000.0)
    assert observe(ledger, FAMILY, seen, T0, T0 + 3.0)
    assert level(ledger) == 40_000.0 - 6_000.0 - 7_000.0
    assert first.reservation in ledger.reservations


def test_an_older_response_that_arrives_late_changes_nothing() -> None:
    """[I9] newest evidence first: by when the request went, not by when it was answered."""
    ledger = limited()
    assert observe(ledger, FAMILY, Seen("input", 60_000.0, remaining=9_000.0), T0 + 5.0, T0 + 6.0)
    assert not observe(ledger, FAMILY, Seen("input", 30_000.0, remaining=50_000.0), T0, T0 + 7.0)
    assert (level(ledger), belief.believed(ledger)[0]["limit"]) == (9_000.0, 60_000.0)


def test_a_rounded_number_near_ours_leaves_ours() -> None:
    ledger = limited()
    take(ledger, "a", T0, 12_345.0)
    observe(ledger, FAMILY, Seen("input", 60_000.0, remaining=48_000.0), T0, T0)
    assert level(ledger) == 60_000.0 - 12_345.0


def test_a_bucket_smaller_than_a_minute_of_its_limit_is_seen_as_such() -> None:
    """The reset is when it is full again: what is left and what comes in until then is all."""
    ledger = Ledger(clock=T0)
    seen = Seen("input", 240_000.0, remaining=20_000.0, resets_at=T0 + 10.5)
    observe(ledger, FAMILY, seen, T0, T0)
    assert ledger.families[FAMILY].buckets["input"].capacity == pytest.approx(60_000.0)
    later = Seen("input", 240_000.0, remaining=21_000.0, resets_at=T0 + 11.0)
    observe(ledger, FAMILY, later, T0 + 1.0, T0 + 1.0)
    assert ledger.families[FAMILY].buckets["input"].capacity == pytest.approx(60_000.0)


@pytest.mark.parametrize(
    "seen",
    [
        Seen("tokens", 60_000.0, 1.0),
        Seen("input", 0.0, 0.0),
        Seen("input", 5.0, 1.0),
        Seen("input", -60_000.0, 1.0),
        Seen("input", float("nan"), 1.0),
        Seen("input", float("inf"), 1.0),
        Seen("input", 1e30, 1.0),
    ],
)
def test_a_limit_too_absurd_to_be_one_is_not_believed(seen: Seen) -> None:
    """[I9] a stale or absurd value cannot wedge it."""
    ledger = limited()
    assert not observe(ledger, FAMILY, seen, T0, T0)
    assert (level(ledger), belief.believed(ledger)[0]["limit"]) == (60_000.0, 60_000.0)


@pytest.mark.parametrize("remaining", [-1.0, 60_001.0, float("nan"), float("inf"), 1e30])
@pytest.mark.parametrize("resets_at", [None, T0 - 3600.0, T0 + 1e9, float("nan"), 0.0])
def test_an_absurd_rest_or_reset_leaves_the_level(
    remaining: float, resets_at: float | None
) -> None:
    """[I9] resets in the past or in weeks say nothing of a bucket that fills in a minute."""
    ledger = limited()
    assert observe(ledger, FAMILY, Seen("input", 60_000.0, remaining, resets_at), T0, T0)
    bucket = ledger.families[FAMILY].buckets["input"]
    assert (bucket.level, bucket.capacity) == (60_000.0, None)
    past = Seen("input", 60_000.0, 30_000.0, resets_at)
    assert observe(ledger, FAMILY, past, T0, T0)
    assert (bucket.level, bucket.capacity) == (30_000.0, None)


@settings(max_examples=40, deadline=None, phases=UNSHRUNK)
@given(
    st.integers(0, 1 << 30).map(random.Random),
    st.sampled_from([60_000.0, 240_000.0]),
    st.sampled_from([0.25, 1.0]),
    st.floats(0.0, 0.5),
)
def test_headers_keep_the_belief_near_the_truth_whatever_others_spend(
    draw: random.Random, limit: float, part: float, others: float
) -> None:
    """[I9] with a limit never told otherwise, and somebody who eats a part of it."""
    ledger, now = Ledger(clock=T0), T0
    api = Api(limit / 60.0, limit * part)
    api.level = api.capacity
    going: list[tuple[float, float, str, float, Seen]] = []
    refused = 0
    for step in range(200):
        now += draw.uniform(0.2, 2.0)
        api.admits(min(api.level, draw.uniform(0.0, 2.0) * others * api.per_s), now)
        for ends, sent_at, reservation, cost, seen in [one for one in going if one[0] <= now]:
            going.remove((ends, sent_at, reservation, cost, seen))
            observe(ledger, FAMILY, seen, sent_at, now)
            settle.settle(ledger, reservation, Usage(cost), now, EXACT)
        ask(ledger, f"t{step}", now, draw.uniform(0.01, 0.2) * api.capacity)
        for grant in granted(tick(ledger, now)).values():
            cost = grant.amounts["input"]
            if not api.admits(cost, now):
                refused += step > 20
                api.level -= cost  # charged all the same: only what is left is looked at here
            remaining = max(0.0, api.level)
            full_at = now + (api.capacity - api.level) / api.per_s
            seen = Seen("input", limit, remaining, float(round(full_at)))
            going.append((now + 0.3, now, grant.reservation, cost, seen))
    assert belief.believed(ledger)[0]["limit"] == limit
    bucket = ledger.families[FAMILY].buckets["input"]
    holds = limit if bucket.capacity is None else bucket.capacity
    assert holds == pytest.approx(api.capacity, rel=0.25)
    assert refused <= 12 + 200 * others, "out of 180"


def test_the_number_of_requests_left_is_believed_exactly() -> None:
    ledger = Ledger(clock=T0)
    take(ledger, "a", T0, cls=MAIN)
    assert observe(ledger, FAMILY, Seen("requests", 50.0, remaining=0.0), T0, T0 + 1.0)
    ask(ledger, "b", T0 + 1.0)
    assert not granted(tick(ledger, T0 + 1.0))
    assert granted(tick(ledger, T0 + 2.3))
