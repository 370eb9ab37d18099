"""Paceline: the ledger's own core on the virtual clock, one desk a process.

The ledger is one value that all desks share, as processes share its file; a desk stands for the
broker of one process. What a request is asked for comes from the same fold over the event log
that hooks and servers use, and what a refusal means from the same classifier, given the row that
the client writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paceline.families import ALL, family_of
from paceline.ledger import admit, belief, refuse, settle
from paceline.ledger.asking import asked_of
from paceline.ledger.cost import Contexts
from paceline.ledger.values import Ledger
from paceline.ledger.verdicts import Grant, Policy, Usage, Wait
from paceline.refusals import from_row
from paceline_bench.simapi.refusals import KINDS
from paceline_bench.simulate.work import MODEL
from paceline_mcp.broker.desk import LEASE_S, RENEW_S, REPLAN_S
from paceline_mcp.broker.gate import as_ledger

if TYPE_CHECKING:
    from paceline.ledger.verdicts import Verdict
    from paceline.refusals import Refusal as Cause
    from paceline_bench.simapi.account import Refusal
    from paceline_bench.simulate.work import Agent
    from paceline_bench.simulate.world import World

FAMILY = family_of(MODEL)
TYPE = "general-purpose"
LOOK_S = 4.0
"""Seconds after which a desk renews the leases of its waiting tickets, which live for ten."""
CLIENT_WORDS = {
    401: "authentication_failed",
    403: "authentication_failed",
    429: "rate_limit",
    529: "overloaded",
}
"""What the client writes into ``error`` of a transcript's row, by status."""


def settled(agent: Agent, now: float) -> tuple[Usage, dict[str, Any]]:
    """Return what the API counted of an agent's request, and the event line that tells it."""
    usage = agent.usage
    assert usage is not None
    output = agent.plan.outputs[agent.step]
    line = {
        "t": now,
        "e": "request.settle",
        "agent": agent.id,
        "id": agent.reservation,
        "model": MODEL,
        "input": usage.input,
        "cache_creation": usage.creation,
        "cache_read": usage.read,
        "output": output,
    }
    return Usage(usage.input, usage.creation, usage.read, output), line


class Paced:
    """Every request asks the ledger first.

    Args:
        world: what it paces.
        policy: of the ledger.
    """

    def __init__(self, world: World, policy: Policy | None = None) -> None:
        scenario = world.scenario
        self.world = world
        self.policy = policy or Policy(headroom=scenario.headroom)
        self.ledger = Ledger(clock=world.clock.now)
        self.revivals = 0
        self.contexts = [Contexts() for _ in scenario.sessions]
        self.desks = [Desk(self) for _ in range(len(scenario.sessions) * scenario.processes)]
        if scenario.told == "set":
            capacity = scenario.api.itpm_capacity if scenario.capacity_told else None
            belief.tell(
                self.ledger,
                ALL,
                "input",
                scenario.api.itpm,
                world.clock.now,
                source="set",
                capacity=capacity,
            )

    def ask(self, agent: Agent) -> None:
        """Put a ticket in through the agent's process."""
        plan, now = agent.plan, self.world.clock.now
        lines: list[dict[str, Any]] = []
        if agent.step:
            result = {"tokens": plan.estimates[agent.step - 1], "ids": [f"t{agent.step}"]}
            lines.append({"t": now, "e": "batch", "agent": agent.id, **result})
        else:
            lines.append({"t": now, "e": "agent.start", "agent": agent.id, "type": TYPE})
        self.contexts[plan.session].fold(lines)
        self.desks[plan.process].ask(agent, self._asked(agent, not_before=0.0))

    def began(self, agent: Agent) -> None:
        """Tell the ledger where the reply warms a prefix for others."""
        desk = self.desks[agent.plan.process]
        if agent.reservation in desk.leaders:
            desk.leaders.discard(agent.reservation)
            desk.tell("began", agent.reservation)

    def ended(self, agent: Agent) -> None:
        """Settle with what the API counted."""
        counted, line = settled(agent, self.world.clock.now)
        self.contexts[agent.plan.session].fold([line])
        self.desks[agent.plan.process].tell("settle", agent.reservation, counted)

    def refused(self, agent: Agent, refusal: Refusal) -> None:
        """Classify it, tell the ledger, and ask again in the slot it gives."""
        desk = self.desks[agent.plan.process]
        desk.tell("refuse", agent.reservation, agent, refusal)

    def crashed(self, process: int) -> None:
        """A new process takes over, knowing nothing; tickets and leases are left to expire."""
        self.desks[process].gone = True
        self.desks[process] = Desk(self)

    def granted(self, agent: Agent, grant: Grant) -> None:
        """Send a request that may go."""
        agent.reservation = grant.reservation
        line = {"t": self.world.clock.now, "e": "request.grant", "agent": agent.id}
        self.contexts[agent.plan.session].fold([line])
        self.world.send(agent)

    def take_refusal(self, agent: Agent, refusal: Refusal, now: float) -> None:
        """Let the ledger take a refusal in, and put the same request in again."""
        line = {"t": now, "e": "request.refused", "agent": agent.id}
        self.contexts[agent.plan.session].fold([line])
        answer = refuse.refuse(
            self.ledger,
            FAMILY,
            as_ledger(cause_of(refusal, now), agent.attempt),
            now,
            self.policy,
            reservation_id=agent.reservation,
            attempt=agent.attempt,
        )
        if not answer.again:
            self.world.drop(agent)
            return
        self.revivals += 1
        agent.attempt += 1
        asked = self._asked(agent, not_before=answer.not_before)
        self.desks[agent.plan.process].ask(agent, asked)

    def _asked(self, agent: Agent, *, not_before: float) -> dict[str, Any]:
        asked = asked_of(
            self.contexts[agent.plan.session],
            session=agent.session,
            agent=agent.id,
            model=MODEL,
            project=agent.session,
            now=self.world.clock.now,
            late=agent.step > 0,
        )
        return {**asked, "attempt": agent.attempt, "not_before": not_before}


