"""The simulated world: agents that send requests to the simulated API on a virtual clock.

The API is the simulated API's own account and prompt cache; who goes when is a :class:`Pacing`'s
decision. A request's way: ``ask`` the pacing, ``send``, arrive, begin, end.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Protocol

from paceline_bench.simapi.account import Account, Refusal
from paceline_bench.simapi.cache import PromptCache
from paceline_bench.simapi.records import Record
from paceline_bench.simulate.meters import QUEUED_S, Meters
from paceline_bench.simulate.work import MODEL, Agent, plans

if TYPE_CHECKING:
    from collections.abc import Callable

    from paceline_bench.simulate.scenario import Scenario
    from paceline_bench.simulate.timeline import Clock
    from paceline_bench.simulate.work import Plan

START_SPREAD_S = 0.05
"""Agents of one message start within this time."""


class Pacing(Protocol):
    """Who decides when a request goes."""

    def ask(self, agent: Agent) -> None:
        """An agent wants to send its request: call ``World.send`` when it may."""

    def began(self, agent: Agent) -> None:
        """Its reply began."""

    def ended(self, agent: Agent) -> None:
        """Its reply ended; ``agent.usage`` is what the API counted."""

    def refused(self, agent: Agent, refusal: Refusal) -> None:
        """It was refused: ask again some time, or call ``World.drop``."""

    def crashed(self, process: int) -> None:
        """A process died, with all it knew."""


class World:
    """One simulation.

    Args:
        scenario: what is simulated.
        clock: virtual.
        progress: called now and then with (agents that ended, all agents).
    """

    def __init__(
        self,
        scenario: Scenario,
        clock: Clock,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.scenario = scenario
        self.clock = clock
        self.start = clock.now
        self.random = Random(scenario.seed + 1)
        self.account = Account(scenario.api, self.start)
        self.cache = PromptCache(scenario.api.min_cache_tokens)
        self.meters = Meters()
        self.records: list[Record] = []
        self.pacing: Pacing
        self._progress = progress
        self._requests = 0
        self._left = scenario.agents
        self._running: dict[str, Agent] = {}
        self._lives: dict[str, int] = {}
        self._queues: list[deque[Plan]] = [deque() for _ in scenario.sessions]
        self._free = [scenario.width or agents for agents in scenario.sessions]
        self._staggered = [scenario.stagger_s > 0 for _ in scenario.sessions]

    def begin(self, pacing: Pacing) -> None:
        """Launch every session's agents; the clock then runs the rest."""
        self.pacing = pacing
        for plan in plans(self.scenario):
            self._queues[plan.session].append(plan)
        for session in range(len(self._queues)):
            self._fill(session)
            if self._staggered[session]:
                self.clock.at(self.start + self.scenario.stagger_s, self._unstagger, session)
        for after, itpm in self.scenario.tenants:
            self.clock.at(self.start + after, self._drain, itpm)
        for after, process in self.scenario.crashes:
            self.clock.at(self.start + after, self._crash, process)

    def jittered(self, mean: float) -> float:
        """Return a time around ``mean``: half to one and a half of it."""
        return mean * self.random.uniform(0.5, 1.5)

    def send(self, agent: Agent) -> None:
        """Let an agent's request go: it reaches the API a little later."""
        agent.sent_at = self.clock.now
        self.clock.at(agent.sent_at + self.jittered(self.scenario.latency_s), self._arrive, agent)

    def drop(self, agent: Agent) -> None:
        """Give an agent up."""
        agent.dead = True
        self.meters.dropped.append(self.clock.now)
        self._unqueue(agent)
        self._ended(agent)

    # -- agents ----------------------------------------------------------------------------------

    def _fill(self, session: int) -> None:
        queue = self._queues[session]
        while queue and self._free[session] > 0:
            self._free[session] -= 1
            self._launch(queue.popleft(), self.clock.now + self.random.uniform(0, START_SPREAD_S))
            if self._staggered[session]:
                return

    def _unstagger(self, session: int) -> None:
        if self._staggered[session]:
            self._staggered[session] = False
            self._fill(session)

    def _launch(self, plan: Plan, when: float) -> None:
        life = self._lives[plan.label] = self._lives.get(plan.label, 0) + 1
        agent = self._running[plan.label] = Agent(plan, life, self.scenario)
        self.clock.at(when, self._wants, agent)

    def _wants(self, agent: Agent) -> None:
        if agent.dead:
            return
        agent.asked_at = self.clock.now
        agent.waits = True
        self.clock.at(agent.asked_at + QUEUED_S, self._queue, agent, agent.step)
        self.pacing.ask(agent)

    def _queue(self, agent: Agent, step: int) -> None:
        if agent.waits and agent.step == step and not agent.dead:
            agent.queued = True
            self.meters.fairness.queued(agent.plan.session)

    def _unqueue(self, agent: Agent) -> None:
        if agent.queued:
            agent.queued = False
            self.meters.fairness.left(agent.plan.session)

    def _ended(self, agent: Agent) -> None:
        del self._running[agent.plan.label]
        session = agent.plan.session
        self._free[session] += 1
        self._left -= 1
        if self._progress is not None:
            self._progress(self.scenario.agents - self._left, self.scenario.agents)
        if not self._left:
            # The last reply is still told to whoever paces it.
            self.clock.at(self.clock.now + 1.0 + 2.0 * self.scenario.wake_s, self.clock.stop)
        self._fill(session)

    # -- requests --------------------------------------------------------------------------------

    def _arrive(self, agent: Agent) -> None:
        if agent.dead:
            return
        now = self.clock.now
        usage = self.cache.usage(agent.prompt, now)
        verdict = self.account.ask(MODEL, usage, now, agent=True)
        agent.number = self._requests
        self._requests += 1
        agent.sent_at = now
        if isinstance(verdict, Refusal):
            agent.before = self.account.at(MODEL, now)["input"].level
            self._record(agent, "refused", usage.uncached, kind=verdict.kind)
            back = now + self.jittered(self.scenario.latency_s)
            self.clock.at(back, self._refused, agent, verdict)
            return
        agent.usage, agent.before, agent.waits = usage, verdict.before, False
        waited = now - agent.asked_at
        meters = self.meters
        meters.longest_wait = max(meters.longest_wait, waited)
        meters.fairness.got(agent.plan.session, usage.uncached)
        self._unqueue(agent)
        if agent.step:
            meters.rebuilt += usage.read <= self.scenario.prefix
        else:
            meters.cold += usage.read == 0
        self.clock.at(now + self.scenario.api.ttfb_s, self._begins, agent)

    def _refused(self, agent: Agent, refusal: Refusal) -> None:
        if not agent.dead:
            self.pacing.refused(agent, refusal)

    def _begins(self, agent: Agent) -> None:
        if agent.dead:
            return
        self.cache.begin(agent.prompt, self.clock.now)
        self.pacing.began(agent)
        self._unstagger(agent.plan.session)
        took = agent.plan.outputs[agent.step] * self.scenario.api.s_per_token
        self.clock.at(self.clock.now + took, self._ends, agent)

    def _ends(self, agent: Agent) -> None:
        if agent.dead:
            return
        now = self.clock.now
        self.account.produced(MODEL, agent.plan.outputs[agent.step], now)
        self._record(agent, "ok", 0)
        self.pacing.ended(agent)
        if agent.last:
            self.meters.done.append(now)
            self._ended(agent)
            return
        agent.advance()
        self.clock.at(now + self.jittered(self.scenario.tool_s), self._wants, agent)

    def _record(self, agent: Agent, outcome: str, asked: int, kind: str | None = None) -> None:
        usage = agent.usage
        cost = usage.uncached if usage is not None else 0
        output = agent.plan.outputs[agent.step] if outcome == "ok" else 0
        self.records.append(
            Record(
                number=agent.number,
                t=agent.sent_at,
                end=self.clock.now,
                session=agent.session,
                agent=agent.id,
                role="agent",
                label=agent.plan.label,
                step=agent.step,
                model=MODEL,
                stream=True,
                attempt=agent.attempt,
                outcome=outcome,
                kind=kind,
                input=usage.input if usage is not None else 0,
                cache_creation=usage.creation if usage is not None else 0,
                cache_read=usage.read if usage is not None else 0,
                output=output,
                cost=cost,
                asked=asked or cost,
                before=agent.before,
                after=agent.before - cost,
                ttfb=self.scenario.api.ttfb_s,
                delivered=agent.plan.label if agent.last and outcome == "ok" else None,
            )
        )

    # -- what goes wrong ---------------------------------------------------------------------------

    def _drain(self, itpm: int) -> None:
        buckets = self.account.at(MODEL, self.clock.now)
        buckets["input"] = replace(buckets["input"], drain=itpm)

    def _crash(self, process: int) -> None:
        """End a process: requests under way are lost, its agents begin anew a little later."""
        dead = [a for a in self._running.values() if a.plan.process == process]
        self.pacing.crashed(process)
        again = self.clock.now + self.scenario.restart_s
        for agent in dead:
            agent.dead = True
            self.meters.restarted += 1
            if agent.usage is not None:
                self._record(agent, "aborted", 0)
            self._unqueue(agent)
            self._launch(agent.plan, again + self.random.uniform(0, START_SPREAD_S))
