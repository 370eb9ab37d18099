"""The JSON of a ledger: strict both ways, since one bad number in it would stop every agent.

Written and read some dozens of times a second with some hundred records in it, so records of a kind
stand in tables, which are half the size and are checked a column at a time. A field that has its
default, or a column of nothing but that, is left out, and read as that where it is missing.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, fields  # noqa: TID253 - off the hook's fast path
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar  # noqa: TID253 - off the hook's fast path

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
    from collections.abc import Callable, Iterable, Mapping

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
        "reservations": _RESERVATION.table(ledger.reservations.values()),
        "lost": _RESERVATION.table(ledger.lost.values()),
        "tickets": _TICKET.table(ledger.tickets.values()),
        "shares": _SHARE.keyed(ledger.shares),
        "prefixes": _PREFIX.keyed(ledger.prefixes),
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
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as err:
        raise DamagedError(f"not a ledger: {err!r}") from err


def _ledger(data: Mapping[str, Any]) -> Ledger:
    ledger = Ledger(
        account=_text(data["account"]),
        clock=_number(data["clock"]),
        seq=_whole(data["seq"]),
        families={n: _family(f) for n, f in data["families"].items()},
        defaults={d: _BUCKET.made(b) for d, b in data["defaults"].items()},
        shares=_SHARE.read_keyed(data["shares"]),
        prefixes=_PREFIX.read_keyed(data["prefixes"]),
        corrections={kind: _ratios(ratios) for kind, ratios in data["corrections"].items()},
        totals=_TOTALS.made(data["totals"]),
        kept={k: v for k, v in data.items() if k not in _KNOWN},
        expiry=math.inf,
    )
    reservations, lost, tickets = (
        _RESERVATION.read(data["reservations"]),
        _RESERVATION.read(data["lost"]),
        _TICKET.read(data["tickets"]),
    )
    for reservation in reservations:
        ledger.add_reservation(reservation)
    for reservation in lost:
        ledger.lost[reservation.id] = reservation
        ledger.expiry = min(ledger.expiry, reservation.expires)
    for ticket in tickets:
        ledger.add_ticket(ticket)
    found = len(ledger.reservations), len(ledger.lost), len(ledger.tickets)
    if found != (len(reservations), len(lost), len(tickets)):
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
    if type(value) is float and math.isfinite(value):
        return value
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


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise DamagedError(f"{value!r} is no text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise DamagedError(f"{value!r} is neither true nor false")
    return value


def _ratios(value: Any) -> tuple[float, ...]:
    if value and _COLUMNS["float"](value):
        return tuple(value)
    return tuple(_number(ratio) for ratio in value)


def _amounts(value: Any) -> dict[str, float]:
    amounts = {dimension: _number(cost) for dimension, cost in value.items()}
    if not _are_amounts(amounts):
        raise DamagedError(f"{value!r} are no amounts")
    return amounts


def _are_amounts(*values: dict[str, Any]) -> bool:
    costs = [cost for value in values for cost in value.values()]
    if not costs:
        return True
    known = set[str]().union(*values) <= _DIMENSIONS
    return known and _all(float, costs) and min(costs) >= 0 and math.isfinite(sum(costs))


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


def _all(kind: type, column: Iterable[Any]) -> bool:
    return {*map(type, column)} == {kind}


_COLUMNS: dict[str, Callable[[tuple[Any, ...]], bool]] = {
    "float": lambda column: _all(float, column) and math.isfinite(sum(column)),
    "int": lambda column: _all(int, column) and min(column) >= 0 and max(column) < COUNT_MAX,
    "str": lambda column: _all(str, column),
    "bool": lambda column: _all(bool, column),
    "Amounts": lambda column: _all(dict, column) and _are_amounts(*column),
}
"""Whether a whole column of a table is right: what is not is looked at one by one."""


class _Record(Generic[T]):
    """How one kind of record is written and read: alone, or many of a kind as a table."""

    def __init__(self, cls: type[T]) -> None:
        self.cls = cls
        self.kinds = {field.name: str(field.type) for field in fields(cls)}  # type: ignore[arg-type]  # only called with dataclasses
        self.names = tuple(self.kinds)
        self.checks = {name: _CHECKS[kind] for name, kind in self.kinds.items()}
        self.defaults = {
            field.name: field.default
            for field in fields(cls)  # type: ignore[arg-type]  # only called with dataclasses
            if field.default is not MISSING
        }
        self.get = attrgetter(*self.names)

    def plain(self, value: T) -> dict[str, Any]:
        """Return one as an object."""
        every = zip(self.names, self.get(value), strict=True)
        return {name: said for name, said in every if said != self.defaults.get(name)}

    def made(self, data: Mapping[str, Any]) -> T:
        """Return the record of an object. Unknown fields are passed over."""
        known = {name: check(data[name]) for name, check in self.checks.items() if name in data}
        return self.cls(**known)

    def table(self, values: Iterable[T]) -> dict[str, Any]:
        """Return many as a table."""
        return self._table({}, values)

    def keyed(self, values: Mapping[str, T]) -> dict[str, Any]:
        """Return many by key as a table with the key before them."""
        return self._table({"key": tuple(values)}, values.values())

    def _table(self, before: dict[str, tuple[Any, ...]], values: Iterable[T]) -> dict[str, Any]:
        columns = dict(zip(self.names, zip(*map(self.get, values), strict=True), strict=False))
        if not columns:
            return {"columns": (*before, *self.names), "rows": []}
        said = {**before, **{n: col for n, col in columns.items() if not self._is_default(n, col)}}
        return {"columns": tuple(said), "rows": [*zip(*said.values(), strict=True)]}

    def _is_default(self, name: str, column: tuple[Any, ...]) -> bool:
        return name in self.defaults and column.count(self.defaults[name]) == len(column)

    def read(self, data: Mapping[str, Any]) -> list[T]:
        """Return the records of a table."""
        columns, rows = data["columns"], data["rows"]
        if not rows:
            return []
        found = dict(zip(columns, zip(*rows, strict=True), strict=True))
        if found.keys() <= self.checks.keys() and self._are_right(found):
            rest = {name: (value,) * len(rows) for name, value in self.defaults.items()}
            whole = {**rest, **found}
            return [*map(self.cls, *map(whole.__getitem__, self.names))]
        return [self.made(dict(zip(columns, row, strict=True))) for row in rows]

    def read_keyed(self, data: Mapping[str, Any]) -> dict[str, T]:
        """Return the records of a table with keys."""
        if data["columns"][0] != "key":
            raise DamagedError("a table without its keys")
        keys = [_text(row[0]) for row in data["rows"]]
        rest = {"columns": data["columns"][1:], "rows": [row[1:] for row in data["rows"]]}
        return dict(zip(keys, self.read(rest), strict=True))

    def _are_right(self, columns: Mapping[str, tuple[Any, ...]]) -> bool:
        """Whether all values are what their fields must be, without a look at each."""
        return all(_COLUMNS[self.kinds[name]](column) for name, column in columns.items())


_BUCKET = _Record(Bucket)
_LEARNER = _Record(Learner)
_BREAKER = _Record(Breaker)
_RESERVATION = _Record(Reservation)
_TICKET = _Record(Ticket)
_SHARE = _Record(Share)
_PREFIX = _Record(Prefix)
_TOTALS = _Record(Totals)
_KNOWN = frozenset(to_json(Ledger()))
