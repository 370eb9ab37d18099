"""A continuous token bucket as a value: refilled, taken from, never asked for the time.

The API's own words: a bucket that is refilled continuously up to its maximum, no fixed windows.
Its capacity is not published; one minute of the limit is what captures suggest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Bucket:
    """One limit.

    Attributes:
        limit: units a minute (requests or tokens).
        capacity: units it can hold at most.
        level: units in it at ``at``; negative after output that nobody could foresee.
        at: when ``level`` was true, in seconds.
        drain: units a minute that other tenants of the organization take while there are any.
    """

    limit: float
    capacity: float
    level: float
    at: float
    drain: float = 0.0

    @property
    def rate(self) -> float:
        """Units a second that come in for us, after the other tenants. Never negative."""
        return max(0.0, self.limit - self.drain) / 60.0


def refill(bucket: Bucket, now: float) -> Bucket:
    """Return the bucket at ``now``. A clock that went back changes nothing."""
    passed = now - bucket.at
    if passed <= 0:
        return bucket
    net = (bucket.limit - bucket.drain) / 60.0
    level = bucket.level + net * passed
    if net < 0:
        level = max(level, min(bucket.level, 0.0))
    return Bucket(bucket.limit, bucket.capacity, min(bucket.capacity, level), now, bucket.drain)


def fits(bucket: Bucket, cost: float, *, oversize: bool = False) -> bool:
    """Whether ``cost`` may be taken now. ``oversize``: more than it can hold fits a full one."""
    if oversize and cost > bucket.capacity:
        return bucket.level >= bucket.capacity
    return bucket.level >= cost


def take(bucket: Bucket, cost: float) -> Bucket:
    """Return the bucket without ``cost``. Debt is kept."""
    level = bucket.level - cost
    return Bucket(bucket.limit, bucket.capacity, level, bucket.at, bucket.drain)


def wait(bucket: Bucket, cost: float) -> float:
    """Return the seconds until ``cost`` fits; infinite when it never will."""
    missing = min(cost, bucket.capacity) - bucket.level
    if missing <= 0:
        return 0.0
    return missing / bucket.rate if bucket.rate > 0 else float("inf")


def full_in(bucket: Bucket) -> float:
    """Return the seconds until the bucket is full: what the ``-reset`` headers say."""
    return wait(bucket, bucket.capacity)


def relimit(bucket: Bucket, limit: float, capacity: float) -> Bucket:
    """Return the bucket under another limit; what it holds over the new capacity is lost."""
    return replace(bucket, limit=limit, capacity=capacity, level=min(bucket.level, capacity))
