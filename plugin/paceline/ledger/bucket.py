"""One token bucket, filled continuously: the API's own rule for requests, input and output.

Source: the API's rate limit documentation (token bucket, continuously replenished to a maximum).
The maximum is not published; a captured response fits one minute of the limit.
"""

from __future__ import annotations

from dataclasses import dataclass  # noqa: TID253 - off the hook's fast path
from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

from paceline.ledger import learn
from paceline.ledger.values import Bucket

if TYPE_CHECKING:
    from paceline.ledger.values import Learner

MAY_HAVE_RISEN = frozenset({"text", "tier"})
"""Sources that nobody renews: nothing but a refusal would ever tell that the limit was raised."""
NEAR = 1e-6
"""Tokens that floating point may lose: a level this close to a cost is enough."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How a bucket fills: ``per_s`` tokens a second up to ``capacity`` tokens."""

    per_s: float
    capacity: float


def rate_of(
    bucket: Bucket | None, learner: Learner | None, headroom: float, least_burst_s: float = 5.0
) -> Rate | None:
    """Return how the bucket fills as far as is known, or None while nothing is known.

    Args:
        bucket: what was told, if anything.
        learner: what refusals taught (the input dimension only).
        headroom: the fraction of the capacity that is never used. A request arrives at the API a
            little after it was granted; what the API's full bucket could not take in meanwhile
            was never there, so a ledger that used the whole capacity would believe in tokens
            that do not exist. The rate needs no headroom: arriving late only helps.
        least_burst_s: a learned limit lets this many seconds of its pace go at once at least.
    """
    pace = learner.pace if learner is not None else None
    if bucket is None or bucket.limit is None:
        if pace is None or learner is None:
            return None
        return Rate(pace, max(learner.burst or 0.0, pace * least_burst_s))
    told = bucket.limit / 60.0
    if learner is not None and bucket.source in MAY_HAVE_RISEN:
        told *= 1.0 + learn.grown(learner, learn.CALM_TOLD)
    capacity = bucket.limit if bucket.capacity is None else bucket.capacity
    return Rate(min(told, pace) if pace is not None else told, capacity * (1.0 - headroom))


def refill(bucket: Bucket, rate: Rate | None, now: float) -> None:
    """Bring the level to ``now``. A clock that stood or ran back adds nothing."""
    if rate is not None:
        gained = max(0.0, now - bucket.at) * rate.per_s
        bucket.level = min(rate.capacity, bucket.level + gained)
    bucket.at = now


def give_back(bucket: Bucket, tokens: float, rate: Rate | None) -> None:
    """Return tokens (or, negative, take more: debt is kept, never clamped)."""
    bucket.level += tokens
    if rate is not None:
        bucket.level = min(rate.capacity, bucket.level)


def fits(cost: float, level: float, rate: Rate | None, *, alone: bool) -> bool:
    """Whether a request of ``cost`` may go at ``level``.

    One larger than the capacity goes when the bucket is full and nothing else is in flight
    (``alone``), since it would never conform otherwise.
    """
    if rate is None or cost <= 0:
        return True
    if cost <= rate.capacity:
        return level + NEAR >= cost
    return alone and level + NEAR >= rate.capacity


def wait_for(cost: float, level: float, rate: Rate | None) -> float:
    """Return the seconds until ``cost`` fits, 0 when it does."""
    if rate is None:
        return 0.0
    need = min(cost, rate.capacity) - level
    if need <= NEAR:
        return 0.0
    return need / rate.per_s if rate.per_s > 0 else 3600.0


def empty(now: float) -> Bucket:
    """Return a bucket of a limit that is being learned: nobody told, and a refusal emptied it."""
    return Bucket(level=0.0, at=now)
