"""What is known of a limit and from where: newest evidence first (rule I9).

A number that somebody told (a header, the text of a refusal, a person, a probe) replaces an older
one whatever its source; a guess from the account's tier never replaces a told number.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any  # noqa: TID253 - off the hook's fast path

from paceline.errors import UsageError
from paceline.families import ALL
from paceline.ledger import bucket as levels
from paceline.ledger import history
from paceline.ledger.bounds import level
from paceline.ledger.values import DIMENSIONS, Bucket

if TYPE_CHECKING:
    from paceline.ledger.values import Ledger

SOURCES = ("set", "header", "text", "probe", "tier")
LIMIT_LEAST = {"requests": 1.0, "input": 100.0, "output": 100.0}
"""Numbers below these in a text or a header are no limits that ever were."""
LIMIT_MAX = 1e12


def check_number(value: float, what: str, *, least: float = 0.0) -> float:
    """Return ``value`` as a float.

    Raises:
        UsageError: it is no finite number, below ``least`` or absurdly large.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageError(f"{what} must be a finite number, not {value!r}")
    if value < least or value > LIMIT_MAX:
        raise UsageError(f"{what} must be from {least:g} to {LIMIT_MAX:g}, not {value:g}")
    return float(value)


def is_limit(dimension: str, value: float) -> bool:
    """Whether a number out of a text or a header can be a limit per minute."""
    return LIMIT_LEAST[dimension] <= value <= LIMIT_MAX


def tell(
    ledger: Ledger,
    family: str,
    dimension: str,
    limit: float,
    now: float,
    *,
    source: str,
    capacity: float | None = None,
) -> None:
    """Believe ``limit`` (per minute) for a family, or for every family when it is ``all``.

    A bucket that nobody told of before holds what was not sent of it since; one that is known
    keeps its level, capped at the new capacity. What refusals taught under an older number is
    forgotten with it.

    Raises:
        UsageError: the numbers, the dimension or the source cannot be.
    """
    if dimension not in DIMENSIONS or source not in SOURCES:
        raise UsageError(f"no such limit: {dimension} from {source}")
    limit = check_number(limit, "a limit per minute", least=1.0)
    if capacity is not None:
        capacity = check_number(capacity, "a capacity", least=1.0)
    if family == ALL:
        ledger.defaults[dimension] = Bucket(
            limit=limit,
            capacity=capacity,
            source=source,
            told_at=now,
            full_unsure=capacity is None,
        )
        for known in ledger.families:
            if known != ALL:
                tell(ledger, known, dimension, limit, now, source=source, capacity=capacity)
        return
    now = max(now, ledger.clock)
    learner, buckets = ledger.family(family).learner, ledger.family(family).buckets
    bucket = buckets.setdefault(dimension, Bucket(at=now))
    if bucket.limit is not None and source == "tier":
        return
    same = bucket.limit == limit
    if source == "text" and same and capacity is None:
        bucket.told_at = now
        return
    first = bucket.limit is None
    if not first:  # what came in until now came in at the old rate
        taught = learner if dimension == "input" else None
        levels.refill(bucket, levels.rate_of(bucket, taught, 0.0), now)
    bucket.limit, bucket.source, bucket.told_at = limit, source, now
    if capacity is not None or bucket.capacity is None or bucket.capacity > limit:
        bucket.capacity = capacity
        bucket.full_unsure = capacity is None
    holds = limit if bucket.capacity is None else bucket.capacity
    if first and dimension != "output":
        requests = dimension == "requests"
        rows = history.rows(learner)
        bucket.level = level(rows, limit / 60.0, holds, now, requests=requests)
        bucket.at = now
    elif first:
        bucket.level, bucket.at = holds, now
    bucket.level = min(bucket.level, holds)
    if dimension == "input" and source != "tier" and (source == "set" or not same):
        learner.pace = learner.high = None


def forget(ledger: Ledger, family: str = ALL) -> None:
    """Forget every limit of a family, told or learned (``limits clear``)."""
    if family == ALL:
        ledger.defaults.clear()
        ledger.families.clear()
        return
    ledger.families.pop(family, None)


def believed(ledger: Ledger) -> list[dict[str, Any]]:
    """Return what is believed: rows of family, dimension, limit, capacity, source, at."""
    rows: list[dict[str, Any]] = []
    told = [(ALL, ledger.defaults)]
    told += [(name, ledger.families[name].buckets) for name in sorted(ledger.families)]
    for family, buckets in told:
        for dimension in DIMENSIONS:
            bucket = buckets.get(dimension)
            if bucket is not None and bucket.limit is not None:
                capacity = bucket.limit if bucket.capacity is None else bucket.capacity
                rows.append(
                    _row(family, dimension, bucket.limit, capacity, bucket.source, bucket.told_at)
                )
        if family != ALL:
            learner = ledger.families[family].learner
            bucket = buckets.get("input")
            if learner.pace is not None:
                at = max(learner.cut_at, learner.moved_at)
                rows.append(
                    _row(
                        family,
                        "input",
                        round(learner.pace * 60.0),
                        round(learner.burst or 0.0),
                        "learned",
                        at,
                    )
                )
    return rows


def _row(
    family: str, dimension: str, limit: float, capacity: float, source: str, at: float
) -> dict[str, Any]:
    return {
        "family": family,
        "dimension": dimension,
        "limit": limit,
        "capacity": capacity,
        "source": source,
        "at": at,
    }
