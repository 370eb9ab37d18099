"""Levels at a moment: one family's buckets brought to the time of the transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

from paceline.ledger import bucket as buckets
from paceline.ledger import learn

if TYPE_CHECKING:
    from paceline.ledger.bucket import Rate
    from paceline.ledger.values import Family, Ledger, Reservation
    from paceline.ledger.verdicts import Policy


def refilled(family: Family, dimension: str, now: float, policy: Policy) -> Rate | None:
    """Refill one bucket and return how it fills, or None while nothing is known of it."""
    learner = family.learner if dimension == "input" else None
    if learner is not None:
        learn.search(learner, now)
    bucket = family.buckets.get(dimension)
    rate = buckets.rate_of(bucket, learner, policy.headroom)
    if rate is not None:
        if bucket is None:
            bucket = family.buckets[dimension] = buckets.empty(now)
        buckets.refill(bucket, rate, now)
    return rate


def give_back(ledger: Ledger, reservation: Reservation, now: float, policy: Policy) -> None:
    """Return what a reservation took to its buckets and to its session's share."""
    family = ledger.family(reservation.family)
    for dimension, cost in reservation.amounts.items():
        rate = refilled(family, dimension, now, policy)
        bucket = family.buckets.get(dimension)
        if bucket is not None:
            buckets.give_back(bucket, cost, rate)
    share = ledger.shares.get(reservation.session)
    if share is not None:
        share.served = max(0.0, share.served - reservation.amounts.get("input", 0.0))
