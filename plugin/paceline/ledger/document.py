"""The JSON of a ledger: strict both ways, since one bad number in it would stop every agent.

Written and read some dozens of times a second with some hundred records in it, so a record is
checked as a whole: by the types of its values, which are the same ones almost always.
"""

from __future__ import annotations

import math
from dataclasses import fields  # noqa: TID253 - off the hook's fast path
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast  # noqa: TID253 - off the hook's fast path

from paceline.ledger.values import (
    DIMENSIONS,
    Breaker,
    Bucket,
    Family,
    Learner,
    Ledger,
    Prefix,
    Reservation,
    Share,
    Ticket,
    Totals,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

VERSION = 1
COUNT_MAX = 1 << 62
ROW = (float, float, int, str, int)
"""Types of a row of ``Learner.sent``."""

T = TypeVar("T")


class DamagedError(ValueError):
    """The JSON is not a ledger. Whoever reads the file sets it aside."""


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
                "buckets": {d: _BUCKET.plain(b) for d, b in family.buckets.items()},
                "learner": _LEARNER.plain(family.learner),
                "breaker": _BREAKER.plain(family.breaker),
                "gap": family.gap,
                "next_at": family.next_at,
            }
            for name, family in ledger.families.items()
        },
        "defaults": {d: _BUCKET.plain(b) for d, b in ledger.defaults.items()},
        "reservations": [_RESERVATION.plain(r) for r in ledger.reservations.values()],
        "lost": [_RESERVATION.plain(r) for r in ledger.lost.values()],
        "tickets": [_TICKET.plain(t) for t in ledger.tickets.values()],
        "shares": {s: _SHARE.plain(share) for s, share in ledger.shares.items()},
        "prefixes": {k: _PREFIX.plain(p) for k, p in ledger.prefixes.items()},
        "corrections": ledger.corrections,
        "totals": _TOTALS.plain(ledger.totals),
    }


def from_json(data: Any) -> Ledger:
    """Return the ledger that ``to_json`` wrote.

    Unknown fields of the top level are kept for a newer version that shares the file.

    Raises:
        DamagedError: it is not a ledger of this version, or something in it is not what it must be.
    """
    if not isinstance(data, dict) or type(data.get("v")) is not int or data["v"] != VERSION:
        raise DamagedError(f"not a ledger of version {VERSION}")
    try:
        return _ledger(data)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as err:
        raise DamagedError(f"not a ledger: {err!r}") from err


def _ledger(data: Mapping[str, Any]) -> Ledger:
    ledger = Ledger(
        account=_text(data["account"]),
        clock=_number(data["clock"]),
        seq=_whole(data["seq"]),
        families={n: _family(f) for n, f in data["families"].items()},
        defaults={d: _BUCKET.made(b) for d, b in data["defaults"].items()},
        shares={s: _SHARE.made(v) for s, v in data["shares"].items()},
        prefixes={k: _PREFIX.made(p) for k, p in data["prefixes"].items()},
        corrections={
            kind: tuple(_number(ratio) for ratio in ratios)
            for kind, ratios in data["corrections"].items()
        },
        totals=_TOTALS.made(data["totals"]),
        kept={k: v for k, v in data.items() if k not in _KNOWN},
        expiry=math.inf,
    )
    for one in data["reservations"]:
        ledger.add_reservation(_RESERVATION.made(one))
    for one in data["lost"]:
        lost = _RESERVATION.made(one)
        ledger.lost[lost.id] = lost
        ledger.expiry = min(ledger.expiry, lost.expires)
    for one in data["tickets"]:
        ledger.add_ticket(_TICKET.made(one))
    if any(
        len(made) != len(data[name])
        for made, name in (
            (ledger.reservations, "reservations"),
            (ledger.lost, "lost"),
            (ledger.tickets, "tickets"),
        )
    ):
        raise DamagedError("an id stands in it twice")
    return ledger


def _family(data: Mapping[str, Any]) -> Family:
    return Family(
        buckets={d: _BUCKET.made(b) for d, b in data["buckets"].items()},
        learner=_LEARNER.made(data["learner"]),
        breaker=_BREAKER.made(data["breaker"]),
        gap=_positive(_number(data["gap"])),
        next_at=_number(data["next_at"]),
    )


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DamagedError(f"{value!r} is no number")
    return float(value)


def _number_or_none(value: Any) -> float | None:
    return None if value is None else _positive(_number(value))


