"""Charging what nobody reserved: requests of the main thread where no gate sees them.

Several hooks may see the same reply at once, so a charge has a mark, and a mark is charged once: it
stays among the lost reservations for as long as a late settle is waited for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

from paceline.ledger.passing import LOST_KEEP_S, advance
from paceline.ledger.settle import release, settle
from paceline.ledger.values import MAIN, Reservation
from paceline.ledger.verdicts import Usage

if TYPE_CHECKING:
    from paceline.ledger.values import Ledger
    from paceline.ledger.verdicts import Policy


def charge(
    ledger: Ledger,
    mark: str,
    *,
    family: str,
    session: str,
    usage: Usage,
    now: float,
    policy: Policy,
) -> bool:
    """Charge ``usage`` to a family's buckets and to a session's share, once for each ``mark``.

    Returns:
        False when it was charged before: nothing changes.

    Raises:
        UsageError: a negative, infinite or absurd size.
    """
    now = advance(ledger, now)
    if mark in ledger.lost or mark in ledger.reservations:
        return False
    spent = Reservation(
        id=mark,
        family=family,
        session=session,
        agent="",
        cls=MAIN,
        amounts={"requests": 0.0},
        at=now,
        expires=now + LOST_KEEP_S,
    )
    ledger.add_reservation(spent)
    settle(ledger, mark, usage, now, policy)
    ledger.lost[mark] = spent
    return True


def settle_as(
    ledger: Ledger, reservation_id: str, family: str, usage: Usage, now: float, policy: Policy
) -> bool:
    """Settle a reservation whose request went to ``family``, wherever it was reserved.

    The model is not always known before (a hook's first sight of an agent, a fallback model): what
    was reserved elsewhere is given back there, and what was used is charged where it was spent.

    Returns:
        False when there is no such reservation: nothing changes.
    """
    now = advance(ledger, now)
    held = ledger.reservations.get(reservation_id) or ledger.lost.get(reservation_id)
    if held is None or held.family == family:
        return settle(ledger, reservation_id, usage, now, policy)
    session = held.session
    if not release(ledger, reservation_id, now, policy):
        ledger.lost.pop(reservation_id, None)
    return charge(
        ledger,
        reservation_id,
        family=family,
        session=session,
        usage=usage,
        now=now,
        policy=policy,
    )


def settle_as_reserved(ledger: Ledger, reservation_id: str, now: float, policy: Policy) -> bool:
    """Settle a reservation whose usage nobody tells at what was reserved.

    For a request that was cut off, and where a proxy reports no tokens or zeros (``Usage.told``).

    Returns:
        False when there is no such reservation: nothing changes.
    """
    held = ledger.reservations.get(reservation_id)
    if held is None:
        return False
    counted = Usage(input=held.amounts.get("input", 0.0))
    return settle(ledger, reservation_id, counted, now, policy)
