"""Run ``python -m paceline_bench.hidden_limit``: how well a limit that nobody tells is found.

A hidden token bucket on a virtual clock stands for the API: it admits a request when it holds its
tokens and refuses it without a number when not. Agents with more work than the limit allows ask
the ledger, whose core is the one the plugin runs. From the second minute on, the share of the
limit that was used and the share of requests that were refused are counted. With ``--large``: how
soon a limit of 30,000 a minute is found by requests of 10,000 to 25,000 tokens, beside one told.
"""

from __future__ import annotations

import heapq
import itertools
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline.ledger import admit, belief, refuse, settle
from paceline.ledger.refuse import Refused
from paceline.ledger.values import CONTINUATION, Ledger
from paceline.ledger.verdicts import Grant, Policy, Usage, Wait

if TYPE_CHECKING:
    from collections.abc import Callable

T0 = 1_789_041_600.0
FAMILY = "opus-5"
SETTLE_IN_S = 120.0


@dataclass(frozen=True, slots=True)
class Mix:
    """What requests cost and how long they take.

    Attributes:
        name: for the table.
        cost: draws the tokens of one request.
        mean: their mean, for the number of agents.
        off: how far an estimate is off (a standard deviation of the logarithm).
        service: seconds an answer takes, least and most.
    """

    name: str
    cost: Callable[[random.Random], float]
    mean: float
    off: float = 0.15
    service: tuple[float, float] = (3.0, 20.0)


def _small(draw: random.Random) -> float:
    return draw.uniform(500.0, 3_500.0)


def _mixed(draw: random.Random) -> float:
    return min(25_000.0, draw.lognormvariate(8.3, 0.8))


def _reads(draw: random.Random) -> float:
    return draw.uniform(20_000.0, 27_000.0) if draw.random() < 0.2 else draw.uniform(800.0, 3_000.0)


def _large(draw: random.Random) -> float:
    return draw.uniform(10_000.0, 25_000.0)


MIXES = {
    mix.name: mix
    for mix in (
        Mix("small", _small, 2_000.0),
        Mix("mixed", _mixed, 5_300.0),
        Mix("reads", _reads, 6_200.0),
        Mix("large", _large, 17_500.0, off=0.06),
    )
}


@dataclass(slots=True)
class Api:
    """The hidden bucket. ``change`` may move its rate and capacity at a time."""

    per_s: float
    capacity: float
    level: float = 0.0
    at: float = T0

    def admits(self, cost: float, now: float) -> bool:
        """Take ``cost`` when it is there."""
        self.level = min(self.capacity, self.level + self.per_s * (now - self.at))
        self.at = now
        if self.level < cost:
            return False
        self.level -= cost
        return True


@dataclass(slots=True)
class Found:
    """One run.

    Attributes:
        used: part of the limit used from ``SETTLE_IN_S`` on.
        refused: refused requests of all sent, from then on.
        refused_before: refusals before that.
        least_used: the least part used in any whole minute from then on.
        longest_wait: seconds from the first ask of a request to its acceptance.
        lost: agents that are neither waiting nor under way nor thinking at the end.
        pace: what the ledger believed at the end, as a part of the truth.
        requests: sent from ``SETTLE_IN_S`` on.
        minutes: part of the last rate used in each minute of the run.
    """

    used: float = 0.0
    refused: float = 0.0
    refused_before: int = 0
    least_used: float = 0.0
    longest_wait: float = 0.0
    lost: int = 0
    pace: float = 0.0
    requests: int = 0
    minutes: tuple[float, ...] = ()


@dataclass(slots=True)
class _Agent:
    name: str
    session: str
    cost: float = 0.0
    estimate: float = 0.0
    attempt: int = 0
    since: float = 0.0


