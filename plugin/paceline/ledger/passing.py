"""The passing of time: what expires, and a clock that jumps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

from paceline.families import ALL
from paceline.ledger import breaker as breakers
from paceline.ledger import history, learn, levels, order, prefix
from paceline.ledger.belief import check_number
from paceline.ledger.verdicts import Policy

if TYPE_CHECKING:
    from paceline.ledger.values import Ledger

LOST_KEEP_S = 900.0
"""Seconds an expired reservation is remembered, for a settle that comes late."""
SHARE_KEEP_S = 3600.0
"""Seconds what a session was given is remembered after it was last seen waiting or sending."""
CLOCK_BACK_S = 1.0


def advance(ledger: Ledger, now: float) -> float:
    """Bring the value to ``now``: expire what was left behind; survive a clock that jumps.

    A clock that ran back moves every time in the value back with it, so nothing waits for an
    hour that has already passed, and nothing is refilled twice. One that ran back a little stands.

    Returns:
        The ledger's time: all that is done in this transaction is done at it.

    Raises:
        UsageError: ``now`` is no finite number.
    """
    now = check_number(now, "the time")
    if now < ledger.clock - CLOCK_BACK_S:
        _shift(ledger, now - ledger.clock)
    now = ledger.clock = max(now, ledger.clock)
    if now >= ledger.expiry:
        _expire(ledger, now)
    return now


def _expire(ledger: Ledger, now: float) -> None:
    expired = [r for r in ledger.reservations.values() if r.expires <= now]
    for reservation in expired:
        ledger.drop_reservation(reservation.id)
        cost = reservation.amounts.get("input", 0.0)
        if reservation.spent_if_lost:
            ledger.totals.settled += cost
        else:
            ledger.totals.expired += cost
            levels.give_back(ledger, reservation, now, Policy(headroom=0.0))
            learn.withdrawn(ledger.family(reservation.family).learner, reservation.id)
        prefix.abandoned(ledger, reservation)
        reservation.expires = now + LOST_KEEP_S
        ledger.lost[reservation.id] = reservation
        for breaker in (ledger.family(reservation.family).breaker, ledger.family(ALL).breaker):
            breakers.unprobed(breaker, reservation.id)
    for ticket in [t for t in ledger.tickets.values() if t.expires <= now]:
        ledger.drop_ticket(ticket.id)
    for lost in [r for r in ledger.lost.values() if r.expires <= now]:
        del ledger.lost[lost.id]
    present = order.present(ledger)
    for session in [s for s, share in ledger.shares.items() if share.seen < now - SHARE_KEEP_S]:
        if session not in present:
            del ledger.shares[session]
    prefix.prune(ledger, now)
    left = (ledger.reservations, ledger.lost, ledger.tickets)
    ledger.expiry = min((one.expires for held in left for one in held.values()), default=math.inf)


def _shift(ledger: Ledger, by: float) -> None:
    ledger.clock += by
    ledger.expiry += by
    for family in ledger.families.values():
        for bucket in family.buckets.values():
            bucket.at += by
            bucket.told_at += by
            bucket.seen_at += by
        history.shift(family.learner, by)
        family.learner.high_at += by
        family.learner.cut_at += by
        family.learner.moved_at += by
        family.learner.incident_at += by
        family.learner.doubted_at += by
        family.next_at += by
        if family.breaker.until and not family.breaker.told:
            family.breaker.until += by
        if family.breaker.opened:
            family.breaker.opened += by
    for reservation in (*ledger.reservations.values(), *ledger.lost.values()):
        reservation.at += by
        reservation.expires += by
    for ticket in list(ledger.tickets.values()):
        ledger.drop_ticket(ticket.id)
        ticket.at += by
        ticket.expires += by
        for name in ("cache_until", "deadline", "not_before"):
            if getattr(ticket, name):
                setattr(ticket, name, getattr(ticket, name) + by)
        ledger.add_ticket(ticket)
    for share in ledger.shares.values():
        share.seen += by
    prefix.shift(ledger, by)
