from __future__ import annotations

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from paceline_bench.bound import Job, least_span, time_until

CAPACITY = 100.0
jobs = st.lists(
    st.builds(Job, cost=st.integers(1, 100).map(float), service=st.integers(0, 40).map(float)),
    min_size=1,
    max_size=6,
)
levels = st.integers(0, 100).map(float)
rates = st.integers(30, 1200).map(float)


def span_of(order: tuple[Job, ...], level: float, per_minute: float) -> float:
    """Admit in that order, each as soon as the bucket holds its cost; return the last end."""
    rate, now, end = per_minute / 60, 0.0, 0.0
    for job in order:
        wait = max(0.0, (job.cost - level) / rate)
        now += wait
        level = min(CAPACITY, level + rate * wait) - job.cost
        end = max(end, now + job.service)
    return end


@settings(max_examples=150)
@given(jobs, levels, rates)
def test_the_bound_is_the_best_of_all_orders(
    jobs: list[Job], level: float, per_minute: float
) -> None:
    best = min(span_of(order, level, per_minute) for order in permutations(jobs))
    bound = least_span(jobs, level, [(0.0, per_minute)])
    assert abs(best - bound) < 1e-6 * max(1.0, best)


@given(jobs, levels, rates)
def test_longest_service_first_attains_it(jobs: list[Job], level: float, per_minute: float) -> None:
    order = tuple(sorted(jobs, key=lambda job: -job.service))
    assert span_of(order, level, per_minute) <= least_span(jobs, level, [(0.0, per_minute)]) + 1e-6


def test_nothing_to_do_takes_no_time() -> None:
    assert least_span([], 0.0, [(0.0, 60.0)]) == 0.0


def test_a_limit_that_changes_is_followed() -> None:
    assert time_until(90, [(0.0, 60.0), (30.0, 120.0)]) == 60.0
    assert time_until(90, [(0.0, 60.0), (30.0, 0.0)]) == float("inf")
    assert time_until(30, [(0.0, 60.0), (30.0, 0.0)]) == 30.0