def _positive(value: float) -> float:
    if value < 0:
        raise DamagedError(f"{value!r} is negative")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < COUNT_MAX:
        raise DamagedError(f"{value!r} is no count")
    return value


def _in_bounds(counts: tuple[int, ...]) -> bool:
    return min(counts) >= 0 and max(counts) < COUNT_MAX


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise DamagedError(f"{value!r} is no text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise DamagedError(f"{value!r} is neither true nor false")
    return value


def _amounts(value: Any) -> dict[str, float]:
    if type(value) is not dict or not value.keys() <= _DIMENSIONS:
        raise DamagedError(f"{value!r} are no amounts")
    if {*map(type, value.values())} != _FLOAT:
        value = {dimension: _number(cost) for dimension, cost in value.items()}
    if value and not (min(value.values()) >= 0 and max(value.values()) < math.inf):
        raise DamagedError(f"{value!r} are no amounts")
    return cast("dict[str, float]", value)


def _rows(value: Any) -> list[list[Any]]:
    if not isinstance(value, list):
        raise DamagedError("what was sent is no list")
    if {tuple(map(type, row)) for row in value} - {ROW}:
        value = [
            [_number(at), _number(tokens), _whole(accepted), _text(reservation), _whole(waited)]
            for at, tokens, accepted, reservation, waited in value
        ]
    rows: list[list[Any]] = value
    for at, tokens, *_ in rows:
        if not (-math.inf < at < math.inf and 0 <= tokens < math.inf):
            raise DamagedError(f"{tokens!r} tokens were sent at {at!r}")
    return rows


_FLOAT = {float}
_DIMENSIONS = frozenset(DIMENSIONS)
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "float": _number,
    "float | None": _number_or_none,
    "int": _whole,
    "str": _text,
    "bool": _flag,
    "Amounts": _amounts,
    "list[list[Any]]": _rows,
}
_PLAIN = {"float": float, "str": str, "bool": bool, "int": int}
"""Fields that are right when their type is, but for numbers out of bounds."""


class _Record(Generic[T]):
    """How one kind of record is written and read."""

    def __init__(self, cls: type[T]) -> None:
        self.cls = cls
        self.kinds = {field.name: str(field.type) for field in fields(cls)}  # type: ignore[arg-type]  # only called with dataclasses
        self.names = tuple(self.kinds)
        self.get = attrgetter(*self.names)
        self.checks = [_CHECKS[kind] for kind in self.kinds.values()]
        numbers = [i for i, kind in enumerate(self.kinds.values()) if kind == "float"]
        self.numbers = itemgetter(*numbers, numbers[0])
        counts = [i for i, kind in enumerate(self.kinds.values()) if kind == "int"]
        self.counts = itemgetter(*counts, counts[0]) if counts else None
        self.checked = [
            (i, check)
            for i, (kind, check) in enumerate(zip(self.kinds.values(), self.checks, strict=True))
            if kind not in _PLAIN
        ]
        self.seen: set[tuple[type, ...]] = set()
        """Types of the values of records that were right."""

    def plain(self, value: T) -> dict[str, Any]:
        return dict(zip(self.names, self.get(value), strict=True))

    def made(self, data: Mapping[str, Any]) -> T:
        """Return the record. ``DamagedError`` when it is none; unknown fields are passed over."""
        if tuple(data) != self.names:
            checks = zip(self.names, self.checks, strict=True)
            return self.cls(**{name: check(data[name]) for name, check in checks if name in data})
        values = list(data.values())
        types = tuple(map(type, values))
        if types in self.seen:
            if not math.isfinite(sum(self.numbers(values))):
                raise DamagedError("a number in it is not finite")
            if self.counts is not None and not _in_bounds(self.counts(values)):
                raise DamagedError("a count in it is none")
            for place, check in self.checked:
                values[place] = check(values[place])
            return self.cls(*values)
        made = self.cls(*(check(value) for check, value in zip(self.checks, values, strict=True)))
        if all(_PLAIN.get(k, t) is t for k, t in zip(self.kinds.values(), types, strict=True)):
            self.seen.add(types)
        return made


_BUCKET = _Record(Bucket)
_LEARNER = _Record(Learner)
_BREAKER = _Record(Breaker)
_RESERVATION = _Record(Reservation)
_TICKET = _Record(Ticket)
_SHARE = _Record(Share)
_PREFIX = _Record(Prefix)
_TOTALS = _Record(Totals)
_KNOWN = frozenset(to_json(Ledger()))
