"""Who goes next (rules I3, I5, I6, I7).

Between sessions: the session that was served least goes first (fair queueing by served tokens; a
session that comes back starts level with the least served active one, so it cannot save up).
Within a session: continuations before new agents, nearest cache expiry first, then arrival.
A continuation whose context is about to leave the cache goes before other sessions' work, and is
charged to its own session like any other. One whose context has left it goes after those that can
still be saved, for as long as ``AGED_S``: serving it first would let theirs expire too, one after
the other, until every request pays for its whole context.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from itertools import chain
from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

from paceline.ledger import prefix
from paceline.ledger.values import CONTINUATION, MAIN, Share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paceline.ledger.values import Amounts, Ledger, Ticket

URGENT_S = 30.0
"""Seconds before its cache expires from when a continuation is urgent."""
AGED_S = 1800.0
"""Seconds after its context left the cache from when a continuation waits for nobody any more."""
FOREVER = 1e-9
"""A continuation with no time at all is one whose context nobody knows to expire."""
DEADLINE_S = 60.0
"""Seconds before its stall limit from when a ticket is urgent."""


def in_turn(ledger: Ledger, family: str, now: float) -> Iterator[tuple[Ticket, Amounts, bool]]:
    """Yield the waiting tickets of a family in the order in which they should go.

    With each comes what it would take now, and whether it would lead (``prefix.amounts_of``).
    """
    heap: list[tuple[int, float, int, Ticket, Iterator[str]]] = []
    for session, queue in ledger.queues.get(family, {}).items():
        share = ledger.shares.get(session)
        waiting = _in_session(queue, now)
        first = ledger.tickets[next(waiting)]
        served = share.served if share is not None else 0.0
        heap.append((_rank(first, now), served, first.seq, first, waiting))
    heapq.heapify(heap)
    late = _late(ledger, family, now)
    for ticket in late:
        yield ticket, *prefix.amounts_of(ledger, ticket, now)
    skipped = {ticket.id for ticket in late}
    while heap:
        _, served, _, ticket, waiting = heap[0]
        amounts, leads = prefix.amounts_of(ledger, ticket, now)
        following = next(waiting, None)
        if following is not None:
            after = ledger.tickets[following]
            then = served + amounts.get("input", 0.0)
            heapq.heapreplace(heap, (_rank(after, now), then, after.seq, after, waiting))
        else:
            heapq.heappop(heap)
        if ticket.id not in skipped:
            yield ticket, amounts, leads


def _in_session(queue: Sequence[tuple[tuple[int, float, int], str]], now: float) -> Iterator[str]:
    """Yield a session's tickets in their turn: those whose context has expired after the others."""
    still = bisect_left(queue, ((1, now, 0), ""))
    gone = bisect_left(queue, ((1, FOREVER, 0), ""), 0, still)
    if gone == still or queue[gone][0][1] < now - AGED_S:
        return (ticket for _, ticket in queue)
    new = bisect_left(queue, ((2, 0.0, 0), ""), still)
    turns = chain(range(gone), range(still, new), range(gone, still), range(new, len(queue)))
    return (queue[index][1] for index in turns)


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
