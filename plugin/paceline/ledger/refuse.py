"""What a refusal means for the ledger (rules I8, I9, I10). The classifier named its cause before.

* throttle: the belief of the level was too high: lower it, learn from it, believe a number in it
* overload: everyone's problem: the breaker with a backoff of its own, the budget untouched
* edge (a challenge page under fan-out): like an overload
* quota: the breaker until the reset
* all others (spend, entitlement, auth, invalid, ...): nothing to pace
"""

from __future__ import annotations

from dataclasses import dataclass  # noqa: TID253 - off the hook's fast path
from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

from paceline.families import ALL
from paceline.ledger import belief, learn, levels, prefix
from paceline.ledger import breaker as breakers
from paceline.ledger.passing import advance
from paceline.ledger.settle import GAP_FIRST_S
from paceline.ledger.values import DIMENSIONS

if TYPE_CHECKING:
    from paceline.ledger.values import Family, Ledger
    from paceline.ledger.verdicts import Policy
    from paceline.refusals import Refusal

RETRY_S = 1.0
"""A refused request has a slot of its own at least this much later, doubling with its attempts."""
RETRY_MAX_S = 30.0
MODEL_WINDOWS = frozenset({"seven_day_opus", "seven_day_sonnet", "seven_day_overage_included"})
"""Plan windows that close one model only; the others close the account."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The fields of a refusal that the ledger acts on (``refusals.Refusal`` has them all)."""

    cause: str
    retryable: bool = True
    resets_at: float | None = None
    window: str = ""
    dimension: str | None = None
    limit: float | None = None

    @classmethod
    def of(cls, found: Refusal) -> Refused:
        """Return the part of a classified refusal that the ledger acts on."""
        return cls(
            cause=found.cause,
            retryable=found.retryable,
            resets_at=found.resets_at,
            window=found.window or "",
            dimension=found.dimension,
            limit=found.limit,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether the same request should be sent again, and when at the earliest."""

    again: bool
    not_before: float = 0.0


def refuse(
    ledger: Ledger,
    family_name: str,
    refused: Refused,
    now: float,
    policy: Policy,
    *,
    reservation_id: str = "",
    attempt: int = 0,
) -> Answer:
    """Take a refusal in. The reservation, if there is one, is given back: it was not charged.

    Args:
        ledger: changed in place.
        family_name: the model family that was refused.
        refused: what the classifier said.
        now: epoch seconds.
        policy: of the ledger.
        reservation_id: of the refused request, or "" when another layer met the refusal.
        attempt: how often this request was refused before.
    """
    now = advance(ledger, now)
    family = ledger.family(family_name)
    cost, sent_at = _take_back(ledger, reservation_id, now, policy)
    if refused.cause == "throttle":
        _throttled(
            ledger, family_name, refused, cost, sent_at, reservation_id, attempt, now, policy
        )
    elif refused.cause in {"overload", "edge"}:
        breakers.open_overload(family.breaker, now, sent_at)
        family.gap = max(family.gap, GAP_FIRST_S)
    elif refused.cause == "quota":
        scope = family if refused.window in MODEL_WINDOWS else ledger.family(ALL)
        breakers.open_quota(scope.breaker, refused.resets_at, refused.window, now)
        until = scope.breaker.until
        return Answer(refused.retryable and until - now <= policy.park_max, until)
    if not refused.retryable:
        return Answer(again=False)
    return Answer(again=True, not_before=now + min(RETRY_S * 2.0 ** min(attempt, 9), RETRY_MAX_S))


def _take_back(
    ledger: Ledger, reservation_id: str, now: float, policy: Policy
) -> tuple[float, float]:
    reservation = ledger.drop_reservation(reservation_id)
    lost = ledger.lost.pop(reservation_id, None) if reservation is None else None
    if lost is not None:
        cost = lost.amounts.get("input", 0.0)
        if lost.spent_if_lost:  # it was counted as spent, and was not
            levels.give_back(ledger, lost, now, policy)
            ledger.totals.settled -= cost
            ledger.totals.released += cost
        return cost, lost.at
    if reservation is None:
        return 0.0, now
    levels.give_back(ledger, reservation, now, policy)
    cost = reservation.amounts.get("input", 0.0)
    ledger.totals.released += cost
    prefix.abandoned(ledger, reservation)
    for breaker in (ledger.family(reservation.family).breaker, ledger.family(ALL).breaker):
        breakers.unprobed(breaker, reservation_id)
    return cost, reservation.at


def _throttled(
    ledger: Ledger,
    family_name: str,
    refused: Refused,
    cost: float,
    sent_at: float,
    reservation_id: str,
    attempt: int,
    now: float,
    policy: Policy,
) -> None:
    family = ledger.family(family_name)
    dimension = refused.dimension if refused.dimension in DIMENSIONS else "input"
    if refused.limit is not None and belief.is_limit(dimension, refused.limit):
        belief.tell(ledger, family_name, dimension, refused.limit, now, source="text")
    levels.refilled(family, dimension, now, policy)
    bucket = family.buckets.get(dimension)
    if dimension == "input":
        told = bucket.limit / 60.0 if bucket is not None and bucket.limit is not None else None
        fresh = sent_at >= family.learner.cut_at
        learn.refused(family.learner, reservation_id or f"x{now:.3f}", cost, sent_at, now, told)
        if bucket is not None and fresh:
            _doubt_capacity(family, cost)
        if told is None and family.learner.pace is None:  # doubted: nothing to pace by any more
            family.buckets.pop("input", None)
        bucket = family.buckets.get(dimension)
        levels.refilled(family, dimension, now, policy)
        bucket = family.buckets.get(dimension)
    if bucket is None:
        _space(family, sent_at, now)
    else:
        # The API had less than the cost; nobody knows how much less. Ask a little later each time.
        left = cost * 0.25 if dimension == "input" and attempt == 0 else 0.0
        bucket.level = min(bucket.level, left)


def _space(family: Family, sent_at: float, now: float) -> None:
    """With nothing to pace by, slots keep those apart that were refused together.

    They are twice as far apart after each incident; refusals of what went before belong to it.
    """
    if family.gap and sent_at < family.next_at - family.gap:
        return
    family.gap = min(max(GAP_FIRST_S, family.gap * 2.0), RETRY_MAX_S)
    family.next_at = now + family.gap


def _doubt_capacity(family: Family, cost: float) -> None:
    """An assumed capacity was too large if a request was refused that should have fitted."""
    bucket = family.buckets["input"]
    if bucket.limit is None or not bucket.full_unsure:
        return
    capacity = bucket.limit if bucket.capacity is None else bucket.capacity
    least = max(bucket.limit / 8.0, family.learner.burst or 0.0, cost)
    bucket.capacity = max(min(capacity, least), capacity * 0.5)