class Desk:
    """The waiting requests of one process: one transaction a tick, as the broker's.

    A tick comes a little after something was asked or told, when the earliest slot is due, and at
    least every second while anybody waits.
    """

    def __init__(self, paced: Paced) -> None:
        self.paced = paced
        self.gone = False
        self.leaders: set[str] = set()
        self._waiting: dict[str, Agent] = {}
        self._tickets: set[str] = set()
        self._new: list[tuple[str, dict[str, Any]]] = []
        self._told: list[tuple[Any, ...]] = []
        self._under_way: set[str] = set()
        self._asked = 0
        self._next = float("inf")
        self._renewed = self._looked = 0.0

    def ask(self, agent: Agent, asked: dict[str, Any]) -> None:
        """Put a request in."""
        self._asked += 1
        ticket = agent.ticket = f"{agent.id}#{self._asked}"
        self._waiting[ticket] = agent
        self._tickets.add(ticket)
        self._new.append((ticket, asked))
        self._wake()

    def tell(self, what: str, *told: Any) -> None:
        """Note what the next transaction tells the ledger."""
        self._told.append((what, *told))
        self._wake()

    def _wake(self) -> None:
        world = self.paced.world
        self._tick_at(world.clock.now + world.jittered(world.scenario.wake_s))

    def _tick_at(self, when: float) -> None:
        if when < self._next:
            self._next = when
            self.paced.world.clock.at(when, self._tick, when)

    def _tick(self, when: float) -> None:
        if self.gone or when != self._next:
            return
        self._next = float("inf")
        world, ledger = self.paced.world, self.paced.ledger
        now = world.clock.now
        told, self._told = self._told, []
        for what, reservation, *rest in told:
            self._tell(what, reservation, rest, now)
        if self._under_way and now >= self._renewed + RENEW_S:
            settle.renew(ledger, self._under_way, now, LEASE_S)
            self._renewed = now
        new, self._new = self._new, []
        for ticket, asked in new:
            admit.enqueue(ledger, ticket=ticket, now=now, lease=LEASE_S, **asked)
        if self._waiting:
            whole = now >= self._looked + LOOK_S
            self._looked = now if whole else self._looked
            policy = self.paced.policy
            verdicts = admit.tick(ledger, self._tickets, now, policy, slots=False, renew=whole)
            self._answer(verdicts, now)
        elif self._under_way:
            self._tick_at(now + RENEW_S)

    def _tell(self, what: str, reservation: str, rest: list[Any], now: float) -> None:
        ledger = self.paced.ledger
        if what == "began":
            settle.began(ledger, reservation, now)
            return
        self._under_way.discard(reservation)
        self.leaders.discard(reservation)
        if what == "settle":
            settle.settle(ledger, reservation, rest[0], now, self.paced.policy)
        elif not rest[0].dead:
            self.paced.take_refusal(rest[0], rest[1], now)

    def _answer(self, verdicts: dict[str, Verdict], now: float) -> None:
        due = float("inf")
        for ticket, verdict in verdicts.items():
            if isinstance(verdict, Wait):
                due = min(due, verdict.at)
                continue
            agent = self._waiting.pop(ticket)
            self._tickets.discard(ticket)
            if isinstance(verdict, Grant):
                self._under_way.add(verdict.reservation)
                if verdict.leader:
                    self.leaders.add(verdict.reservation)
                self.paced.granted(agent, verdict)
            else:
                self.paced.world.drop(agent)
        if self._waiting:
            world = self.paced.world
            late = world.jittered(world.scenario.wake_s) if due > now else 0.0
            self._tick_at(min(now + REPLAN_S, max(now, due) + late))
        elif self._under_way:
            self._tick_at(now + RENEW_S)


def cause_of(refusal: Refusal, now: float) -> Cause:
    """Return what the classifier makes of the row that the client writes of a refusal.

    A subscriber's client writes a plan's reset where the response named one; with an API key and
    for everything else the row holds the status and the API's own words.
    """
    kind = KINDS[refusal.kind]
    row: dict[str, Any] = {
        "type": "assistant",
        "isApiErrorMessage": True,
        "error": CLIENT_WORDS.get(kind.status, "unknown"),
        "apiErrorStatus": kind.status,
        "apiErrorType": kind.type,
        "message": {
            "content": [
                {
                    "type": "text",
                    "text": f"API Error: Request rejected ({kind.status}) · {refusal.message}",
                }
            ]
        },
    }
    if kind.code:
        row["apiErrorCode"] = kind.code
    reset = refusal.headers.get("anthropic-ratelimit-unified-reset")
    if reset is not None:
        row |= {
            "apiError": "usage_limit_reached",
            "quotaLimits": {
                "status": "rejected",
                "resetsAt": int(reset),
                "rateLimitType": "five_hour",
            },
        }
    found = from_row(row, now)
    assert found is not None
    return found
