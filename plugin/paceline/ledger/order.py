"""Who goes next (rules I3, I5, I6, I7).

Between sessions: the session that was served least goes first (fair queueing by served tokens; a
session that comes back starts level with the least served active one, so it cannot save up).
Within a session: continuations before new agents, nearest cache expiry first, then arrival.
A continuation whose context is about to leave the cache goes before other sessions' work, and is
charged to its own session like any other.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

from paceline.ledger import prefix
from paceline.ledger.values import CONTINUATION, MAIN, Share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paceline.ledger.values import Amounts, Ledger, Ticket

URGENT_S = 30.0
"""Seconds before its cache expires from when a continuation is urgent."""
DEADLINE_S = 60.0
"""Seconds before its stall limit from when a ticket is urgent."""


def in_turn(ledger: Ledger, family: str, now: float) -> Iterator[tuple[Ticket, Amounts, bool]]:
    """Yield the waiting tickets of a family in the order in which they should go.

    With each comes what it would take now, and whether it would lead (``prefix.amounts_of``).
    """
    heap: list[tuple[int, float, int, str, int]] = []
    sessions = ledger.queues.get(family, {})
    for session, queue in sessions.items():
        share = ledger.shares.get(session)
        first = ledger.tickets[queue[0][1]]
        served = share.served if share is not None else 0.0
        heap.append((_rank(first, now), served, first.seq, session, 0))
    heapq.heapify(heap)
    late = _late(ledger, family, now)
    for ticket in late:
        yield ticket, *prefix.amounts_of(ledger, ticket, now)
    skipped = {ticket.id for ticket in late}
    while heap:
        _, served, _, session, index = heap[0]
        queue = sessions[session]
        ticket = ledger.tickets[queue[index][1]]
        amounts, leads = prefix.amounts_of(ledger, ticket, now)
        if index + 1 < len(queue):
            after = ledger.tickets[queue[index + 1][1]]
            then = served + amounts.get("input", 0.0)
            heapq.heapreplace(heap, (_rank(after, now), then, after.seq, session, index + 1))
        else:
            heapq.heappop(heap)
        if ticket.id not in skipped:
            yield ticket, amounts, leads


def lift(ledger: Ledger, session: str, now: float) -> None:
    """Level a session that becomes active with the least served active one.

    Where it is the only one, it starts level with whoever was served most: what others were given
    while it was away is no debt of theirs when they come back.
    """
    share = ledger.shares.setdefault(session, Share())
    share.seen = now
    active = present(ledger)
    if session in active:
        return
    others = [ledger.shares[s].served for s in active if s in ledger.shares]
    level = min(others) if others else max(s.served for s in ledger.shares.values())
    share.served = max(share.served, level)


def present(ledger: Ledger) -> set[str]:
    """Return the sessions that wait or send."""
    return {*ledger.sending, *(s for sessions in ledger.queues.values() for s in sessions)}


def _rank(ticket: Ticket, now: float) -> int:
    if ticket.cls == MAIN:
        return 0
    if ticket.cls == CONTINUATION and 0 < ticket.cache_until - now < URGENT_S:
        return 1
    return 2


def is_late(ticket: Ticket, now: float) -> bool:
    """Whether its stall limit is near."""
    return bool(ticket.deadline) and ticket.deadline - now < DEADLINE_S


def _late(ledger: Ledger, family: str, now: float) -> list[Ticket]:
    """Return the tickets whose stall limit is near, soonest first."""
    dated = (ledger.tickets[ticket_id] for ticket_id in ledger.dated)
    late = [t for t in dated if t.family == family and is_late(t, now)]
    return sorted(late, key=lambda ticket: (ticket.deadline, ticket.seq))
