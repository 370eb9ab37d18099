"""The least span a fan-out's tokens allow, whoever paces it.

In any time t the API admits at most what the bucket held plus what came in. So the last admitted
of any set of requests starts no earlier than the moment its tokens have come in, and then runs for
its own service time at least: the span is at least the largest, over δ, of (moment at which all
tokens of the requests with service ≥ δ have come in) + δ. Longest service first attains it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Job:
    """A request.

    Attributes:
        cost: tokens the limit counts.
        service: seconds from its admission to the end of what follows from it (its own answer,
            and those of later requests of the same agent).
    """

    cost: float
    service: float


def least_span(jobs: Iterable[Job], level: float, rates: Sequence[tuple[float, float]]) -> float:
    """Return the least seconds from the first request to the end of the last.

    Args:
        jobs: the requests; none means 0.0.
        level: tokens in the bucket at the start.
        rates: ``(seconds from the start, tokens a minute)`` in order, the first at 0.0: the limit,
            and what it becomes. The bucket's capacity is left out, which keeps this a lower bound.
    """
    most, total = 0.0, 0.0
    for job in sorted(jobs, key=lambda job: job.service, reverse=True):
        total += job.cost
        most = max(most, time_until(total - level, rates) + job.service)
    return most


def time_until(tokens: float, rates: Sequence[tuple[float, float]]) -> float:
    """Return the seconds until ``tokens`` have come in; 0.0 for none, infinite for never."""
    missing = tokens
    if missing <= 0:
        return 0.0
    ends = [start for start, _ in rates[1:]] + [float("inf")]
    for (start, per_minute), end in zip(rates, ends, strict=True):
        rate = per_minute / 60.0
        if rate > 0 and start + missing / rate <= end:
            return start + missing / rate
        if end < float("inf"):
            missing -= rate * (end - start)
    return float("inf")
