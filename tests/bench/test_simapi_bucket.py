from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from paceline_bench.simapi.bucket import Bucket, fits, full_in, refill, relimit, take, wait

LIMIT = 60_000.0
moments = st.floats(0, 600)
asks = st.lists(st.tuples(st.floats(0, 30), st.floats(1, 70_000)), max_size=40)


def full(capacity: float = LIMIT, drain: float = 0.0) -> Bucket:
    return Bucket(LIMIT, capacity, capacity, 0.0, drain)


@given(asks, st.floats(10, 120_000), st.floats(0, 90_000))
def test_in_no_interval_is_more_taken_than_the_capacity_and_what_came_in(
    asks: list[tuple[float, float]], capacity: float, drain: float
) -> None:
    bucket, now = full(capacity, drain), 0.0
    taken: list[tuple[float, float]] = []
    for gap, cost in asks:
        now += gap
        bucket = refill(bucket, now)
        if fits(bucket, cost):
            bucket = take(bucket, cost)
            taken.append((now, cost))
    for first in range(len(taken)):
        total = 0.0
        for at, cost in taken[first:]:
            total += cost
            assert total <= capacity + LIMIT / 60 * (at - taken[first][0]) + 1e-3


@given(moments, moments)
def test_refilling_in_two_steps_is_refilling_in_one(one: float, two: float) -> None:
    bucket = take(full(), 50_000)
    early, late = sorted((one, two))
    once, twice = refill(bucket, late), refill(refill(bucket, early), late)
    assert abs(once.level - twice.level) < 1e-6


@given(st.floats(0, 60_000))
def test_after_the_wait_it_names_a_request_fits(cost: float) -> None:
    bucket = take(full(), 55_000)
    later = refill(bucket, wait(bucket, cost))
    assert later.level >= cost - 1e-6


def test_time_that_goes_back_changes_nothing() -> None:
    bucket = Bucket(LIMIT, LIMIT, 10.0, at=100.0)
    assert refill(bucket, 50.0) == bucket


def test_debt_is_kept_and_paid_back_by_time() -> None:
    bucket = take(full(), 70_000)
    assert bucket.level == -10_000
    assert refill(bucket, 10.0).level == 0.0


def test_reset_is_when_the_bucket_is_full_again() -> None:
    assert full_in(take(full(), 30_000)) == 30.0
    assert full_in(full()) == 0.0


def test_a_request_larger_than_the_capacity_passes_on_a_full_bucket_only_where_that_is_wanted() -> (
    None
):
    bucket = full(20_000)
    assert not fits(bucket, 30_000)
    assert fits(bucket, 30_000, oversize=True)
    assert not fits(take(bucket, 1), 30_000, oversize=True)


def test_other_tenants_can_hold_the_bucket_empty_but_never_put_it_into_debt() -> None:
    bucket = refill(full(drain=90_000), 600.0)
    assert bucket.level == 0.0
    assert wait(bucket, 1) == float("inf")


def test_a_lower_limit_takes_what_no_longer_fits() -> None:
    bucket = relimit(full(), 6_000, 6_000)
    assert (bucket.level, bucket.rate) == (6_000, 100.0)
