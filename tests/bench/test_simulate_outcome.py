"""What is measured: each figure on events small enough to count by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline_bench.simulate import SEED_API, Scenario, constant, play_alone, play_paced
from paceline_bench.simulate.meters import Fairness
from paceline_bench.simulate.outcome import STEADY_FROM_S, came_in


def test_what_comes_in_follows_the_limit_as_it_changes() -> None:
    steps = ((0.0, 60_000), (100.0, 120_000))
    assert came_in(steps, 0.0, 60.0) == 60_000
    assert came_in(steps, 90.0, 110.0) == 10_000 + 20_000
    assert came_in(steps, 200.0, 200.0) == 0.0


def test_what_is_left_for_us_is_the_limit_less_what_others_take() -> None:
    api = replace(SEED_API, itpm=100_000, itpm_schedule=((60.0, 50_000),))
    scenario = Scenario(api=api, tenants=((30.0, 20_000), (90.0, 80_000), (120.0, 0)))
    assert scenario.left_for_us() == (
        (0.0, 100_000),
        (30.0, 80_000),
        (60.0, 30_000),
        (90.0, 1),
        (120.0, 50_000),
    )


def test_the_worst_gap_counts_only_while_both_have_something_queued() -> None:
    meter = Fairness()
    meter.queued(0)
    meter.got(0, 1_000.0)
    assert meter.worst == 0.0
    meter.queued(1)
    meter.got(0, 300.0)
    meter.got(0, 200.0)
    meter.got(1, 900.0)
    assert meter.worst == 900.0
    meter.left(1)
    meter.got(0, 5_000.0)
    meter.queued(1)
    meter.got(1, 50.0)
    assert meter.worst == 900.0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 1_000)), max_size=60))
def test_the_worst_gap_of_sessions_that_always_queue_is_the_range_of_their_difference(
    served: list[tuple[int, int]],
) -> None:
    meter = Fairness()
    for session in range(4):
        meter.queued(session)
    got = [0, 0, 0, 0]
    seen = {(a, b): [0] for a in range(4) for b in range(a)}
    for session, tokens in served:
        meter.got(session, tokens)
        got[session] += tokens
        for (a, b), differences in seen.items():
            differences.append(got[a] - got[b])
    assert meter.worst == max(max(ranged) - min(ranged) for ranged in seen.values())


def test_a_full_bucket_shows_as_more_than_all_of_the_first_minute() -> None:
    played = play_paced(Scenario(told="set"))
    assert played.utilisation[0] > 1.5
    assert all(0.7 <= used <= 1.3 for used in played.utilisation[1:-1])


def test_work_that_is_done_within_two_minutes_has_no_steady_state() -> None:
    played = play_paced(Scenario(sessions=(3,)))
    assert played.counts.span_s < STEADY_FROM_S
    assert played.steady.utilisation is None
    assert played.steady.refused_share == 0.0


def test_a_context_that_left_the_cache_is_counted_as_paid_again() -> None:
    """A tool that runs longer than a context lives."""
    scenario = Scenario(sessions=(2,), reads=constant(5_000), tool_s=800.0, stagger_s=0.0)
    played = play_alone(scenario.unlimited())
    assert played.rebuilt == 4
    quick = play_alone(replace(scenario, tool_s=10.0).unlimited())
    assert quick.rebuilt == 0
    assert played.counts.uncached_tokens > quick.counts.uncached_tokens


def test_sessions_are_told_apart() -> None:
    played = play_paced(Scenario(sessions=(4, 2), told="set"))
    assert [(share.session, share.agents, share.delivered) for share in played.shares] == [
        ("s1", 4, 4),
        ("s2", 2, 2),
    ]
    assert max(share.span_s for share in played.shares) == pytest.approx(
        played.counts.span_s, abs=0.2
    )
    assert {record.session for record in played.records} == {"s1", "s2"}
