"""One family during one tick: how its buckets fill, and what is left after those before."""

from __future__ import annotations

from dataclasses import dataclass, field  # noqa: TID253 - off the hook's fast path
from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

from paceline.ledger import bucket as buckets
from paceline.ledger import learn, levels
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
        rates: how each bucket fills, None where nothing is known.
        levels: what is left in each.
        newest: when the newest request under way went, None when there is none.
        overdue: from when on one may go whatever the level of a bucket that nobody told of.
        ahead: what waits before the next one, by dimension.
        blocked: the first that does not fit.
        allowance: parts of the capacity that may still go before ``blocked``.
        spaced: the last slot given out where slots are apart.
        passed: how many wait.
    """

    rates: dict[str, Rate | None]
    levels: dict[str, float]
    newest: float | None
    overdue: float
    ahead: dict[str, float] = field(default_factory=dict)
    blocked: Ticket | None = None
    allowance: float = 0.0
    spaced: float = 0.0
    passed: int = 0

    def earmark(self, amounts: Amounts, now: float) -> None:
        """Take what goes, or what is kept for another process's ticket."""
        self.newest, self.overdue = now, float("inf")
        for dimension, cost in amounts.items():
            self.levels[dimension] -= cost

    def queue(self, amounts: Amounts) -> None:
        """Add what waits, for the slots of those behind it."""
        self.passed += 1
        for dimension, cost in amounts.items():
            self.ahead[dimension] = self.ahead.get(dimension, 0.0) + cost

    def fits(self, amounts: Amounts, now: float) -> bool:
        """Whether it may go at these levels."""
        overdue = self.blocked is None and now >= self.overdue
        alone = self.newest is None or now - self.newest >= ALONE_S
        return all(
            buckets.fits(cost, self.levels[d], self.rates[d], alone=alone)
            or (overdue and d == "input")
            for d, cost in amounts.items()
        )

    def wait(self, amounts: Amounts, now: float) -> float:
        """Return the seconds after which it should look again."""
        seconds = max(
            buckets.wait_for(cost, self.levels[d] - self.ahead.get(d, 0.0), self.rates[d])
            for d, cost in amounts.items()
        )
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
    newest = None
    if name in ledger.going:
        newest = max(r.at for r in ledger.reservations.values() if r.family == name)
    overdue = float("inf")
    bucket = family.buckets.get("input")
    if newest is None and bucket is not None and bucket.limit is None:
        overdue = learn.last_sent(family.learner) + learn.SLOWEST_S
    return View(rates, left, newest, overdue)
