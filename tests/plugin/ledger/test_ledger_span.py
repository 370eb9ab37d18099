"""The core at the speed of the limit: spans on a virtual clock against the least there can be."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.ledger import settle
from paceline.ledger.values import CONTINUATION, NEW
from paceline.ledger.verdicts import Grant, Usage, Wait
from paceline_bench.bound import Job, least_span
from strategies_ledger import EXACT, T0, UNSHRUNK, ask, limited, tick

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Plan:
    """An agent: what its requests cost, one after the other, and how long each reply takes."""

    costs: tuple[float, ...]
    seconds: tuple[float, ...]
    session: str = "s"

    def jobs(self) -> list[Job]:
        """Return its requests, each with the least time from its admission to the agent's end."""
        return [Job(cost, sum(self.seconds[i:])) for i, cost in enumerate(self.costs)]


def _span(plans: Sequence[Plan], limit: float, capacity: float) -> float:
    """Let the agents run, each asking for its next request when its last reply is there."""
    ledger = limited(limit, capacity)
    events: list[tuple[float, int, str]] = []
    step = dict.fromkeys(range(len(plans)), 0)
    going: dict[int, str] = {}
    now = T0
    for agent, plan in enumerate(plans):
        ask(ledger, f"{agent}-0", now, plan.costs[0], cls=NEW, session=plan.session)
    while True:
        due = now + 5.0
        for ticket, verdict in tick(ledger, now).items():
            agent = int(ticket.split("-")[0])
            if isinstance(verdict, Grant):
                going[agent] = verdict.reservation
                heapq.heappush(events, (now + plans[agent].seconds[step[agent]], agent, "ends"))
            elif isinstance(verdict, Wait):
                due = min(due, verdict.at)
        if not events and not ledger.tickets:
            return now - T0
        now = min(events[0][0], due) if events else due
        while events and events[0][0] <= now:
            _, agent, _ = heapq.heappop(events)
            plan = plans[agent]
            usage = Usage(input=plan.costs[step[agent]])
            settle.settle(ledger, going.pop(agent), usage, now, EXACT)
            step[agent] += 1
            if step[agent] < len(plan.costs):
                ticket = f"{agent}-{step[agent]}"
                cost = plan.costs[step[agent]]
                until = now + 300.0
                more = {"cls": CONTINUATION, "session": plan.session, "cache_until": until}
                ask(ledger, ticket, now, cost, **more)


def _least(plans: Sequence[Plan], limit: float, capacity: float) -> float:
    return least_span([job for plan in plans for job in plan.jobs()], capacity, [(0.0, limit)])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 30_000).map(float), min_size=1, max_size=30),
    st.integers(0, 40).map(float),
    st.sampled_from([30_000.0, 60_000.0]),
    st.integers(6_000, 600_000).map(float),
)
def test_requests_that_take_equally_long_end_when_the_least_span_ends(
    costs: list[float], seconds: float, capacity: float, limit: float
) -> None:
    """[P2] nothing is lost: each goes the moment its tokens are there."""
    plans = [Plan((cost,), (seconds,)) for cost in costs]
    least = _least(plans, limit, capacity)
    assert least - 1e-6 <= _span(plans, limit, capacity) <= least + 0.05 * len(costs)


@settings(max_examples=25, deadline=None, phases=UNSHRUNK)
@given(
    st.integers(0, 1 << 30).map(random.Random),
    st.integers(8, 40),
    st.sampled_from([60_000.0, 240_000.0, 1_000_000.0]),
    st.sampled_from([0.25, 1.0]),
    st.sampled_from([1, 3]),
)
def test_a_fan_out_takes_at_most_a_twentieth_more_than_it_must(
    draw: random.Random, agents: int, limit: float, part: float, sessions: int
) -> None:
    """[P2] agents of some requests each, large and small, with work for minutes at the limit.

    What is lost stands at the end: the last agents' own replies one after the other, since what is
    begun is finished first. So replies are short here against the whole.
    """
    capacity = max(30_000.0, limit * part)
    plans: list[Plan] = []
    scale = limit * 6.0 / (agents * 3.0)
    for agent in range(agents):
        n = draw.randrange(2, 5)
        costs = tuple(min(capacity, draw.uniform(0.2, 1.8) * scale) for _ in range(n))
        seconds = tuple(draw.uniform(1.0, 4.0) for _ in range(n))
        plans.append(Plan(costs, seconds, f"s{agent % sessions}"))
    span, least = _span(plans, limit, capacity), _least(plans, limit, capacity)
    assert least - 1e-6 <= span <= 1.05 * least


def test_long_chains_end_late_by_no_more_than_their_own_replies() -> None:
    """[P2] [I6] up to twenty requests an agent: 1.03 of the least on average, 1.10 at most.

    Who starts last has its whole chain before it when all others have ended, and who has begun goes
    first. Were new agents to take turns with begun ones, the worst of 150 such instances would be
    1.048 instead of 1.096; but then more contexts are open at once, and leave the cache.
    """
    ratios: list[float] = []
    for seed in range(24):
        draw = random.Random(seed)
        agents, limit = draw.randrange(8, 41), draw.choice([60_000.0, 240_000.0])
        capacity = max(30_000.0, limit / 4.0)
        scale = limit * 6.0 / (agents * 11.0)
        plans: list[Plan] = []
        for agent in range(agents):
            n = draw.randrange(2, 21)
            costs = tuple(min(capacity, draw.uniform(0.2, 1.8) * scale) for _ in range(n))
            seconds = tuple(draw.uniform(1.0, 4.0) for _ in range(n))
            plans.append(Plan(costs, seconds, f"s{agent % 3}"))
        ratios.append(_span(plans, limit, capacity) / _least(plans, limit, capacity))
    assert sum(ratios) / len(ratios) <= 1.03
    assert max(ratios) <= 1.10
