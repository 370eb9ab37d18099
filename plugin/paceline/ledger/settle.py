"""How a reservation ends: settled with what the API counted, released, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

from paceline.estimate import learn as estimates
from paceline.families import ALL
from paceline.ledger import breaker as breakers
from paceline.ledger import bucket as buckets
from paceline.ledger import learn, levels, prefix
from paceline.ledger.belief import check_number
from paceline.ledger.passing import advance
from paceline.ledger.values import DIMENSIONS, Ledger, Share

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paceline.ledger.values import Family
    from paceline.ledger.verdicts import Policy, Usage

LEASE_MAX_S = 3600.0
GAP_FIRST_S = 1.0
"""After a reset the first requests go this far apart; the gap shrinks with each success."""
GAP_SHRINK = 0.8
GAP_LEAST_S = 0.05


def renew(ledger: Ledger, reservations: Iterable[str], now: float, lease: float) -> None:
    """Keep reservations of requests that are still under way."""
    now = advance(ledger, now)
    expires = now + min(check_number(lease, "a lease"), LEASE_MAX_S)
    ledger.expiry = min(ledger.expiry, expires)
    for reservation_id in reservations:
        reservation = ledger.reservations.get(reservation_id)
        if reservation is not None:
            reservation.expires = expires


def began(ledger: Ledger, reservation_id: str, now: float) -> None:
    """The reply began: what this request wrote to the cache can be read from now on."""
    now = advance(ledger, now)
    reservation = ledger.reservations.get(reservation_id)
    if reservation is not None:
        reservation.began = True
        prefix.warmed(ledger, reservation, now)


def settle(ledger: Ledger, reservation_id: str, usage: Usage, now: float, policy: Policy) -> bool:
    """Correct a reservation by what the API counted. Debt is kept.

    Returns:
        False when there is no such reservation (settled or released before): nothing changes.

    Raises:
        UsageError: a negative, infinite or absurd size.
    """
    new, written = check_number(usage.input, "input"), check_number(usage.cache_creation, "cache")
    read, output = check_number(usage.cache_read, "cache"), check_number(usage.output, "output")
    now = advance(ledger, now)
    reservation = ledger.drop_reservation(reservation_id)
    late = reservation is None
    if reservation is None:
        reservation = ledger.lost.pop(reservation_id, None)
        if reservation is None:
            return False
    counted = new + written
    family = ledger.family(reservation.family)
    actual = {"requests": 1.0, "input": counted, "output": output}
    # A lost reservation was given back when it expired, unless it counted as spent.
    given_back = late and not reservation.spent_if_lost
    for dimension in DIMENSIONS:
        rate = levels.refilled(family, dimension, now, policy)
        bucket = family.buckets.get(dimension)
        if bucket is not None:
            held = 0.0 if given_back else reservation.amounts.get(dimension, 0.0)
            buckets.give_back(bucket, held - actual[dimension], rate)
    reserved = reservation.amounts.get("input", 0.0)
    if not late:
        ledger.totals.settled += reserved
    share = ledger.shares.setdefault(reservation.session, Share(seen=now))
    share.served = max(0.0, share.served + counted - (0.0 if given_back else reserved))
    learn.settled(family.learner, reservation.id, counted, now)
    if not reservation.first:
        ledger.corrections = estimates.observe(
            ledger.corrections,
            reservation.kind,
            reservation.family,
            reservation.estimated,
            counted - reservation.fixed,
        )
    prefix.learned(ledger, reservation, counted, read, output, now)
    whole = ledger.family(ALL)
    opened = breakers.succeeded(family.breaker, reservation.id, reservation.at)
    if breakers.succeeded(whole.breaker, reservation.id, reservation.at):
        stagger(list(ledger.families.values()), now)
    elif opened:
        stagger([family], now)
    elif family.gap:
        family.gap = family.gap * GAP_SHRINK if family.gap * GAP_SHRINK > GAP_LEAST_S else 0.0
    return True


def release(ledger: Ledger, reservation_id: str, now: float, policy: Policy) -> bool:
    """Give a reservation back whose request never went. False when there is none."""
    now = advance(ledger, now)
    reservation = ledger.drop_reservation(reservation_id)
    if reservation is None:
        return False
    family = ledger.family(reservation.family)
    levels.give_back(ledger, reservation, now, policy)
    ledger.totals.released += reservation.amounts.get("input", 0.0)
    learn.withdrawn(family.learner, reservation.id)
    prefix.abandoned(ledger, reservation)
    for breaker in (family.breaker, ledger.family(ALL).breaker):
        breakers.unprobed(breaker, reservation.id)
    return True


def stagger(families: list[Family], now: float) -> None:
    """Give all who wait a slot each, at first far apart, also those of different families."""
    for n, family in enumerate(families):
        family.gap = max(family.gap, GAP_FIRST_S)
        family.next_at = now + family.gap * (1.0 + n / len(families))
