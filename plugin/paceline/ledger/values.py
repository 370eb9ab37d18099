"""The value of a ledger, and its JSON.

A transaction owns the value it was given and changes it in place; nothing here or in ``core``
reads a clock or a file. Times are epoch seconds, sizes are tokens, limits are per minute.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from dataclasses import dataclass, field, fields  # noqa: TID253 - off the hook's fast path
from typing import TYPE_CHECKING, Any, TypeVar  # noqa: TID253 - off the hook's fast path

from paceline.families import ALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

VERSION = 1
DIMENSIONS = ("requests", "input", "output")
MAIN, CONTINUATION, NEW = "main", "continuation", "new"
CLASSES = (MAIN, CONTINUATION, NEW)

Amounts = dict[str, float]
T = TypeVar("T")


class DamagedError(ValueError):
    """The JSON is not a ledger. Whoever reads the file sets it aside."""


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
    """

    level: float = 0.0
    at: float = 0.0
    limit: float | None = None
    capacity: float | None = None
    source: str = ""
    told_at: float = 0.0
    full_unsure: bool = True


@dataclass(slots=True)
class Learner:
    """What accepted and refused requests say of an input limit (see ``learn``).

    Attributes:
        sent: ``[t, tokens, accepted (1 or 0), reservation id]``, oldest first, bounded.
        pace: tokens a second to go at, or None while nothing was refused.
        burst: the largest burst that was accepted on top of the pace, in tokens.
        high: the lowest upper bound of the rate, tokens a second, or None.
        high_at: when ``high`` was found; it loosens with age.
        cut_at: when the pace was last cut; refusals of what was sent before belong to that cut.
        moved_at: when the pace was last raised.
    """

    sent: list[list[Any]] = field(default_factory=list)
    pace: float | None = None
    burst: float | None = None
    high: float | None = None
    high_at: float = 0.0
    cut_at: float = 0.0
    moved_at: float = 0.0


@dataclass(slots=True)
class Breaker:
    """No new work until ``until``; then one probe, then a staggered wake.

    Attributes:
        until: epoch seconds; 0 when closed.
        cause: ``quota`` or ``overload``.
        window: the plan's window that ran out, or "".
        probe: the reservation that tests whether it is over, or "".
        step: how often it opened in a row (backoff of an overload).
    """

    until: float = 0.0
    cause: str = ""
    window: str = ""
    probe: str = ""
    step: int = 0


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
        overtaken: tokens that went ahead of it while it stood first.
        estimated: the part of its input that is an estimate of what tools brought back; it comes
            on top of ``amounts``, corrected by what was learned.
        key: place in its session's queue, set by the ledger.
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
    """Everything one account's processes share. See the module's first lines for units."""

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
    corrections: dict[str, Any] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    kept: dict[str, Any] = field(default_factory=dict)
    queues: dict[str, dict[str, list[tuple[tuple[int, float, int], str]]]] = field(
        default_factory=dict
    )
    dated: set[str] = field(default_factory=set)

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

    def add_ticket(self, ticket: Ticket) -> None:
        """Put a ticket into its session's queue."""
        self.tickets[ticket.id] = ticket
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


def to_json(ledger: Ledger) -> dict[str, Any]:
    """Return the ledger as JSON values."""
    return {
        **ledger.kept,
        "v": VERSION,
        "account": ledger.account,
        "clock": ledger.clock,
        "seq": ledger.seq,
        "families": {
            name: {
                "buckets": {d: _plain(b) for d, b in family.buckets.items()},
                "learner": _plain(family.learner),
                "breaker": _plain(family.breaker),
                "gap": family.gap,
                "next_at": family.next_at,
            }
            for name, family in ledger.families.items()
        },
        "defaults": {d: _plain(b) for d, b in ledger.defaults.items()},
        "reservations": [_plain(r) for r in ledger.reservations.values()],
        "lost": [_plain(r) for r in ledger.lost.values()],
        "tickets": [_plain(t) for t in ledger.tickets.values()],
        "shares": {s: _plain(share) for s, share in ledger.shares.items()},
        "prefixes": {k: _plain(p) for k, p in ledger.prefixes.items()},
        "corrections": ledger.corrections,
        "totals": _plain(ledger.totals),
    }


_KNOWN = frozenset(
    [
        "v",
        "account",
        "clock",
        "seq",
        "families",
        "defaults",
        "reservations",
        "lost",
        "tickets",
        "shares",
        "prefixes",
        "corrections",
        "totals",
    ]
)


def from_json(data: Any) -> Ledger:
    """Return the ledger that ``to_json`` wrote.

    Unknown fields of the top level are kept for a newer version that shares the file.

    Raises:
        DamagedError: it is not a ledger, or a number in it is none.
    """
    if not isinstance(data, dict) or data.get("v") != VERSION:
        msg = f"not a ledger of version {VERSION}"
        raise DamagedError(msg)
    try:
        ledger = Ledger(
            account=str(data["account"]),
            clock=_number(data["clock"]),
            seq=int(data["seq"]),
            families={str(n): _family(f) for n, f in data["families"].items()},
            defaults={str(d): _made(Bucket, b) for d, b in data["defaults"].items()},
            reservations=_by_id(_made(Reservation, r) for r in data["reservations"]),
            lost=_by_id(_made(Reservation, r) for r in data["lost"]),
            shares={str(s): _made(Share, v) for s, v in data["shares"].items()},
            prefixes={str(k): _made(Prefix, p) for k, p in data["prefixes"].items()},
            corrections=dict(data["corrections"]),
            totals=_made(Totals, data["totals"]),
            kept={k: v for k, v in data.items() if k not in _KNOWN},
        )
        for ticket in data["tickets"]:
            ledger.add_ticket(_made(Ticket, ticket))
    except (KeyError, TypeError, ValueError, AttributeError) as err:
        msg = f"not a ledger: {err}"
        raise DamagedError(msg) from err
    return ledger


def _plain(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}


def _made(cls: type[T], data: Mapping[str, Any]) -> T:
    known = {f.name for f in fields(cls)}  # type: ignore[arg-type]  # only called with dataclasses
    made = {name: value for name, value in data.items() if name in known}
    for value in made.values():
        if isinstance(value, float):
            _number(value)
        elif isinstance(value, dict):
            for part in value.values():
                _number(part)
    return cls(**made)


def _by_id(reservations: Iterable[Reservation]) -> dict[str, Reservation]:
    return {reservation.id: reservation for reservation in reservations}


def _family(data: Mapping[str, Any]) -> Family:
    return Family(
        buckets={str(d): _made(Bucket, b) for d, b in data["buckets"].items()},
        learner=_made(Learner, data["learner"]),
        breaker=_made(Breaker, data["breaker"]),
        gap=_number(data["gap"]),
        next_at=_number(data["next_at"]),
    )


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        msg = f"{value!r} is not a number"
        raise DamagedError(msg)
    return float(value)
