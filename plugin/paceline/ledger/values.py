"""The value of a ledger (its JSON: ``document``).

A transaction owns the value it was given and changes it in place; nothing here reads a clock or
a file. Times are epoch seconds, sizes are tokens, limits are per minute.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field  # noqa: TID253 - off the hook's fast path
from typing import TYPE_CHECKING, Any  # noqa: TID253 - off the hook's fast path

from paceline.families import ALL

if TYPE_CHECKING:
    from collections.abc import Mapping

DIMENSIONS = ("requests", "input", "output")
MAIN, CONTINUATION, NEW = "main", "continuation", "new"
CLASSES = (MAIN, CONTINUATION, NEW)

Amounts = dict[str, float]


@dataclass(slots=True)
class Bucket:
    """One token bucket of (family, dimension).

    Attributes:
        level: tokens there at ``at``; negative is debt, which is kept.
        at: when ``level`` was true.
        limit: tokens a minute told by somebody, or None while nobody has told.
        capacity: tokens it holds when full, or None: as much as a minute of the limit.
        source: who told: ``set``, ``header``, ``text``, ``probe``, ``tier`` or ``""``.
        told_at: when.
        full_unsure: the capacity is only assumed; a refusal may lower it.
        seen_at: when the request went whose response told last what was left (see ``observe``).
    """

    level: float = 0.0
    at: float = 0.0
    limit: float | None = None
    capacity: float | None = None
    source: str = ""
    told_at: float = 0.0
    full_unsure: bool = True
    seen_at: float = 0.0


@dataclass(slots=True)
class Learner:
    """What accepted and refused requests say of an input limit (see ``learn``).

    Attributes:
        sent: rows of ``history``, oldest first: the newest request and those not settled yet.
        past: the others as one text, bounded (``history``).
        pace: tokens a second to go at, or None while nothing was refused.
        burst: the largest burst that was accepted on top of the pace, in tokens.
        high: the lowest upper bound of the rate, tokens a second, or None.
        high_at: when ``high`` was found; it loosens with age.
        unsure: how far ``high`` may be too high, tokens a second.
        cut_at: when the pace was last cut; refusals of what was sent before belong to that cut.
        moved_at: when the pace was last raised.
        calm: requests accepted since the last refusal that had waited for their turn.
        incident_at: when the newest incident began; refusals of what was sent before belong to it.
        together: refusals of it so far.
        price: refusals that an incident cost lately.
        best: a pace that went well before, tokens a second; nearer to the pace with each cut.
        proofs: how often in a row a refusal has shown the same ``high``.
        largest: tokens of the largest request known when the last was refused.
        streak: refusals, each of another incident, since anything was accepted.
        doubted_at: when a bound too low for any limit was last forgotten.
    """

    sent: list[list[Any]] = field(default_factory=list)
    past: str = ""
    pace: float | None = None
    burst: float | None = None
    high: float | None = None
    high_at: float = 0.0
    unsure: float = 0.0
    cut_at: float = 0.0
    moved_at: float = 0.0
    calm: int = 0
    incident_at: float = 0.0
    together: int = 0
    price: float = 1.0
    best: float = 0.0
    proofs: int = 0
    largest: float = 0.0
    streak: int = 0
    doubted_at: float = 0.0


@dataclass(slots=True)
class Breaker:
    """No new work until ``until``; then one probe, then a staggered wake.

    Attributes:
        until: epoch seconds; 0 when closed.
        cause: ``quota`` or ``overload``.
        window: the plan's window that ran out, or "".
        probe: the reservation that tests whether it is over, or "".
        step: how often it opened in a row (backoff of an overload).
        opened: when it opened; what was sent before says nothing about whether it is over.
        told: ``until`` is a reset that the API named, not a backoff of ours.
    """

    until: float = 0.0
    cause: str = ""
    window: str = ""
    probe: str = ""
    step: int = 0
    opened: float = 0.0
    told: bool = False


@dataclass(slots=True)
class Family:
    """The state of one model family."""

    buckets: dict[str, Bucket] = field(default_factory=dict)
    learner: Learner = field(default_factory=Learner)
    breaker: Breaker = field(default_factory=Breaker)
    gap: float = 0.0
    next_at: float = 0.0


@dataclass(slots=True)
class Prefix:
    """What requests of one (model, agent type, project) share.

    Attributes:
        cold: uncached tokens of a first request that finds no cache, learned.
        warm: uncached tokens of a first request that finds it, learned.
        output: output tokens of one reply, learned.
        warm_until: until when the shared prefix can be read from the cache.
        leader: the reservation whose reply will make it readable, or "".
        leader_until: until when followers wait for it.
        unshared: how many followers in a row found nothing to read.
        n: how many first requests were settled.
    """

    cold: float = 0.0
    warm: float = 0.0
    output: float = 0.0
    warm_until: float = 0.0
    leader: str = ""
    leader_until: float = 0.0
    unshared: int = 0
    n: int = 0
    at: float = 0.0


@dataclass(slots=True)
class Reservation:
    """Tokens taken for a request that was allowed to go and whose usage is not yet known."""

    id: str
    family: str
    session: str
    agent: str
    cls: str
    amounts: Amounts
    at: float
    expires: float
    spent_if_lost: bool = False
    prefix: str = ""
    first: bool = False
    began: bool = False
    alone: bool = False
    estimated: float = 0.0
    kind: str = ""
    fixed: float = 0.0


@dataclass(slots=True)
class Ticket:
    """A request that waits.

    Attributes:
        cls: ``continuation`` or ``new`` (``main`` never waits for tokens, but may be parked).
        amounts: what it will take, by dimension.
        seq: order of arrival, unique in the ledger.
        expires: when it is forgotten unless its process asks again.
        cache_until: when the agent's own context leaves the cache (continuations), else 0.
        deadline: when it must have gone (a stall limit that cannot be raised), 0 for none.
        prefix: key of its shared prefix when it is a first request, else "".
        not_before: own slot after a refusal, 0 for none.
        overtaken: parts of the capacity that went ahead of it while it stood first and did not fit.
        estimated: the part of its input that is an estimate of what tools brought back; it comes
            on top of ``amounts``, corrected by what was learned.
        kind: what most of the estimate is of (``estimate.kinds``), "" when it is mixed.
        context: tokens that come on top when it goes after ``cache_until``.
    """

    id: str
    family: str
    session: str
    agent: str
    cls: str
    amounts: Amounts
    at: float
    seq: int
    expires: float
    cache_until: float = 0.0
    deadline: float = 0.0
    prefix: str = ""
    first: bool = False
    attempt: int = 0
    not_before: float = 0.0
    overtaken: float = 0.0
    spent_if_lost: bool = False
    lease: float = 60.0
    estimated: float = 0.0
    kind: str = ""
    context: float = 0.0

    def place(self) -> tuple[int, float, int]:
        """Return its place within its session: continuations first, nearest cache expiry first."""
        if self.cls == MAIN:
            return (0, 0.0, self.seq)
        if self.cls == CONTINUATION:
            return (1, self.cache_until, self.seq)
        return (2, 0.0, self.seq)


@dataclass(slots=True)
class Share:
    """What a session was given: the tokens that fair queueing counts, and when it was seen."""

    served: float = 0.0
    seen: float = 0.0


@dataclass(slots=True)
class Totals:
    """Tokens of input since the file was made.

    ``taken`` is the sum of the other three and of what is still reserved (rule I2).
    """

    taken: float = 0.0
    settled: float = 0.0
    released: float = 0.0
    expired: float = 0.0


@dataclass(slots=True)
class Ledger:
    """Everything one account's processes share. See the module's first lines for units.

    Attributes:
        account: its id.
        clock: the latest time seen.
        seq: of the last ticket or reservation.
        families: limits and levels by model family.
        defaults: limits set for all families.
        reservations: of requests under way.
        lost: expired reservations, remembered for a settle that comes late.
        tickets: who waits.
        shares: what sessions were given.
        prefixes: what kinds of requests share and cost.
        corrections: how far estimates are off, by kind and family (``estimate.learn``).
        totals: see ``Totals``.
        kept: top-level fields of a newer version.
        queues: tickets by family and session, in their session's order.
        dated: tickets that have a deadline.
        going: reservations under way by family.
        sending: the same by session.
        expiry: nothing in here expires before that (it may be later).
    """

    account: str = "default"
    clock: float = 0.0
    seq: int = 0
    families: dict[str, Family] = field(default_factory=dict)
    defaults: dict[str, Bucket] = field(default_factory=dict)
    reservations: dict[str, Reservation] = field(default_factory=dict)
    lost: dict[str, Reservation] = field(default_factory=dict)
    tickets: dict[str, Ticket] = field(default_factory=dict)
    shares: dict[str, Share] = field(default_factory=dict)
    prefixes: dict[str, Prefix] = field(default_factory=dict)
    corrections: Mapping[str, Any] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    kept: dict[str, Any] = field(default_factory=dict)
    # Derived from the fields above, not in the JSON: what would be searched for each time.
    queues: dict[str, dict[str, list[tuple[tuple[int, float, int], str]]]] = field(
        default_factory=dict
    )
    dated: set[str] = field(default_factory=set)
    going: dict[str, int] = field(default_factory=dict)
    sending: dict[str, int] = field(default_factory=dict)
    expiry: float = 0.0

    def family(self, name: str) -> Family:
        """Return the family's state, made on first use with what is set for all families."""
        found = self.families.get(name)
        if found is None:
            found = self.families[name] = Family()
            for dimension, told in self.defaults.items() if name != ALL else ():
                found.buckets[dimension] = Bucket(
                    level=told.capacity if told.capacity is not None else told.limit or 0.0,
                    at=self.clock,
                    limit=told.limit,
                    capacity=told.capacity,
                    source=told.source,
                    told_at=told.told_at,
                    full_unsure=told.full_unsure,
                )
        return found

    def add_reservation(self, reservation: Reservation) -> None:
        """Put a reservation under way."""
        self.reservations[reservation.id] = reservation
        self.expiry = min(self.expiry, reservation.expires)
        self.going[reservation.family] = self.going.get(reservation.family, 0) + 1
        self.sending[reservation.session] = self.sending.get(reservation.session, 0) + 1

    def drop_reservation(self, reservation_id: str) -> Reservation | None:
        """Take a reservation out, or return None when it is not under way."""
        reservation = self.reservations.pop(reservation_id, None)
        if reservation is not None:
            _count_down(self.going, reservation.family)
            _count_down(self.sending, reservation.session)
        return reservation

    def add_ticket(self, ticket: Ticket) -> None:
        """Put a ticket into its session's queue."""
        self.tickets[ticket.id] = ticket
        self.expiry = min(self.expiry, ticket.expires)
        if ticket.deadline:
            self.dated.add(ticket.id)
        insort(
            self.queues.setdefault(ticket.family, {}).setdefault(ticket.session, []),
            (ticket.place(), ticket.id),
        )

    def drop_ticket(self, ticket_id: str) -> Ticket | None:
        """Take a ticket out, or return None when it is not there."""
        ticket = self.tickets.pop(ticket_id, None)
        if ticket is None:
            return None
        self.dated.discard(ticket_id)
        sessions = self.queues[ticket.family]
        queue = sessions[ticket.session]
        where = bisect_left(queue, (ticket.place(), ticket.id))
        del queue[where]
        if not queue:
            del sessions[ticket.session]
            if not sessions:
                del self.queues[ticket.family]
        return ticket


def _count_down(counts: dict[str, int], key: str) -> None:
    if counts[key] > 1:
        counts[key] -= 1
    else:
        del counts[key]
