"""The simulated world keeps the API's rules and tells the same story every time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paceline.ledger.passing import advance
from paceline_bench.simapi.config import Config
from paceline_bench.simulate import SEED_API, Scenario, constant, parse, play_alone, play_paced
from paceline_bench.simulate.paced import Paced
from paceline_bench.simulate.scenario import TOLD
from paceline_bench.simulate.timeline import START, Timeline
from paceline_bench.simulate.work import plans
from paceline_bench.simulate.world import World
from paceline_mcp.broker.desk import LEASE_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from paceline_bench.simulate import Outcome

scenarios = st.builds(
    Scenario,
    sessions=st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple),
    requests=st.integers(1, 5),
    reads=st.sampled_from([parse("mixed"), constant(25_000), parse("uniform:1:60000")]),
    prefix=st.sampled_from([0, 500, 5_000]),
    width=st.sampled_from([0, 1, 3]),
    stagger_s=st.sampled_from([0.0, 5.0]),
    processes=st.integers(1, 3),
    estimate_error=st.sampled_from([0.0, 0.06, 0.5]),
    api=st.builds(
        Config,
        itpm=st.sampled_from([60_000, 200_000]),
        itpm_capacity=st.sampled_from([None, 30_000]),
        level=st.sampled_from([0.0, 0.5, 1.0]),
        headers=st.just("none"),
        number_in_text=st.booleans(),
        retry_after=st.just(value=False),
        ttfb_s=st.sampled_from([0.25, 3.0]),
        itpm_schedule=st.sampled_from([(), ((30.0, 120_000),), ((20.0, 30_000), (90.0, 90_000))]),
    ),
    told=st.sampled_from(TOLD),
    tenants=st.sampled_from([(), ((10.0, 20_000),)]),
    crashes=st.sampled_from([(), ((15.0, 0),)]),
    seed=st.integers(0, 1_000),
)

ENDS_BEFORE_THE_DEAD_EXPIRE = Scenario(
    sessions=(2, 1, 4),
    requests=1,
    reads=parse("mixed"),
    prefix=0,
    width=0,
    stagger_s=0.0,
    processes=1,
    estimate_error=0.0,
    api=Config(
        itpm=200_000,
        level=0.0,
        headers="none",
        number_in_text=False,
        retry_after=False,
        ttfb_s=0.25,
    ),
    told="text",
    crashes=((15.0, 0),),
    seed=0,
)


@settings(deadline=None, max_examples=150)
@given(scenarios)
@example(ENDS_BEFORE_THE_DEAD_EXPIRE)
def test_whatever_the_scenario_nobody_is_lost_and_no_token_either(
    scenario: Scenario,
) -> None:
    """Tokens are conserved to the end, and what a dead process left expires. [P1] [I2]"""
    clock = Timeline()
    world = World(scenario, clock)
    paced = Paced(world)
    world.begin(paced)
    clock.run()
    done = Counter(record.delivered for record in world.records if record.delivered)
    assert sorted(done) == sorted(plan.label for plan in plans(scenario))
    assert set(done.values()) == {1}
    ledger = paced.ledger
    assert scenario.crashes or not (ledger.tickets or ledger.reservations)
    advance(ledger, clock.now + LEASE_S)
    assert not ledger.tickets
    assert not ledger.reservations
    totals = ledger.totals
    assert totals.taken == pytest.approx(totals.settled + totals.released + totals.expired)


@settings(deadline=None, max_examples=80)
@given(scenarios, st.sampled_from([play_paced, play_alone]))
def test_no_pacing_gets_more_from_the_api_than_its_bucket_allows(
    scenario: Scenario, play: Callable[[Scenario], Outcome]
) -> None:
    """In no interval, whoever asks how: what comes in, and a full bucket. [I1]"""
    played = play(scenario)
    assert played.counts.ratio is None or played.counts.ratio >= 1.0 - 1e-9
    fastest = max(itpm for _, itpm in scenario.left_for_us()) / 60.0
    fullest = scenario.api.itpm_capacity or max(
        [scenario.api.itpm, *(itpm for _, itpm in scenario.api.itpm_schedule)]
    )
    taken = [record for record in played.records if record.outcome != "refused"]
    left, last = float(fullest), played.start
    for record in taken:
        left = min(fullest, left + fastest * (record.t - last)) - record.cost
        last = record.t
        assert left >= min(0.0, fullest - record.cost) - 1e-6
        left = max(left, 0.0) if record.cost > fullest else left


def test_the_same_seed_tells_the_same_story_and_another_seed_another() -> None:
    scenario = Scenario(sessions=(5, 3), reads=parse("mixed"), requests=4)
    one, again = play_paced(scenario), play_paced(scenario)
    assert one.to_json() == again.to_json()
    assert one.records == again.records
    other = play_paced(replace(scenario, seed=2))
    assert other.records != one.records


def test_every_pacing_gets_the_same_work() -> None:
    scenario = Scenario(sessions=(6,), reads=parse("mixed"), requests=5).unlimited()
    paced, alone = play_paced(scenario), play_alone(scenario)
    sizes = [
        sorted((r.label, r.step, r.cost + r.cache_read, r.output) for r in played.records)
        for played in (paced, alone)
    ]
    assert sizes[0] == sizes[1]


def test_without_a_limit_an_agents_requests_follow_one_another_and_nothing_else() -> None:
    """Span = latency, first byte, reply and tool, request after request."""
    scenario = Scenario(sessions=(1,), requests=4, latency_s=0.0, tool_s=2.0, stagger_s=0.0)
    played = play_alone(scenario.unlimited())
    api = scenario.api
    assert played.counts.span_s == pytest.approx(
        sum(r.end - r.t for r in played.records)
        + sum(b.t - a.end for a, b in pairwise(played.records))
    )
    for record in played.records:
        assert record.end - record.t == pytest.approx(api.ttfb_s + 200 * api.s_per_token)
    for before, after in pairwise(played.records):
        assert 1.0 <= after.t - before.end <= 3.0
        assert after.cache_read == before.cache_read + before.cost


def test_a_client_alone_tries_ten_times_and_gives_up_after_three_minutes() -> None:
    """As measured on the real one: about 1, 1, 2, 4, 9, 18, 34, 34, 38 and 32 seconds apart."""
    api = replace(SEED_API, itpm=1, itpm_capacity=100, oversize=False)
    played = play_alone(Scenario(sessions=(1,), api=api, stagger_s=0.0))
    assert played.counts.dropped == 1
    assert played.counts.refusals == len(played.records) == 11
    assert 150.0 <= played.records[-1].t - played.records[0].t <= 200.0


def test_a_width_is_kept_and_a_dropped_agents_place_is_taken() -> None:
    api = replace(SEED_API, itpm=30_000, itpm_capacity=30_000)
    played = play_alone(Scenario(sessions=(6,), width=2, api=api, retries=1, stagger_s=0.0))
    spans: dict[str, list[float]] = {}
    for record in played.records:
        spans.setdefault(str(record.label), []).extend([record.t, record.end])
    assert len(spans) == 6
    for at in sorted(record.t for record in played.records):
        assert sum(min(times) <= at < max(times) for times in spans.values()) <= 2


def test_a_workflow_client_holds_the_others_until_its_first_agents_reply_begins() -> None:
    played = play_alone(Scenario(sessions=(8,), width=0).unlimited())
    starts = sorted(r.t for r in played.records if r.step == 0)
    assert starts[1] - starts[0] >= Scenario().api.ttfb_s
    assert played.cold == 1
    at_once = play_alone(Scenario(sessions=(8,), width=0, stagger_s=0.0).unlimited())
    assert at_once.cold == 8


def test_what_happens_at_one_moment_happens_in_the_order_it_was_asked_for() -> None:
    clock, seen = Timeline(), list[str]()
    clock.at(START + 5.0, seen.append, "later")
    clock.at(START + 1.0, seen.append, "first")
    clock.at(START + 1.0, lambda: clock.at(START, seen.append, "at once"))
    clock.at(START + 1.0, seen.append, "second")
    clock.at(START + 6.0, clock.stop)
    clock.at(START + 7.0, seen.append, "never")
    clock.run()
    assert seen == ["first", "second", "at once", "later"]
    assert clock.now == START + 6.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"requests": 0},
        {"sessions": ()},
        {"sessions": (3, 0)},
        {"tool_s": -1.0},
        {"headroom": 1.0},
        {"told": "perhaps"},
        {"prefix": 0, "own": 0},
        {"crashes": ((1.0, 4),)},
        {"estimate_error": -0.1},
    ],
)
def test_a_scenario_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        Scenario(**wrong)
