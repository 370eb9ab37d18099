"""Generic limiters in front of the client: each request waits for its estimated tokens.

They are the real libraries, on virtual time, told the API's own limit and capacity and given the
costs that the ledger would reserve. What they lack is not estimates but the rest: they take no
settlement, see no refusal, know no leader, no cache, no order of work, and no other process. A
refused request is tried again by the client itself, as it is without them.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

import aiolimiter
import pyrate_limiter

from paceline.ledger import prefix, settle
from paceline.ledger.asking import asked_of
from paceline.ledger.cost import Contexts
from paceline.ledger.values import Ledger, Reservation, Ticket
from paceline.ledger.verdicts import Policy
from paceline_bench.simulate.alone import Alone
from paceline_bench.simulate.paced import TYPE, settled
from paceline_bench.simulate.work import MODEL

if TYPE_CHECKING:
    from collections.abc import Callable

    from paceline_bench.simulate.work import Agent
    from paceline_bench.simulate.world import World

FOREVER = float("inf")


class Limiter(Protocol):
    """What waits until tokens are there."""

    async def acquire(self, tokens: float) -> None:
        """Return when ``tokens`` may be spent; never more than the capacity is asked for."""


class AioLimiter:
    """aiolimiter: a leaky bucket of an event loop; waiters with the least to ask go first."""

    def __init__(self, itpm: float, capacity: float) -> None:
        self._limiter = aiolimiter.AsyncLimiter(capacity, capacity / itpm * 60.0)

    async def acquire(self, tokens: float) -> None:
        """Wait for tokens."""
        await self._limiter.acquire(tokens)


class PyrateLimiter:
    """pyrate-limiter: its token bucket, in memory; waiters go in the order in which they came."""

    def __init__(self, itpm: float, capacity: float) -> None:
        loop = asyncio.get_running_loop()

        class Virtual(pyrate_limiter.AbstractClock):
            def now(self) -> int:
                return round(loop.time() * 1000)

        rate = pyrate_limiter.Rate(round(itpm), pyrate_limiter.Duration.MINUTE, round(capacity))
        bucket = pyrate_limiter.StateBucket(
            [rate], algorithm=pyrate_limiter.TokenBucket(), clock=Virtual()
        )
        factory = pyrate_limiter.SingleBucketFactory(bucket, schedule_leak=False)
        self._limiter = pyrate_limiter.Limiter(factory)

    async def acquire(self, tokens: float) -> None:
        """Wait for tokens."""
        if not await self._limiter.try_acquire_async(weight=max(1, int(tokens))):
            raise RuntimeError(f"pyrate-limiter cannot let {tokens:.0f} tokens go")


class Generic(Alone):
    """A limiter a process, as these libraries are.

    Args:
        world: what it paces.
        limiter: makes one from (tokens a minute, capacity).
    """

    def __init__(self, world: World, limiter: Callable[[float, float], Limiter]) -> None:
        super().__init__(world)
        scenario = world.scenario
        self.capacity = float(scenario.api.itpm_capacity or scenario.api.itpm)
        places = len(scenario.sessions) * scenario.processes
        self.limiters = [limiter(scenario.api.itpm, self.capacity) for _ in range(places)]
        self.costs = Costs(world)
        self._waiting: set[asyncio.Task[None]] = set()

    def ask(self, agent: Agent) -> None:
        """Wait for the tokens that the ledger would reserve, then send."""
        tokens = min(self.costs.reserve(agent), self.capacity)
        task = asyncio.get_running_loop().create_task(self._send(agent, tokens))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    async def _send(self, agent: Agent, tokens: float) -> None:
        await self.limiters[agent.plan.process].acquire(tokens)
        if not agent.dead:
            self.world.send(agent)

    def began(self, agent: Agent) -> None:
        """Note that a prefix is warm."""
        self.costs.began(agent)

    def ended(self, agent: Agent) -> None:
        """Learn what it cost."""
        self.costs.learn(agent)


class Costs:
    """What the ledger would reserve: the same fold, the same learning, no limit."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ledger = Ledger(clock=world.clock.now)
        self.contexts = [Contexts() for _ in world.scenario.sessions]

    def reserve(self, agent: Agent) -> float:
        """Return the input tokens to reserve for an agent's request."""
        plan, now = agent.plan, self.world.clock.now
        line: dict[str, Any] = {"t": now, "e": "agent.start", "agent": agent.id, "type": TYPE}
        if agent.step:
            result = {"tokens": plan.estimates[agent.step - 1], "ids": [f"t{agent.step}"]}
            line = {"t": now, "e": "batch", "agent": agent.id, **result}
        contexts = self.contexts[plan.session]
        contexts.fold([line])
        asked = asked_of(
            contexts,
            session=agent.session,
            agent=agent.id,
            model=MODEL,
            project=agent.session,
            now=now,
            late=agent.step > 0,
        )
        asked["prefix"] = asked.pop("prefix_key")
        agent.reservation = f"{agent.id}#{agent.step}"
        ticket = Ticket(id=agent.reservation, at=now, seq=0, expires=FOREVER, **asked)
        amounts, _ = prefix.amounts_of(self.ledger, ticket, now)
        self.ledger.add_reservation(
            Reservation(
                id=ticket.id,
                family=ticket.family,
                session=ticket.session,
                agent=ticket.agent,
                cls=ticket.cls,
                amounts=amounts,
                at=now,
                expires=FOREVER,
                prefix=ticket.prefix,
                first=ticket.first,
                estimated=ticket.estimated,
                kind=ticket.kind,
                fixed=ticket.amounts.get("input", 0.0),
            )
        )
        contexts.fold([{"t": now, "e": "request.grant", "agent": agent.id}])
        return amounts.get("input", 0.0)

    def began(self, agent: Agent) -> None:
        """Note that a reply began."""
        settle.began(self.ledger, agent.reservation, self.world.clock.now)

    def learn(self, agent: Agent) -> None:
        """Take in what the API counted."""
        now = self.world.clock.now
        counted, line = settled(agent, now)
        self.contexts[agent.plan.session].fold([line])
        settle.settle(self.ledger, agent.reservation, counted, now, Policy())
