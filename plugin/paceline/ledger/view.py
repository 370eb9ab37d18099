"""One family during one tick: how its buckets fill, and what is left after those before."""

from __future__ import annotations

from dataclasses import dataclass, field  # noqa: TID253 - off the hook's fast path
from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

from paceline.ledger import bucket as buckets
from paceline.ledger import history, learn, levels
from paceline.ledger.values import DIMENSIONS

if TYPE_CHECKING:
    from paceline.ledger.bucket import Rate
    from paceline.ledger.values import Amounts, Ledger, Ticket
    from paceline.ledger.verdicts import Policy

ALONE_S = 30.0
"""A request that has to run alone waits for those under way, but no longer than this at a full
bucket: the API has counted them long ago, and a reply of ten minutes would stop everybody."""
SLOT_LEAST_S = 0.005
LOOK_AGAIN_S = 0.5
"""A ticket that waits for others to end, not for tokens, looks again after this."""


@dataclass(slots=True)
class View:
    """One family during one tick.

    Attributes:
        name: the family.
        rates: how each bucket fills, None where nothing is known.
        levels: what is left in each.
        settled_at: from when on all that is under way counts no more for one that runs alone,
            None until somebody wants to know.
        overdue: from when on one may go whatever the level of a bucket that nobody told of.
        ahead: what waits before the next one, by dimension.
        blocked: the first that does not fit.
        allowance: parts of the capacity that may still go before ``blocked``.
        spaced: the last slot given out where slots are apart.
        recent: tokens that went lately, None until somebody wants to know (``slots``).
        passed: how many wait.
    """

    name: str
    rates: dict[str, Rate | None]
    levels: dict[str, float]
    settled_at: float | None
    overdue: float
    ahead: dict[str, float] = field(default_factory=dict)
    blocked: Ticket | None = None
    allowance: float = 0.0
    spaced: float = 0.0
    recent: float | None = None
    passed: int = 0

    def earmark(self, amounts: Amounts, now: float) -> None:
        """Take what goes, or what is kept for another process's ticket."""
        self.settled_at, self.overdue = now + ALONE_S, float("inf")
        for dimension, cost in amounts.items():
            self.levels[dimension] -= cost

    def queue(self, amounts: Amounts) -> None:
        """Add what waits, for the slots of those behind it."""
        self.passed += 1
        for dimension, cost in amounts.items():
            self.ahead[dimension] = self.ahead.get(dimension, 0.0) + cost

    def fits(self, amounts: Amounts, ledger: Ledger, now: float) -> bool:
        """Whether it may go at these levels."""
        overdue = self.blocked is None and now >= self.overdue
        for d, cost in amounts.items():
            rate = self.rates[d]
            if rate is None or (d == "input" and overdue):
                continue
            alone = cost > rate.capacity and self._is_alone(ledger, now)
            if not buckets.fits(cost, self.levels[d], rate, alone=alone):
                return False
        return True

    def _is_alone(self, ledger: Ledger, now: float) -> bool:
        if self.settled_at is None:
            going = (r.at for r in ledger.reservations.values() if r.family == self.name)
            self.settled_at = max(going, default=now - ALONE_S) + ALONE_S
        return now >= self.settled_at

    def wait(self, amounts: Amounts, now: float) -> float:
        """Return the seconds after which it should look again."""
        seconds = 0.0
        for d, cost in amounts.items():
            rate = self.rates[d]
            if rate is not None:
                left = self.levels[d] - self.ahead.get(d, 0.0)
                seconds = max(seconds, buckets.wait_for(cost, left, rate))
        if self.blocked is None:
            seconds = min(seconds, max(0.0, self.overdue - now))
        return max(SLOT_LEAST_S, seconds or LOOK_AGAIN_S)

    def part(self, amounts: Amounts) -> float:
        """Return the largest part of a bucket's capacity that it takes."""
        parts = ((cost, self.rates[d]) for d, cost in amounts.items())
        return max((cost / max(rate.capacity, 1.0) for cost, rate in parts if rate), default=0.0)


def view_of(ledger: Ledger, name: str, now: float, policy: Policy) -> View:
    """Return the view of a family at the begin of a tick."""
    family = ledger.family(name)
    rates: dict[str, Rate | None] = {}
    left: dict[str, float] = {}
    for dimension in DIMENSIONS:
        rates[dimension] = levels.refilled(family, dimension, now, policy)
        bucket = family.buckets.get(dimension)
        left[dimension] = bucket.level if bucket is not None else 0.0
    overdue = float("inf")
    bucket = family.buckets.get("input")
    if name not in ledger.going and bucket is not None and bucket.limit is None:
        overdue = history.newest(family.learner) + learn.SLOWEST_S
    return View(name, rates, left, None, overdue)
