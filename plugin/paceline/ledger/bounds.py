"""What accepted and refused requests say of an input limit that nobody told.

The API is a token bucket of unknown rate R and capacity B. Let A be the tokens accepted in a
stretch of time T.

* A request of c2 tokens refused at the end of a stretch that began just after an accepted one:
  the level was at least 0 then and below c2 now, so ``R < (A + c2) / T``: an upper bound.
* A request accepted at the end of a stretch that began with a refusal of c1 tokens: the level was
  below c1 then and at least 0 after it, so ``R >= (A - c1) / T``: a lower bound (A with it).

Both errors shrink with T, so a few refusals minutes apart pin R to a few per cent, which halving
and doubling never does.

Both hold only while the bucket is not full: tokens that come in then go to waste, and the upper
bound would be too low. So a pause ends a stretch, unless the request after it had been waiting for
its turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple  # noqa: TID253 - off the hook's fast path

if TYPE_CHECKING:
    from paceline.ledger.history import Row

STRETCH_S = 8.0
"""Seconds a stretch has at least: arrival is only known to a second or two, and what is under way
only as an estimate."""
LONG_S = 45.0
"""Seconds from which on it counts how much of a stretch's tokens one request is."""
PAUSE_S = 15.0
"""A pause longer than this may have filled the bucket."""


class Bounds(NamedTuple):
    """What the evidence allows, in tokens a second.

    Attributes:
        low: the rate is at least that, or None.
        high: the rate is at most that, or None.
        unsure: how far ``high`` may be too high: the refused request by the time of its stretch.
    """

    low: float | None = None
    high: float | None = None
    unsure: float = 0.0


def bounds(rows: list[Row]) -> Bounds:
    """Return the bounds of the rate that accepted and refused requests allow."""
    total = 0.0
    before: list[float] = []
    for row in rows:
        before.append(total)
        if row[2]:
            total += row[1]
    low: float | None = None
    high: float | None = None
    unsure = 0.0
    unbroken = 0
    for j, (t2, c2, ok2, _, waited) in enumerate(rows):
        if j and not waited and t2 - rows[j - 1][0] > PAUSE_S:
            unbroken = j
        for i in range(j):
            t1, c1, ok1, _, _ = rows[i]
            stretch = t2 - t1
            if stretch < STRETCH_S:
                break
            if ok1 and not ok2 and i >= unbroken:
                bound = max(0.0, before[j] - before[i] - c1 + c2) / stretch
                if high is None or bound < high:
                    high, unsure = bound, c2 / max(stretch, LONG_S)
            elif ok2 and not ok1:
                bound = (before[j] + c2 - before[i] - c1) / stretch
                low = bound if low is None else max(low, bound)
    return Bounds(low, high, unsure)


def burst(rows: list[Row], rate: float | None) -> float:
    """Return the largest burst accepted on top of ``rate``: a lower bound of the capacity."""
    best = run = 0.0
    last = None
    for t, tokens, ok, _, _ in rows:
        if last is not None:
            run = max(0.0, run - (rate or 0.0) * (t - last))
        last = t
        if ok:
            run += tokens
            best = max(best, run)
    return best


def level(
    rows: list[Row], per_s: float, capacity: float, now: float, *, requests: bool = False
) -> float:
    """Return what is left of a bucket just told of, after all that was sent while nobody knew.

    Args:
        rows: what was sent, oldest first.
        per_s: tokens (or requests) a second that come in.
        capacity: what it holds; before the first request known it was full.
        now: epoch seconds.
        requests: count requests instead of their tokens.
    """
    left, last = capacity, None
    for t, tokens, ok, _, _ in rows:
        if last is not None:
            left = min(capacity, left + per_s * max(0.0, t - last))
        last = t
        cost = 1.0 if requests else tokens
        left = left - cost if ok else min(left, cost)
    return left if last is None else min(capacity, left + per_s * max(0.0, now - last))
