"""What the headers of a response say of a bucket (rule I9): its limit, and what is left in it now.

``remaining`` is what the API had left when it answered. It knows nothing of what went after the
answered request, so that is taken off; ``reset`` is when the bucket will be full again (the API's
rate limit documentation), which tells what it holds when full.
"""

from __future__ import annotations

import math
from dataclasses import dataclass  # noqa: TID253 - off the hook's fast path
from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

from paceline.ledger import belief, history
from paceline.ledger.passing import advance
from paceline.ledger.values import DIMENSIONS

if TYPE_CHECKING:
    from paceline.ledger.values import Bucket, Ledger

ROUNDED = 1_000.0
"""Tokens within which a remaining number is as good as ours: it may be rounded to thousands."""
RESET_LEAST_S, RESET_MAX_S = 4.0, 900.0
"""Seconds ahead within which a reset says what the bucket holds: it is told to the second only."""
SAME = 0.1
"""Part by which a capacity has to differ to be another one."""
FULL_PART = 0.9
"""Part of a minute's limit from which a bucket is taken to hold a whole minute."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one response says of one bucket.

    Attributes:
        dimension: ``requests``, ``input`` or ``output``.
        limit: per minute.
        remaining: left in the bucket, None when not told.
        resets_at: when it is full again, epoch seconds by this machine's clock, None when not told.
    """

    dimension: str
    limit: float
    remaining: float | None = None
    resets_at: float | None = None


def observe(
    ledger: Ledger, family: str, seen: Seen, sent_at: float, now: float, *, source: str = "header"
) -> bool:
    """Believe what a response says, unless it is absurd or older than what is believed.

    Args:
        ledger: changed in place.
        family: the model family that answered.
        seen: what its headers say.
        sent_at: when the answered request was granted.
        now: epoch seconds.
        source: ``header``, or ``probe`` for a request that was sent for its headers.

    Returns:
        False when nothing of it was believed.
    """
    now = advance(ledger, now)
    if seen.dimension not in DIMENSIONS or not belief.is_limit(seen.dimension, seen.limit):
        return False
    state = ledger.family(family)
    known = state.buckets.get(seen.dimension)
    if known is not None and sent_at < known.seen_at:
        return False
    capacity = _capacity(seen, now)
    if known is not None and capacity is not None and known.capacity is not None:
        capacity = capacity if abs(capacity - known.capacity) > SAME * known.capacity else None
    if capacity or known is None or (known.limit, known.source) != (seen.limit, source):
        belief.tell(
            ledger, family, seen.dimension, seen.limit, now, source=source, capacity=capacity
        )
    bucket = state.buckets[seen.dimension]
    bucket.seen_at, bucket.told_at = sent_at, now
    if seen.remaining is not None and _is_number(seen.remaining):
        _correct(ledger, family, bucket, seen, sent_at)
    return True


def _correct(ledger: Ledger, family: str, bucket: Bucket, seen: Seen, sent_at: float) -> None:
    assert seen.remaining is not None
    if not 0 <= seen.remaining <= seen.limit:
        return
    left = seen.remaining - _since(ledger, family, seen.dimension, sent_at)
    if seen.dimension == "requests" or abs(left - bucket.level) > ROUNDED:
        bucket.level, bucket.at = left, ledger.clock


def _since(ledger: Ledger, family: str, dimension: str, sent_at: float) -> float:
    """Return what went after a request: still under way, or answered since."""
    going = (r for r in ledger.reservations.values() if r.family == family and r.at > sent_at)
    taken = sum(r.amounts.get(dimension, 0.0) for r in going)
    if dimension == "output":
        return taken
    rows = history.rows(ledger.families[family].learner)
    return taken + sum(
        1.0 if dimension == "requests" else tokens
        for at, tokens, accepted, reservation, _ in rows
        if at > sent_at and accepted and not reservation
    )


def _capacity(seen: Seen, now: float) -> float | None:
    """Return what the bucket holds when full, where that is told to be less than usual."""
    if seen.remaining is None or seen.resets_at is None or not _is_number(seen.remaining):
        return None
    ahead = seen.resets_at - now
    if not RESET_LEAST_S <= ahead <= RESET_MAX_S or not 0 <= seen.remaining <= seen.limit:
        return None
    holds = seen.remaining + seen.limit / 60.0 * (ahead - 0.5)
    return holds if 1.0 <= holds < FULL_PART * seen.limit else None


def _is_number(value: float) -> bool:
    return math.isfinite(value)