@dataclass(slots=True)
class Run:
    """A virtual clock with agents on one side and the hidden bucket on the other."""

    mix: Mix
    api: Api
    minutes: float = 10.0
    demand: float = 2.5
    seed: int = 1
    policy: Policy = field(default_factory=Policy)
    known: bool = False
    """Whether the limit is told at the start."""
    changes: list[tuple[float, float]] = field(default_factory=list)
    """``(second, factor)``: from then on the bucket's rate is its first one times the factor."""
    ledger: Ledger = field(default_factory=lambda: Ledger(clock=T0))
    events: list[tuple[float, int, str, Any]] = field(default_factory=list)
    order: Any = field(default_factory=itertools.count)
    draw: random.Random = field(default_factory=random.Random)
    waiting: dict[str, _Agent] = field(default_factory=dict)
    taken: list[tuple[float, float]] = field(default_factory=list)
    told: list[tuple[float, bool]] = field(default_factory=list)
    agents: int = 0
    longest: float = 0.0
    due: float = 0.0

    def play(self) -> Found:
        """Run to the end and count."""
        self.draw.seed(self.seed)
        self.api.level = self.api.capacity
        rate = self.api.per_s
        if self.known:
            belief.tell(
                self.ledger,
                FAMILY,
                "input",
                rate * 60.0,
                T0,
                source="set",
                capacity=self.api.capacity,
            )
        service = sum(self.mix.service) / 2 + 2.0
        self.agents = max(3, round(self.demand * rate * service / self.mix.mean))
        for i in range(self.agents):
            self._later(self.draw.uniform(0.0, 2.0), "asks", _Agent(f"a{i}", f"s{i % 3}"))
        for second, factor in self.changes:
            self._later(second, "changes", rate * factor)
        end = T0 + self.minutes * 60.0
        while self.events and self.events[0][0] <= end:
            now, _, what, data = heapq.heappop(self.events)
            getattr(self, f"_{what}")(data, now)
        return self._found(end)

    def _later(self, at: float, what: str, data: Any) -> None:
        at = at if at >= T0 else T0 + at
        heapq.heappush(self.events, (at, next(self.order), what, data))

    def _changes(self, per_s: float, now: float) -> None:
        self.api.admits(0.0, now)
        self.api.per_s = per_s

    def _asks(self, agent: _Agent, now: float) -> None:
        agent.cost = self.mix.cost(self.draw)
        agent.estimate = agent.cost * self.draw.lognormvariate(0.0, self.mix.off)
        agent.attempt, agent.since = 0, now
        self._enqueue(agent, now, 0.0)

    def _enqueue(self, agent: _Agent, now: float, not_before: float) -> None:
        ticket = f"{agent.name}-{next(self.order)}"
        self.waiting[ticket] = agent
        admit.enqueue(
            self.ledger,
            ticket=ticket,
            family=FAMILY,
            session=agent.session,
            agent=agent.name,
            cls=CONTINUATION,
            amounts={"input": agent.estimate},
            attempt=agent.attempt,
            not_before=not_before,
            now=now,
        )
        self._looks(None, now)

    def _looks(self, due: float | None, now: float) -> None:
        if due is not None and due != self.due:
            return
        verdicts = admit.tick(self.ledger, set(self.waiting), now, self.policy)
        at = now + 1.0
        for ticket, verdict in verdicts.items():
            if isinstance(verdict, Grant):
                agent = self.waiting.pop(ticket)
                arrives = now + self.draw.uniform(0.05, 0.4)
                self._later(arrives, "arrives", (agent, verdict.reservation))
            elif isinstance(verdict, Wait):
                at = min(at, verdict.at)
        if self.waiting:
            self.due = max(at, now + 0.01)
            self._later(self.due, "looks", self.due)

    def _arrives(self, data: tuple[_Agent, str], now: float) -> None:
        agent, _ = data
        admitted = self.api.admits(agent.cost, now)
        self.told.append((now, admitted))
        if admitted:
            self.taken.append((now, agent.cost))
            self.longest = max(self.longest, now - agent.since)
            self._later(now + self.draw.uniform(*self.mix.service), "answered", data)
        else:
            self._later(now + self.draw.uniform(0.1, 0.6), "refused", data)

    def _answered(self, data: tuple[_Agent, str], now: float) -> None:
        agent, reservation = data
        settle.settle(self.ledger, reservation, Usage(input=agent.cost), now, self.policy)
        self._later(now + self.draw.uniform(0.2, 4.0), "asks", agent)
        self._looks(None, now)

    def _refused(self, data: tuple[_Agent, str], now: float) -> None:
        agent, reservation = data
        answer = refuse.refuse(
            self.ledger,
            FAMILY,
            Refused("throttle"),
            now,
            self.policy,
            reservation_id=reservation,
            attempt=agent.attempt,
        )
        agent.attempt += 1
        self._enqueue(agent, now, answer.not_before)

    def _found(self, end: float) -> Found:
        start = T0 + SETTLE_IN_S
        sent = [ok for at, ok in self.told if at >= start]
        tokens = [0.0] * int(self.minutes)
        for at, cost in self.taken:
            tokens[min(len(tokens) - 1, int((at - T0) / 60.0))] += cost
        minutes = [taken / (self.api.per_s * 60.0) for taken in tokens]
        steady = minutes[int(SETTLE_IN_S / 60.0) :]
        pace = self.ledger.families[FAMILY].learner.pace
        waits = [end - agent.since for agent in self.waiting.values()]
        elsewhere = {
            what[0].name if isinstance(what, tuple) else what.name for what in self._busy()
        }
        return Found(
            used=sum(steady) / len(steady),
            refused=sent.count(False) / max(1, len(sent)),
            refused_before=sum(not ok for at, ok in self.told if at < start),
            least_used=min(steady),
            longest_wait=max([self.longest, *waits]),
            lost=self.agents - len(elsewhere | {agent.name for agent in self.waiting.values()}),
            pace=(pace or 0.0) / self.api.per_s,
            requests=len(sent),
            minutes=tuple(round(part, 3) for part in minutes),
        )

    def _busy(self) -> list[Any]:
        return [data for _, _, what, data in self.events if what not in {"looks", "changes"}]


