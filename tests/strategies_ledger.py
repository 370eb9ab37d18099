"""A ledger in a test's hands: short ways to ask it, and a witness that counts on its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hypothesis import Phase
from hypothesis import strategies as st

from paceline.ledger import admit, belief
from paceline.ledger.document import from_json, to_json
from paceline.ledger.values import CONTINUATION, DIMENSIONS, MAIN, NEW, Ledger, Reservation
from paceline.ledger.verdicts import Grant, Policy, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

T0 = 1_789_041_600.0
FAMILY = "opus-5"
EXACT = Policy(headroom=0.0)
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
"""For tests of thousands of steps: shrinking one takes longer than reading it."""
NEAR = 1e-3
"""Tokens that the floating point of a long test may lose."""

sizes = st.one_of(
    st.sampled_from([0.0, 1.0, 60_000.0, 60_001.0]),
    st.floats(0.0, 30_000.0),
    st.floats(0.0, 200_000.0),
)
"""Tokens of a request: mostly what agents send, also nothing and more than a bucket holds."""
pauses = st.one_of(
    st.just(0.0), st.floats(0.0, 2.0), st.floats(0.0, 60.0), st.floats(60.0, 8 * 3600.0)
)
classes = st.sampled_from([MAIN, CONTINUATION, CONTINUATION, NEW, NEW])


def limited(
    limit: float = 60_000.0,
    capacity: float | None = None,
    now: float = T0,
    dimension: str = "input",
    family: str = FAMILY,
) -> Ledger:
    """Return a ledger with one limit told, its bucket full."""
    ledger = Ledger(clock=now)
    belief.tell(ledger, family, dimension, limit, now, source="set", capacity=capacity)
    return ledger


def ask(ledger: Ledger, ticket: str, now: float, cost: float = 1000.0, **more: Any) -> None:
    """Put one request in the queue: a continuation of session ``s``, unless ``more`` says else."""
    asked: dict[str, Any] = {
        "family": FAMILY,
        "session": "s",
        "agent": ticket,
        "cls": CONTINUATION,
        "amounts": {"input": cost},
        "lease": 3600.0,
    }
    admit.enqueue(ledger, ticket=ticket, now=now, **{**asked, **more})


def tick(
    ledger: Ledger, now: float, mine: Iterable[str] | None = None, policy: Policy = EXACT
) -> dict[str, Verdict]:
    """Tick for some tickets, or for all that wait."""
    return admit.tick(ledger, list(ledger.tickets) if mine is None else mine, now, policy)


def granted(verdicts: dict[str, Verdict]) -> dict[str, Grant]:
    """Return the grants among the verdicts, in the order they were given."""
    grants = {t: v for t, v in verdicts.items() if isinstance(v, Grant)}
    return dict(sorted(grants.items(), key=lambda item: _number(item[1])))


def _number(grant: Grant) -> int:
    return int(grant.reservation[1:].split("-")[0], 16)


def take(ledger: Ledger, ticket: str, now: float, cost: float = 1000.0, **more: Any) -> Grant:
    """Ask, and expect to be let go at once."""
    ask(ledger, ticket, now, cost, **more)
    verdict = tick(ledger, now, [ticket])[ticket]
    assert isinstance(verdict, Grant), verdict
    return verdict


def level(ledger: Ledger, dimension: str = "input", family: str = FAMILY) -> float:
    """Return the level of a bucket as it was when it was last touched."""
    return ledger.families[family].buckets[dimension].level


def again(ledger: Ledger) -> Ledger:
    """Return the ledger as the next process reads it; what is derived must come out the same."""
    read = from_json(to_json(ledger))
    assert (read.queues, read.dated) == (ledger.queues, ledger.dated)
    assert (read.going, read.sending) == (ledger.going, ledger.sending)
    assert ledger.expiry <= read.expiry
    return read


@dataclass
class Meter:
    """A token bucket of our own, fed with what the ledger did: rule I1 by recomputation.

    ``left`` is the least, over all starts of an interval that ends now, of what the interval still
    allows: capacity + rate x length - what was taken in it. It is never above the capacity.
    """

    capacity: float
    per_s: float
    left: float
    at: float

    def take(self, tokens: float, now: float) -> float:
        """Take tokens (negative: they came back) and return what is left."""
        self.left = min(self.capacity, self.left + self.per_s * max(0.0, now - self.at)) - tokens
        self.at = now
        return self.left


@dataclass
class Witness:
    """Looks at a ledger after each step and holds it to I1 and I2.

    Attributes:
        meters: by (family, dimension), for the limits the test told.
        held: the reservations seen under way.
        lost: those seen to expire.
    """

    meters: dict[tuple[str, str], Meter] = field(default_factory=dict)
    held: dict[str, Reservation] = field(default_factory=dict)
    lost: dict[str, Reservation] = field(default_factory=dict)
    clock: float = T0

    def told(self, family: str, dimension: str, limit: float, capacity: float, now: float) -> None:
        """Note a limit that was told."""
        meter = self.meters.get((family, dimension))
        if meter is None:
            self.meters[family, dimension] = Meter(capacity, limit / 60.0, capacity, now)
            return
        meter.take(0.0, now)
        meter.capacity, meter.per_s = capacity, limit / 60.0
        meter.left = min(meter.left, capacity)

    def look(
        self, ledger: Ledger, ended: str = "", counted: dict[str, float] | None = None
    ) -> None:
        """Compare with the last look.

        Args:
            ledger: after a step.
            ended: the reservation that the step settled, released or refused.
            counted: what the API counted for it, None when it was not charged.
        """
        now = ledger.clock
        if now < self.clock:
            for meter in self.meters.values():
                meter.at += now - self.clock
        self.clock = now
        for gone in [r for r in self.held.values() if r.id in ledger.lost]:
            self.lost[gone.id] = self.held.pop(gone.id)
            if not gone.spent_if_lost:
                self._take(gone, gone.amounts, {}, now)
        if ended in self.held and ended not in ledger.reservations:
            gone = self.held.pop(ended)
            self._take(gone, gone.amounts, counted or {}, now)
        elif ended in self.lost and ended not in ledger.lost:
            gone = self.lost.pop(ended)
            self._take(gone, gone.amounts if gone.spent_if_lost else {}, counted or {}, now)
        for new in ledger.reservations.values():
            if new.id not in self.held:
                self.held[new.id] = new
                left = self._take(new, {}, new.amounts, now)
                if new.cls != MAIN and not new.alone:
                    assert left >= -NEAR, f"{new} went where {left:.1f} tokens were left"
        assert self.held.keys() == ledger.reservations.keys()
        self.conserved(ledger)

    @staticmethod
    def conserved(ledger: Ledger) -> None:
        """Hold the totals to rule I2."""
        totals = ledger.totals
        ended = totals.settled + totals.released + totals.expired
        under_way = sum(r.amounts.get("input", 0.0) for r in ledger.reservations.values())
        assert abs(totals.taken - ended - under_way) < NEAR + 1e-9 * totals.taken, totals

    def _take(
        self, of: Reservation, back: dict[str, float], tokens: dict[str, float], now: float
    ) -> float:
        """Take tokens for what came back, and return the least that a bucket has left."""
        least = float("inf")
        for dimension in DIMENSIONS:
            meter = self.meters.get((of.family, dimension))
            if meter is not None:
                taken = tokens.get(dimension, 0.0)
                left = meter.take(taken - back.get(dimension, 0.0), now)
                if taken > 0:
                    least = min(least, left)
        return least
