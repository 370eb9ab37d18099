"""Many processes on one ledger, in any order: the rules that must hold whatever happens."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from paceline.ledger import admit, belief, prefix, refuse, settle
from paceline.ledger import bucket as buckets
from paceline.ledger.refuse import Refused
from paceline.ledger.values import DIMENSIONS, MAIN, Ledger, Ticket
from paceline.ledger.verdicts import Drop, Grant, Policy, Usage, Verdict, Wait
from strategies_ledger import NEAR, T0, Witness, again, classes, pauses, sizes

THOROUGH = os.environ.get("PACELINE_TEST_THOROUGH", "")
"""Set it to 1 for a run of minutes instead of seconds."""
PROCESSES = ("p", "q", "r")
FAMILIES = ("opus-5", "haiku-4-5")
SESSIONS = ("red", "green", "blue")
LIMITS = st.sampled_from([600.0, 30_000.0, 60_000.0, 240_000.0])

asked = st.fixed_dictionaries(
    {
        "cls": classes,
        "amounts": st.one_of(
            sizes.map(lambda cost: {"input": cost}),
            st.builds(lambda i, o: {"input": i, "output": o}, sizes, st.floats(0.0, 50_000.0)),
        ),
    },
    optional={
        "cache_until": st.floats(0.0, 300.0),
        "deadline": st.floats(0.0, 600.0),
        "prefix_key": st.sampled_from(["m|x|1", "m|y|1"]),
        "first": st.booleans(),
        "attempt": st.integers(0, 20),
        "estimated": st.floats(0.0, 30_000.0),
        "spent_if_lost": st.booleans(),
        "lease": st.floats(1.0, 600.0),
    },
)
"""What one request is asked with."""
process = st.sampled_from(PROCESSES)
chance = st.integers(0, 10_000)


class Ledgers(RuleBasedStateMachine):
    """Grants, settles, crashes, refusals and told limits on one value, interleaved at will."""

    def __init__(self) -> None:
        super().__init__()
        self.now = T0
        self.policy = Policy(headroom=0.0)
        self.ledger = Ledger(clock=T0)
        self.witness = Witness()
        self.tickets: dict[str, set[str]] = {p: set() for p in PROCESSES}
        self.sent: dict[str, list[str]] = {p: [] for p in PROCESSES}
        self.ended: list[str] = []
        self.n = 0

    # What happens

    @initialize(
        headroom=st.sampled_from([0.0, 0.04]),
        overtake=st.sampled_from([0.0, 0.25]),
        told=st.dictionaries(
            st.tuples(st.sampled_from(FAMILIES), st.sampled_from(DIMENSIONS)), LIMITS, max_size=4
        ),
    )
    def begin(self, headroom: float, overtake: float, told: dict[tuple[str, str], float]) -> None:
        self.policy = Policy(headroom=headroom, overtake=overtake)
        for (family, dimension), limit in told.items():
            self._tell(family, dimension, limit, None, "set")

    @rule(
        who=process,
        family=st.sampled_from(FAMILIES),
        session=st.sampled_from(SESSIONS),
        asked=st.lists(asked, min_size=1, max_size=6),
        then=st.booleans(),
    )
    def asks(
        self, who: str, family: str, session: str, asked: list[dict[str, Any]], *, then: bool
    ) -> None:
        for one in asked:
            self.n += 1
            ticket = f"t{self.n}"
            times = {
                name: self.now + one[name] for name in ("cache_until", "deadline") if name in one
            }
            admit.enqueue(
                self.ledger,
                ticket=ticket,
                family=family,
                session=session,
                agent=f"a{self.n}",
                now=self.now,
                **(one | times),
            )
            self.tickets[who].add(ticket)
        self.witness.look(self.ledger)
        if then:
            self._tick([who], slots=True)

    @rule(who=process, slots=st.booleans())
    def ticks(self, who: str, *, slots: bool) -> None:
        self._tick([who], slots=slots)

    @rule()
    def all_tick_at_once(self) -> None:
        self._tick(PROCESSES, slots=True)
        self._nothing_idles()

    @precondition(lambda self: any(self.sent.values()))
    @rule(which=chance, off=st.floats(0.0, 3.0), read=st.sampled_from([0.0, 5_000.0]), out=sizes)
    def is_answered(self, which: int, off: float, read: float, out: float) -> None:
        ident = self._sent(which)
        held = self.ledger.reservations.get(ident) or self.ledger.lost.get(ident)
        counted = int(off * (held.amounts["input"] if held else 100.0))
        usage = Usage(counted - counted // 2, counted // 2, cache_read=read, output=out)
        done = settle.settle(self.ledger, ident, usage, self.now, self.policy)
        spent = {"requests": 1.0, "input": counted, "output": out}
        self.witness.look(self.ledger, ident if done else "", spent)
        assert not settle.settle(self.ledger, ident, usage, self.now, self.policy)
        self.witness.look(self.ledger)
        if done:
            self.ended.append(ident)

    @precondition(lambda self: any(self.sent.values()))
    @rule(which=chance)
    def begins_to_answer(self, which: int) -> None:
        ident = self._sent(which, keep=True)
        settle.began(self.ledger, ident, self.now)
        self.witness.look(self.ledger)

    @precondition(lambda self: any(self.sent.values()))
    @rule(which=chance)
    def never_went(self, which: int) -> None:
        ident = self._sent(which)
        settle.release(self.ledger, ident, self.now, self.policy)
        self.witness.look(self.ledger, ident)
        assert not settle.release(self.ledger, ident, self.now, self.policy)

    @rule(
        which=chance,
        cause=st.sampled_from([*["throttle"] * 6, "overload", "edge", "quota", "auth", "auth"]),
        dimension=st.sampled_from([None, *DIMENSIONS]),
        resets=st.one_of(st.none(), st.floats(-9e5, 9e5)),
        window=st.sampled_from(["", "five_hour", "seven_day_opus", "nonsense"]),
        attempt=st.integers(0, 3000),
    )
    def is_refused(
        self,
        which: int,
        cause: str,
        dimension: str | None,
        resets: float | None,
        window: str,
        attempt: int,
    ) -> None:
        ident = self._sent(which) if any(self.sent.values()) else ""
        held = self.ledger.reservations.get(ident) or self.ledger.lost.get(ident)
        told = Refused(
            cause,
            retryable=cause != "auth",
            resets_at=None if resets is None else self.now + resets,
            window=window,
            dimension=dimension,
        )
        answer = refuse.refuse(
            self.ledger,
            held.family if held else FAMILIES[0],
            told,
            self.now,
            self.policy,
            reservation_id=ident,
            attempt=attempt,
        )
        assert answer.not_before <= self.ledger.clock + 9 * 86_400.0
        self.witness.look(self.ledger, ident)

    @precondition(lambda self: self.ended)
    @rule(which=chance)
    def is_answered_again(self, which: int) -> None:
        """A reservation that has ended ends only once, whoever says so again."""
        ident = self.ended[which % len(self.ended)]
        before = self.ledger.totals.settled
        assert not settle.settle(self.ledger, ident, Usage(1e6), self.now, self.policy)
        self.witness.look(self.ledger)
        assert self.ledger.totals.settled >= before

    @rule(who=process)
    def renews(self, who: str) -> None:
        settle.renew(self.ledger, self.sent[who], self.now, 30.0)
        self.witness.look(self.ledger)

    @precondition(lambda self: any(self.tickets.values()))
    @rule(which=chance)
    def gives_up_waiting(self, which: int) -> None:
        owned = sorted((p, t) for p, mine in self.tickets.items() for t in mine)
        who, ticket = owned[which % len(owned)]
        self.tickets[who].discard(ticket)
        admit.withdraw(self.ledger, ticket, self.now)
        assert ticket not in self.ledger.tickets
        self.witness.look(self.ledger)

    @rule(who=process)
    def dies(self, who: str) -> None:
        self.tickets[who].clear()
        self.sent[who].clear()

    @rule(
        family=st.sampled_from(FAMILIES),
        dimension=st.sampled_from(DIMENSIONS),
        limit=LIMITS,
        part=st.sampled_from([None, 0.25, 1.0]),
        source=st.sampled_from(["set", "header", "text", "probe", "tier"]),
    )
    def a_limit_is_told(
        self, family: str, dimension: str, limit: float, part: float | None, source: str
    ) -> None:
        self._tell(family, dimension, limit, part and part * limit, source)

    @rule(seconds=pauses)
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(seconds=st.one_of(st.floats(0.0, 1.0), st.floats(0.0, 1e5)))
    def the_clock_runs_back(self, seconds: float) -> None:
        self.now -= seconds

    @rule()
    def another_process_reads_the_file(self) -> None:
        self.ledger = again(self.ledger)

    # What must hold

    @invariant()
    def waits_are_in_order(self) -> None:
        queued = [
            (ident, place)
            for sessions in self.ledger.queues.values()
            for queue in sessions.values()
            for place, ident in queue
        ]
        assert sorted(ident for ident, _ in queued) == sorted(self.ledger.tickets)
        assert all(self.ledger.tickets[i].place() == place for i, place in queued)
        assert all(one.expires >= self.ledger.expiry for one in self.ledger.tickets.values())

    # How

    def _sent(self, which: int, *, keep: bool = False) -> str:
        owned = sorted((p, r) for p, mine in self.sent.items() for r in mine)
        who, ident = owned[which % len(owned)]
        if not keep:
            self.sent[who].remove(ident)
        return ident

    def _tell(
        self, family: str, dimension: str, limit: float, capacity: float | None, source: str
    ) -> None:
        belief.tell(
            self.ledger, family, dimension, limit, self.now, source=source, capacity=capacity
        )
        bucket = self.ledger.family(family).buckets[dimension]
        assert bucket.limit is not None
        holds = bucket.limit if bucket.capacity is None else bucket.capacity
        self.witness.told(family, dimension, bucket.limit, holds, self.ledger.clock)
        self.witness.look(self.ledger)

    def _tick(self, who: Any, *, slots: bool) -> dict[str, Verdict]:
        mine = {t for p in who for t in self.tickets[p]}
        waiting = dict(self.ledger.tickets)
        verdicts = admit.tick(self.ledger, set(mine), self.now, self.policy, slots=slots)
        now = self.ledger.clock
        self.witness.look(self.ledger)
        if slots:
            assert verdicts.keys() == mine
        for ident, verdict in verdicts.items():
            owner = next(p for p in who if ident in self.tickets[p])
            if isinstance(verdict, Grant):
                self.sent[owner].append(verdict.reservation)
            elif isinstance(verdict, Wait):
                assert now < verdict.at < now + 9 * 86_400.0
                ticket = waiting[ident]
                assert ticket.cls != MAIN or ticket.attempt, "the main thread was made to wait"
                continue
            else:
                assert verdict == Drop(ident, "gone") or verdict.resets_at
            self.tickets[owner].discard(ident)
        return verdicts

    def _nothing_idles(self) -> None:
        """No ticket that fits is left where nothing of the rules holds it (I4)."""
        for name in FAMILIES:
            queues = self.ledger.queues.get(name, {})
            left = [self.ledger.tickets[i] for queue in queues.values() for _, i in queue]
            if not {t.id for t in left} <= set().union(*self.tickets.values()):
                continue  # tokens are kept for those who died, until their tickets expire
            verdicts = self._tick(PROCESSES, slots=True)
            if any(isinstance(v, Grant) for v in verdicts.values()):
                continue  # what another family was granted in between changed the order
            turn = [t for t in left if getattr(verdicts[t.id], "why", "") == "turn"]
            fit = [t for t in turn if self._fits(t)]
            blocked = [t for t in turn if t not in fit]
            assert not fit or blocked, f"{fit} could go"

    def _fits(self, ticket: Ticket) -> bool:
        family = self.ledger.families[ticket.family]
        amounts, _ = prefix.amounts_of(self.ledger, ticket, self.now)
        for dimension, cost in amounts.items():
            bucket = family.buckets.get(dimension)
            learner = family.learner if dimension == "input" else None
            rate = buckets.rate_of(bucket, learner, self.policy.headroom)
            if bucket is None or rate is None:
                continue
            alone = ticket.family not in {r.family for r in self.ledger.reservations.values()}
            if cost > rate.capacity and not alone:
                return False
            if min(cost, rate.capacity) > bucket.level - NEAR:
                return False
        return True


@pytest.mark.timeout(900 if THOROUGH else 120)
def test_the_rules_hold_for_any_processes_in_any_order() -> None:
    """No interleaving breaks I1, I2, I4 or I5. [I1] [I2] [I4] [I5]"""
    run_state_machine_as_test(
        Ledgers,
        settings=settings(
            max_examples=3_000 if THOROUGH else 120,
            stateful_step_count=100 if THOROUGH else 40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
        ),
    )
