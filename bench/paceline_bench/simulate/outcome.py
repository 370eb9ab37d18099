"""What a simulation came to, counted from the API's records by the same rules as a real run's."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from paceline_bench.bound import Job, least_span
from paceline_bench.client.result import Counts, count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paceline_bench.simapi.records import Record
    from paceline_bench.simulate.scenario import Scenario
    from paceline_bench.simulate.world import World

STEADY_FROM_S = 120.0
"""After this long a limit that nobody told should be found."""


@dataclass(frozen=True, slots=True)
class Steady:
    """The time from ``STEADY_FROM_S`` to the last request that was taken.

    Attributes:
        seconds: how long that was; 0.0 when the work ended before.
        utilisation: tokens taken in it by what came into the bucket; None for no time.
        requests: requests that were sent in it.
        refusals: how many of them were refused.
    """

    seconds: float
    utilisation: float | None
    requests: int
    refusals: int

    @property
    def refused_share(self) -> float:
        """Refusals by requests."""
        return self.refusals / self.requests if self.requests else 0.0


@dataclass(frozen=True, slots=True)
class Share:
    """How one session fared.

    Attributes:
        session: its name.
        agents: it launched.
        delivered: of those.
        span_s: seconds from the start of the simulation to the end of its last request.
        fair_s: the least span of its own requests if it had an equal part of the bucket and of
            the limit all the time; None when it sent nothing.
    """

    session: str
    agents: int
    delivered: int
    span_s: float
    fair_s: float | None

    @property
    def ratio(self) -> float | None:
        """Return ``span_s / fair_s``."""
        return self.span_s / self.fair_s if self.fair_s else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One pacing's run through a scenario.

    Attributes:
        pacing: its name.
        counts: the fan-out in numbers.
        longest_wait_s: the longest any request wanted to go before the API took it.
        service_gap: tokens; see ``meters.Fairness``. 0 with one session.
        shares: session by session.
        utilisation: minute by minute, tokens taken by what came into the bucket in that minute;
            the first is above 1 where a full bucket was spent.
        steady: see :class:`Steady`.
        cold: first requests that paid for a shared prefix.
        rebuilt: later requests that paid for their own context again.
        restarted: agents started anew after a crash.
        believed: the limit the ledger ended with, tokens a minute; None when there is none.
        records: of the API, in the order of arrival.
        done: seconds after the start at which agents delivered.
        start: epoch seconds of the simulation's start.
    """

    pacing: str
    counts: Counts
    longest_wait_s: float
    service_gap: float
    shares: tuple[Share, ...]
    utilisation: tuple[float, ...]
    steady: Steady
    cold: int
    rebuilt: int
    restarted: int
    believed: float | None
    records: tuple[Record, ...]
    done: tuple[float, ...]
    start: float

    def to_json(self) -> dict[str, Any]:
        """Return everything but the records as JSON holds it."""
        counts = asdict(self.counts)
        del counts["labels"], counts["main_refusals"], counts["total_uncached"]
        return {
            "pacing": self.pacing,
            **counts,
            "longest_wait_s": self.longest_wait_s,
            "service_gap": self.service_gap,
            "sessions": [asdict(share) | {"ratio": share.ratio} for share in self.shares],
            "utilisation": [round(used, 4) for used in self.utilisation],
            "steady": asdict(self.steady),
            "cold": self.cold,
            "rebuilt": self.rebuilt,
            "restarted": self.restarted,
            "believed": self.believed,
        }


def outcome(world: World, pacing: str, believed: float | None) -> Outcome:
    """Return what a finished simulation came to."""
    scenario, start = world.scenario, world.start
    records = sorted(world.records, key=lambda record: record.number)
    steps = scenario.left_for_us()
    ours = replace(scenario.api, itpm=steps[0][1], itpm_schedule=steps[1:])
    taken = [record for record in records if record.outcome != "refused"]
    return Outcome(
        pacing=pacing,
        counts=count(records, scenario.agents, ours, start),
        longest_wait_s=world.meters.longest_wait,
        service_gap=world.meters.fairness.worst,
        shares=tuple(_share(scenario, taken, session, start) for session in _names(scenario)),
        utilisation=_by_minute(taken, steps, start),
        steady=_steady(records, taken, steps, start),
        cold=world.meters.cold,
        rebuilt=world.meters.rebuilt,
        restarted=world.meters.restarted,
        believed=believed,
        records=tuple(records),
        done=tuple(at - start for at in world.meters.done),
        start=start,
    )


def came_in(steps: Sequence[tuple[float, float]], since: float, until: float) -> float:
    """Return the tokens that come into the bucket between two times after the start."""
    total = 0.0
    ends = [*steps[1:], (float("inf"), 0.0)]
    for (begins, itpm), (ends_at, _) in zip(steps, ends, strict=True):
        total += max(0.0, min(until, ends_at) - max(since, begins)) * itpm / 60.0
    return total


def _names(scenario: Scenario) -> list[tuple[str, int]]:
    return [(f"s{number + 1}", agents) for number, agents in enumerate(scenario.sessions)]


def _share(
    scenario: Scenario, taken: Sequence[Record], session: tuple[str, int], start: float
) -> Share:
    name, agents = session
    mine = [record for record in taken if record.session == name]
    delivered = len({record.delivered for record in mine if record.delivered})
    if not mine:
        return Share(name, agents, 0, 0.0, None)
    tails: dict[str | None, float] = {}
    jobs = []
    for record in reversed(mine):
        tails[record.agent] = tails.get(record.agent, 0.0) + record.end - record.t
        jobs.append(Job(record.cost, tails[record.agent]))
    parts = len(scenario.sessions)
    level = (scenario.api.itpm_capacity or scenario.api.itpm) * scenario.api.level / parts
    rates = [(at, itpm / parts) for at, itpm in scenario.left_for_us()]
    span = max(record.end for record in mine) - start
    return Share(name, agents, delivered, span, least_span(jobs, level, rates))


def _by_minute(
    taken: Sequence[Record], steps: Sequence[tuple[float, float]], start: float
) -> tuple[float, ...]:
    if not taken:
        return ()
    last = taken[-1].t - start
    edges = [60.0 * minute for minute in range(int(last // 60) + 1)]
    edges.append(max(last, edges[-1] + 1e-9))
    sums = [0.0] * (len(edges) - 1)
    for record in taken:
        sums[min(len(sums) - 1, int((record.t - start) // 60))] += record.cost
    room = [came_in(steps, since, until) for since, until in pairwise(edges)]
    # The last minute is rarely whole: a few tokens in a moment of it would look like thousands.
    if len(sums) > 1 and edges[-1] - edges[-2] < 10.0:
        sums.pop()
        room.pop()
    return tuple(used / most if most else 0.0 for used, most in zip(sums, room, strict=True))


def _steady(
    records: Sequence[Record],
    taken: Sequence[Record],
    steps: Sequence[tuple[float, float]],
    start: float,
) -> Steady:
    since = start + STEADY_FROM_S
    until = taken[-1].t if taken else start
    if until <= since:
        return Steady(0.0, None, 0, 0)
    late = records[bisect_left(records, since, key=lambda record: record.t) :]
    used = sum(record.cost for record in late if record.outcome != "refused")
    most = came_in(steps, STEADY_FROM_S, until - start)
    refusals = sum(record.outcome == "refused" for record in late)
    return Steady(until - since, used / most if most else None, len(late), refusals)
