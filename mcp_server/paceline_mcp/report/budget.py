"""A ledger at a moment: what it holds, who waits, what is closed. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paceline.ledger import levels
from paceline.ledger.values import DIMENSIONS

if TYPE_CHECKING:
    from paceline.ledger.values import Ledger
    from paceline.ledger.verdicts import Policy


def budget(ledger: Ledger, policy: Policy, now: float) -> dict[str, Any]:
    """Return ``{"buckets", "waiters", "reservations", "closed"}`` with the levels at ``now``.

    Tokens, tokens a minute, seconds; ``until`` is in epoch seconds.
    """
    buckets: list[dict[str, Any]] = []
    closed: list[dict[str, Any]] = []
    for name, family in sorted(ledger.families.items()):
        for dimension in DIMENSIONS:
            rate = levels.refilled(family, dimension, now, policy)
            bucket = family.buckets.get(dimension)
            if rate is not None and bucket is not None:
                buckets.append(
                    {
                        "family": name,
                        "dimension": dimension,
                        "level": round(bucket.level, 1),
                        "capacity": round(rate.capacity, 1),
                        "per_minute": round(rate.per_s * 60.0, 1),
                        "source": bucket.source or "learned",
                    }
                )
        breaker = family.breaker
        if breaker.until > now:
            closed.append(
                {
                    "family": name,
                    "cause": breaker.cause,
                    "window": breaker.window or None,
                    "until": breaker.until,
                    "told": breaker.told,
                }
            )
    return {
        "buckets": buckets,
        "waiters": [
            {
                "ticket": ticket.id,
                "session": ticket.session,
                "agent": ticket.agent or None,
                "family": ticket.family,
                "class": ticket.cls,
                "tokens": round(ticket.amounts.get("input", 0.0)),
                "waited_s": round(max(0.0, now - ticket.at), 1),
            }
            for ticket in ledger.tickets.values()
            if ticket.expires > now
        ],
        "reservations": [
            {
                "reservation": held.id,
                "session": held.session,
                "agent": held.agent or None,
                "family": held.family,
                "class": held.cls,
                "tokens": round(held.amounts.get("input", 0.0)),
                "age_s": round(max(0.0, now - held.at), 1),
            }
            for held in ledger.reservations.values()
            if held.expires > now
        ],
        "closed": closed,
    }
