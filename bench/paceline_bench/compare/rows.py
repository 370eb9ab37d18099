"""Who is compared, in which scenarios."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from paceline_bench.compare.generic import AioLimiter, Generic, PyrateLimiter
from paceline_bench.compare.loop import run
from paceline_bench.simulate import SEED_API, Scenario, Sizes, play_alone, play_paced
from paceline_bench.simulate.outcome import outcome
from paceline_bench.simulate.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from paceline_bench.compare.generic import Limiter
    from paceline_bench.compare.loop import LoopClock
    from paceline_bench.simulate import Outcome

LIMITERS: dict[str, Callable[[float, float], Limiter]] = {
    "aiolimiter": AioLimiter,
    "pyrate-limiter": PyrateLimiter,
}
WIDTHS = (15, 10, 5)
"""Agents at once: what the seed's user tried by hand."""

SCENARIOS: dict[str, tuple[str, str, Scenario]] = {
    "workflow": (
        "A workflow of 40 agents, two reads of 25,000 tokens each, 15 at once",
        "200,000 input tokens a minute, a bucket of as many",
        Scenario(),
    ),
    "agents": (
        "12 Agent calls at once, two reads of 25,000 tokens each",
        "240,000 input tokens a minute, a bucket of 60,000",
        Scenario(
            sessions=(12,),
            width=0,
            stagger_s=0.0,
            api=replace(SEED_API, itpm=240_000, itpm_capacity=60_000),
        ),
    ),
    "mixed": (
        "40 Agent calls at once, 10 requests each, results of mixed sizes",
        "200,000 input tokens a minute, a bucket of 60,000",
        Scenario(
            requests=10,
            reads=Sizes("mixed"),
            width=0,
            stagger_s=0.0,
            api=replace(SEED_API, itpm_capacity=60_000),
        ),
    ),
    "sessions": (
        "Two sessions of 30 and 6 agents, 6 requests each, reads of 2,000 to 25,000 tokens",
        "200,000 input tokens a minute, a bucket of 60,000",
        Scenario(
            sessions=(30, 6),
            requests=6,
            reads=Sizes("uniform", 2_000, 25_000),
            width=0,
            stagger_s=0.0,
            api=replace(SEED_API, itpm_capacity=60_000),
        ),
    ),
}
"""Name -> (the work in words, the limit in words, both)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One way of pacing in one scenario.

    Attributes:
        scenario: its name.
        pacing: who paced.
        told: what it was told of the limit: ``limit and capacity`` or ``nothing``.
        delivered: agents.
        launched: agents.
        refusals: refused requests.
        span_s: seconds from the first request to the end of the last.
        ratio: the span by the least possible for the tokens it spent; None where agents were lost,
            since the work was not done.
        tokens: uncached input tokens.
        unrefused: those of the same work without pacing and without a limit.
    """

    scenario: str
    pacing: str
    told: str
    delivered: int
    launched: int
    refusals: int
    span_s: float
    ratio: float | None
    tokens: int
    unrefused: int

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON holds them."""
        return {name: getattr(self, name) for name in self.__slots__}


def compared(names: list[str], seed: int) -> Iterator[Row]:
    """Yield the rows of some scenarios, each as soon as it is played."""
    for name in names:
        scenario = replace(SCENARIOS[name][2], seed=seed)
        unrefused = play_alone(scenario.unlimited()).counts.uncached_tokens
        for pacing, told, play in _pacings(scenario):
            played = play()
            counts = played.counts
            yield Row(
                scenario=name,
                pacing=pacing,
                told=told,
                delivered=counts.delivered,
                launched=counts.launched,
                refusals=counts.refusals,
                span_s=counts.span_s,
                ratio=None if counts.dropped else counts.ratio,
                tokens=counts.uncached_tokens,
                unrefused=unrefused,
            )


def _pacings(scenario: Scenario) -> Iterator[tuple[str, str, Callable[[], Outcome]]]:
    known, nothing = "limit and capacity", "nothing"
    if not scenario.width:
        yield "client alone, all at once", nothing, partial(play_alone, scenario)
    for width in (width for width in WIDTHS if width < max(scenario.sessions)):
        narrow = partial(play_alone, replace(scenario, width=width))
        yield f"client alone, {width} at once", nothing, narrow
    for name, limiter in LIMITERS.items():
        yield name, known, partial(play_generic, scenario, name, limiter)
    yield "Paceline", nothing, partial(play_paced, replace(scenario, told="hidden"))
    yield "Paceline", known, partial(play_paced, replace(scenario, told="set"))


def play_generic(
    scenario: Scenario, name: str, limiter: Callable[[float, float], Limiter]
) -> Outcome:
    """Return what a scenario comes to with a generic limiter in front of the client."""

    async def main(clock: LoopClock) -> Outcome:
        world = World(scenario, clock)
        world.begin(Generic(world, limiter))
        await clock.stopped()
        return outcome(world, name, None)

    return run(main)
