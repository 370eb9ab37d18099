"""Who may go: enqueue a request, grant what fits in its turn.

Rules (I1 to I10 of the design) and where they are kept:

* I1 never more than capacity + rate x interval: ``_fits`` and the one lone large request
* I2 conserved: ``settle`` and ``passing`` end each reservation once
* I3, I5, I6, I7 order: ``order``; a first ticket that does not fit is overtaken by at most
  ``Policy.overtake`` of the capacity
* I4 work-conserving: ``tick`` grants every ticket that fits, but for followers of a leader
* I8 own slots: ``slots``
* I9, I10 belief: ``belief``, ``refuse`` and ``learn``

A process asks for its own tickets only and is granted only those; tickets of others that stand
before them are earmarked, so a sleeping process loses its turn to nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

from paceline.errors import UsageError
from paceline.families import ALL
from paceline.ledger import breaker as breakers
from paceline.ledger import learn, order, prefix
from paceline.ledger import slots as spaced
from paceline.ledger.belief import check_number
from paceline.ledger.passing import advance
from paceline.ledger.values import (
    CLASSES,
    DIMENSIONS,
    MAIN,
    Amounts,
    Ledger,
    Reservation,
    Share,
    Ticket,
)
from paceline.ledger.verdicts import Drop, Grant, Policy, Verdict, Wait
from paceline.ledger.view import view_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from paceline.ledger.values import Family
    from paceline.ledger.view import View

TICKET_LEASE_S = 10.0
"""Seconds after which a waiting ticket that nobody asks for any more is forgotten."""
LEASE_MAX_S = 3600.0
TICKET_FRESH_S = 8.0
"""A ticket with more than that left need not be noted again."""
WAITED_S = 0.05
LOOK_PAST = 64
"""Tickets looked at behind a first one that does not fit, where no slots are asked for."""


def enqueue(
    ledger: Ledger,
    *,
    ticket: str,
    family: str,
    session: str,
    agent: str,
    cls: str,
    amounts: Mapping[str, float],
    now: float,
    cache_until: float = 0.0,
    deadline: float = 0.0,
    prefix_key: str = "",
    first: bool = False,
    attempt: int = 0,
    not_before: float = 0.0,
    lease: float = 60.0,
    spent_if_lost: bool = False,
    estimated: float = 0.0,
    kind: str = "",
    context: float = 0.0,
) -> None:
    """Put a request in the queue. Asking again with the same ticket id changes nothing.

    Args:
        ledger: changed in place.
        ticket: an id of the caller's, unique.
        family: the model family (``families.family_of``).
        session: for fairness between sessions.
        agent: the agent's id, or "" for the main thread.
        cls: ``main``, ``continuation`` or ``new``.
        amounts: tokens by dimension; requests default to 1.
        now: epoch seconds.
        cache_until: when the agent's context leaves the cache.
        deadline: when it must have gone, 0 for none.
        prefix_key: of what its request shares with its siblings' ("" for none).
        first: whether it is the agent's first request, whose input the prefix tells.
        attempt: how often it was refused already.
        not_before: its own slot after a refusal.
        lease: seconds the reservation lives unless renewed or settled.
        estimated: the part of the input that is an estimate of what tools brought back: it comes on
            top of ``amounts``, corrected by what was learned.
        kind: what most of the estimate is of, "" when it is mixed.
        context: tokens that come on top when it goes after ``cache_until``.
        spent_if_lost: whether an expired reservation counts as spent (the request has surely
            gone, only its usage stays unknown) instead of being given back.

    Raises:
        UsageError: a negative, infinite or absurd size, or an unknown class.
    """
    if cls not in CLASSES:
        raise UsageError(f"no such class of request: {cls}")
    checked: Amounts = {"requests": 1.0}
    for dimension, value in amounts.items():
        if dimension not in DIMENSIONS:
            raise UsageError(f"no such dimension: {dimension}")
        checked[dimension] = check_number(value, f"{dimension} of a request")
    for value, what in (
        (cache_until, "a cache's end"),
        (deadline, "a deadline"),
        (not_before, "a slot"),
        (lease, "a lease"),
        (estimated, "an estimate"),
        (context, "a context"),
    ):
        check_number(value, what)
    now = advance(ledger, now)
    if ticket in ledger.tickets:
        return
    order.lift(ledger, session, now)
    ledger.family(family)
    ledger.seq += 1
    ledger.add_ticket(
        Ticket(
            id=ticket,
            family=family,
            session=session,
            agent=agent,
            cls=cls,
            amounts=checked,
            at=now,
            seq=ledger.seq,
            expires=now + TICKET_LEASE_S,
            cache_until=float(cache_until),
            deadline=float(deadline),
            prefix=prefix_key,
            first=first,
            attempt=attempt,
            not_before=float(not_before),
            spent_if_lost=spent_if_lost,
            lease=min(float(lease), LEASE_MAX_S),
            estimated=float(estimated),
            kind=kind,
            context=float(context),
        )
    )


def tick(
    ledger: Ledger,
    mine: Iterable[str],
    now: float,
    policy: Policy,
    *,
    slots: bool = True,
    renew: bool = True,
) -> dict[str, Verdict]:
    """Grant what may go of the caller's tickets, and tell the others when to ask again.

    Args:
        ledger: changed in place.
        mine: the caller's tickets.
        now: epoch seconds.
        policy: of the ledger.
        slots: whether to tell everybody's slot; without, only grants are sure to be told.
        renew: whether to look at each ticket of ``mine``: keep it from being forgotten, and tell
            that it is gone. Once a second is enough for a caller that asks more often.
    """
    now = advance(ledger, now)
    mine = mine if isinstance(mine, set) else set(mine)
    verdicts: dict[str, Verdict] = {}
    names = {} if renew else dict.fromkeys(ledger.queues, len(mine))
    for ticket_id in mine if renew else ():
        ticket = ledger.tickets.get(ticket_id)
        if ticket is None:
            verdicts[ticket_id] = Drop(ticket_id, "gone")
        else:
            if ticket.expires < now + TICKET_FRESH_S:
                ticket.expires = now + TICKET_LEASE_S
            names[ticket.family] = names.get(ticket.family, 0) + 1
    for name, own in names.items():
        _tick_family(ledger, name, mine, own, now, policy, verdicts, slots=slots)
    return verdicts


def _tick_family(
    ledger: Ledger,
    name: str,
    mine: set[str],
    left: int,
    now: float,
    policy: Policy,
    verdicts: dict[str, Verdict],
    *,
    slots: bool,
) -> None:
    family = ledger.family(name)
    view = view_of(ledger, name, now, policy)
    gone: list[str] = []
    for ticket, amounts, leads in order.in_turn(ledger, name, now):
        own = ticket.id in mine
        output = view.rates["output"]
        if output is not None and amounts["output"] > output.capacity:
            # Only a bound: what is not written is not counted, so more than all is never needed.
            amounts["output"] = output.capacity
        held = _held(ledger, family, ticket, now, policy)
        if held is not None:
            verdict: Verdict | None = held
        else:
            verdict = _waits(ledger, view, ticket, amounts, now, policy, own=own)
            if verdict is None and own:
                verdict = _grant(ledger, family, ticket, amounts, view, now, leads=leads)
            if verdict is None or isinstance(verdict, Grant):
                view.earmark(amounts, now)
        if own and verdict is not None:
            verdicts[ticket.id] = verdict
            if not isinstance(verdict, Wait):
                gone.append(ticket.id)
        left -= own
        if not left or (not slots and view.passed and _looked_enough(view, ticket, now)):
            break
    for ticket_id in gone:
        ledger.drop_ticket(ticket_id)


def _looked_enough(view: View, ticket: Ticket, now: float) -> bool:
    """Whether nobody after ``ticket`` can go: first come the late, then main, then the others."""
    if ticket.cls == MAIN or order.is_late(ticket, now):
        return False
    return view.allowance <= 0 or view.passed > LOOK_PAST


def _waits(
    ledger: Ledger,
    view: View,
    ticket: Ticket,
    amounts: Amounts,
    now: float,
    policy: Policy,
    *,
    own: bool,
) -> Wait | None:
    """Return why a ticket that is not held has to wait for tokens, or None when it fits."""
    if ticket.cls == MAIN:
        return None
    family = ledger.families[view.name]
    begins = spaced.slot(view, family, amounts, now)
    if begins > now:
        return Wait(ticket.id, begins, "gap")
    blocked = view.blocked
    if view.fits(amounts, ledger, now):
        if blocked is None:
            return None
        part = view.part(amounts)
        if part <= view.allowance > 0:
            view.allowance -= part
            if own:
                blocked.overtaken += part
            return None
    seconds = view.wait(amounts, now) if own else 0.0  # nobody is told of another's
    wait = Wait(ticket.id, now + seconds, "turn")
    if blocked is None:
        view.blocked = ticket
        view.allowance = policy.overtake - ticket.overtaken
    view.queue(amounts)
    return wait


def _held(
    ledger: Ledger, family: Family, ticket: Ticket, now: float, policy: Policy
) -> Verdict | None:
    """Return why a ticket may not go whatever the level, or None."""
    for breaker in (family.breaker, ledger.family(ALL).breaker):
        until = breakers.closed_until(breaker, ledger.reservations, now)
        if until is None or (ticket.cls == MAIN and ticket.attempt == 0):
            continue
        if breaker.cause == "quota" and until - now > policy.park_max:
            return Drop(ticket.id, "quota", breaker.until)
        return Wait(ticket.id, until, breaker.cause)
    if ticket.not_before > now:
        return Wait(ticket.id, ticket.not_before, "gap")
    until = prefix.waits_for_leader(ledger, ticket, now) if ticket.cls != MAIN else 0.0
    if until:
        return Wait(ticket.id, until, "leader")
    return None


def _grant(
    ledger: Ledger,
    family: Family,
    ticket: Ticket,
    amounts: Amounts,
    view: View,
    now: float,
    *,
    leads: bool,
) -> Grant:
    ledger.seq += 1
    reservation = Reservation(
        id=f"r{ledger.seq:x}-{ticket.id[-12:]}",
        family=ticket.family,
        session=ticket.session,
        agent=ticket.agent,
        cls=ticket.cls,
        amounts=amounts,
        at=now,
        expires=now + ticket.lease,
        spent_if_lost=ticket.spent_if_lost,
        prefix=ticket.prefix,
        first=ticket.first,
        estimated=ticket.estimated,
        kind=ticket.kind,
        fixed=ticket.amounts.get("input", 0.0)
        + (ticket.context if ticket.cache_until - prefix.CLEAN_S <= now else 0.0),
    )
    ledger.add_reservation(reservation)
    for dimension, cost in amounts.items():
        bucket = family.buckets.get(dimension)
        if bucket is not None:
            bucket.level -= cost
    cost = amounts.get("input", 0.0)
    ledger.totals.taken += cost
    share = ledger.shares.setdefault(ticket.session, Share())
    share.served += cost
    share.seen = now
    waited = now - ticket.at
    learn.sent(family.learner, reservation.id, cost, now, waited=waited > WAITED_S)
    if leads:
        prefix.lead(ledger, reservation, now)
    for breaker in (family.breaker, ledger.family(ALL).breaker):
        breakers.probed_by(breaker, reservation.id, now)
    spaced.taken(view, family, amounts, now)
    warning = ""
    for dimension, cost in amounts.items():
        rate = view.rates[dimension]
        if rate is not None and cost > rate.capacity:
            reservation.alone = True
            warning = (
                f"needs {cost:.0f} {dimension} tokens where the limit holds {rate.capacity:.0f}"
                " at once: it goes alone and may be refused"
            )
    return Grant(ticket.id, reservation.id, amounts, waited, leads, warning)


def withdraw(ledger: Ledger, ticket: str, now: float) -> None:
    """Take a waiting ticket out (its call was cancelled)."""
    now = advance(ledger, now)
    ledger.drop_ticket(ticket)