def large(seeds: int) -> None:
    """Print how soon a small limit is found by requests that are most of its bucket."""
    print("limit   off  minutes  used  least  refused  a run  of  after ten minutes")
    for known, off, minutes in itertools.product((False, True), (0.06, 0.15), (10, 30, 60)):
        mix = replace(MIXES["large"], off=off)
        plays = [
            Run(mix, Api(500.0, 30_000.0), seed=seed + 1, minutes=minutes, known=known)
            for seed in range(seeds)
        ]
        runs = [play.play() for play in plays]
        sent = sum(run.requests for run in runs)
        refused = sum(run.refused * run.requests for run in runs)
        late = [ok for play in plays for at, ok in play.told if at >= T0 + 600.0]
        print(
            f"{'told' if known else 'hidden':6s} {off:4.2f}  {minutes:7d}"
            f"  {sum(run.used for run in runs) / seeds:4.2f}  {min(run.used for run in runs):5.2f}"
            f"  {refused / sent:7.3f}  {refused / seeds:5.2f}  {sent / seeds:2.0f}"
            f"  {late.count(False) / len(late) if late else 0.0:5.3f}",
            flush=True,
        )


LIMITS = (30_000, 60_000, 240_000, 1_000_000)
CAPACITIES_S = (15, 30, 60)


def main(
    seeds: Annotated[int, typer.Option(help="Runs a row.")] = 2,
    *,
    only_large: Annotated[bool, typer.Option("--large", help="A small limit.")] = False,
) -> None:
    """Print what was used and refused for limits, capacities and costs of all kinds."""
    if only_large:
        large(seeds)
        return
    print("limit/min  capacity  mix    used  least  refused  of     before  longest wait")
    for limit, seconds, mix in itertools.product(LIMITS, CAPACITIES_S, MIXES.values()):
        per_s = limit / 60.0
        if per_s * seconds < 30_000.0 and mix.name != "small":
            continue  # its largest requests would not fit into the bucket at all
        runs = [
            Run(mix, Api(per_s, per_s * seconds), seed=seed + 1).play() for seed in range(seeds)
        ]
        sent = sum(run.requests for run in runs)
        refused = sum(run.refused * run.requests for run in runs) / sent
        used, least = sum(run.used for run in runs) / seeds, min(run.least_used for run in runs)
        print(
            f"{limit:9d} {per_s * seconds:9.0f}  {mix.name:6s} {used:4.3f}  {least:5.3f}"
            f"  {refused:7.4f}  {sent:5d}  {max(run.refused_before for run in runs):6d}"
            f"  {max(run.longest_wait for run in runs):6.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    typer.run(main)
