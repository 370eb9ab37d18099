"""The JSON of a ledger: what is written is read the same, what is damaged is told as such."""

from __future__ import annotations

import copy
import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline import jsonl
from paceline.errors import PacelineError
from paceline.ledger import history, refuse, settle
from paceline.ledger.document import VERSION, DamagedError, from_json, to_json
from paceline.ledger.refuse import Refused
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
from paceline.ledger.verdicts import Grant, Usage
from strategies_ledger import EXACT, FAMILY, T0, again, ask, limited, take, tick

numbers = st.floats(0.0, 1e15)
times = st.floats(0.0, 2e9)
names = st.text(max_size=12)
amounts = st.dictionaries(st.sampled_from(DIMENSIONS), numbers, max_size=3)
buckets = st.builds(
    Bucket,
    level=st.floats(-1e15, 1e15),
    at=times,
    limit=st.none() | numbers,
    capacity=st.none() | numbers,
    source=names,
    told_at=times,
    full_unsure=st.booleans(),
)
rows = st.builds(
    lambda *row: list(row),
    times,
    numbers,
    st.integers(0, 1),
    names,
    st.integers(0, 1),
)
families = st.builds(
    Family,
    buckets=st.dictionaries(st.sampled_from(DIMENSIONS), buckets, max_size=3),
    learner=st.builds(
        Learner,
        sent=st.lists(rows, max_size=4),
        pace=st.none() | numbers,
        burst=st.none() | numbers,
        high=st.none() | numbers,
        high_at=times,
        cut_at=times,
        moved_at=times,
    ),
    breaker=st.builds(
        Breaker,
        until=times,
        cause=names,
        window=names,
        probe=names,
        step=st.integers(0, 8),
        opened=times,
        told=st.booleans(),
    ),
    gap=numbers,
    next_at=times,
)


def _reservation(ident: str) -> st.SearchStrategy[Reservation]:
    return st.builds(
        Reservation,
        id=st.just(ident),
        family=names,
        session=names,
        agent=names,
        cls=names,
        amounts=amounts,
        at=times,
        expires=times,
        spent_if_lost=st.booleans(),
        prefix=names,
        first=st.booleans(),
        began=st.booleans(),
        alone=st.booleans(),
        estimated=numbers,
        fixed=numbers,
    )


def _ticket(ident: str) -> st.SearchStrategy[Ticket]:
    return st.builds(
        Ticket,
        id=st.just(ident),
        family=names,
        session=names,
        agent=names,
        cls=names,
        amounts=amounts,
        at=times,
        seq=st.integers(0, 1 << 40),
        expires=times,
        cache_until=times,
        deadline=times,
        prefix=names,
        first=st.booleans(),
        attempt=st.integers(0, 99),
        not_before=times,
        overtaken=numbers,
        spent_if_lost=st.booleans(),
        lease=numbers,
        estimated=numbers,
    )


@st.composite
def ledgers(draw: st.DrawFn) -> Ledger:
    """Draw a ledger: any value a program could make."""
    ids = [f"r{i}" for i in range(draw(st.integers(0, 3)))]
    ledger = Ledger(
        account=draw(names),
        clock=draw(times),
        seq=draw(st.integers(0, 1 << 40)),
        families=draw(st.dictionaries(names, families, max_size=2)),
        defaults=draw(st.dictionaries(st.sampled_from(DIMENSIONS), buckets, max_size=2)),
        lost={f"l{i}": draw(_reservation(f"l{i}")) for i in range(draw(st.integers(0, 2)))},
        shares=draw(
            st.dictionaries(names, st.builds(Share, served=numbers, seen=times), max_size=3)
        ),
        prefixes=draw(
            st.dictionaries(
                names,
                st.builds(
                    Prefix,
                    cold=numbers,
                    warm=numbers,
                    output=numbers,
                    warm_until=times,
                    leader=names,
                    leader_until=times,
                    unshared=st.integers(0, 9),
                    n=st.integers(0, 999),
                    at=times,
                ),
                max_size=2,
            )
        ),
        corrections=draw(
            st.dictionaries(
                names, st.lists(st.floats(-9.0, 9.0), max_size=3).map(tuple), max_size=2
            )
        ),
        totals=draw(st.builds(Totals, numbers, numbers, numbers, numbers)),
        kept=draw(st.dictionaries(st.sampled_from(["x", "new_field"]), st.integers(), max_size=2)),
        expiry=float("inf"),
    )
    for ident in ids:
        ledger.add_reservation(draw(_reservation(ident)))
    for i in range(draw(st.integers(0, 4))):
        ledger.add_ticket(draw(_ticket(f"t{i}")))
    ledger.expiry = min([ledger.expiry, *(one.expires for one in ledger.lost.values())])
    return ledger


@settings(max_examples=60, deadline=None)
@given(ledgers())
def test_what_is_written_is_read_the_same(ledger: Ledger) -> None:
    """Through the very bytes of the file, with all that is derived from them."""
    data = jsonl.dumps(to_json(ledger)).encode()
    assert from_json(jsonl.loads(data)) == ledger
    assert from_json(jsonl.loads(data)) == ledger, "also when such records were seen before"


def test_a_ledger_in_use_survives_a_round_trip_after_every_step() -> None:
    ledger = limited()
    for i in range(6):
        ask(ledger, f"a{i}", T0 + i, 20_000, estimated=500, first=i == 0, prefix_key="m|t|p")
        ledger = again(ledger)
        for verdict in tick(ledger, T0 + i).values():
            if isinstance(verdict, Grant):
                ledger = again(ledger)
                settle.settle(ledger, verdict.reservation, Usage(9_000, 400, 1, 7), T0 + i, EXACT)
                ledger = again(ledger)
    refuse.refuse(ledger, FAMILY, Refused("throttle", limit=50_000), T0 + 7, EXACT)
    assert again(ledger).families[FAMILY].buckets["input"].limit == 50_000.0


def test_fields_of_a_newer_version_are_kept_at_the_top_and_passed_over_below() -> None:
    """Two versions of the plugin share the file while one of them updates."""
    ledger = limited()
    ask(ledger, "a", T0)
    data = to_json(ledger)
    data["of_tomorrow"] = {"deep": [1, 2, {"x": None}]}
    data["families"][FAMILY]["buckets"]["input"]["colour"] = "red"
    data["totals"]["burnt"] = 1.0
    for table in ("tickets", "shares"):
        data[table]["columns"] = [*data[table]["columns"], "colour"]
        data[table]["rows"] = [(*row, "red") for row in data[table]["rows"]]
    written = to_json(from_json(data))
    assert written["of_tomorrow"] == {"deep": [1, 2, {"x": None}]}
    assert written["tickets"]["rows"] == [row[:-1] for row in data["tickets"]["rows"]]
    assert written["shares"]["rows"] == [row[:-1] for row in data["shares"]["rows"]]
    assert written["families"][FAMILY]["buckets"]["input"]["limit"] == 60_000.0


def test_fields_an_older_version_did_not_write_have_their_defaults() -> None:
    ledger = limited()
    take(ledger, "a", T0)
    ask(ledger, "b", T0, 90_000.0)
    data = to_json(ledger)
    for table, left_out in (
        ("reservations", {"estimated", "fixed", "began"}),
        ("tickets", {"estimated", "overtaken", "lease"}),
    ):
        columns, (row,) = data[table]["columns"], data[table]["rows"]
        kept = [
            (name, value) for name, value in zip(columns, row, strict=True) if name not in left_out
        ]
        data[table] = {"columns": [n for n, _ in kept], "rows": [[v for _, v in kept]]}
    assert "opened" not in data["families"][FAMILY]["breaker"]
    read = from_json(data)
    assert read.tickets["b"].lease == Ticket.__dataclass_fields__["lease"].default
    assert read.reservations.keys() == ledger.reservations.keys()


def test_a_version_that_writes_every_column_and_every_request_is_read_the_same() -> None:
    """Two versions of the plugin share the file: what is left out may be there, and reverse."""
    ledger = limited()
    for n in range(5):
        grant = take(ledger, f"a{n}", T0 + n, 9_000.0)
        settle.settle(ledger, grant.reservation, Usage(input=8_000.0), T0 + n + 0.5, EXACT)
    ask(ledger, "b", T0 + 5.0, 90_000.0)
    short = to_json(ledger)
    assert "deadline" not in short["tickets"]["columns"]
    columns, (row,) = short["tickets"]["columns"], short["tickets"]["rows"]
    said = dict(zip(columns, row, strict=True))
    every = {f.name: said.get(f.name, f.default) for f in fields(Ticket)}
    learner = {**short["families"][FAMILY]["learner"], "past": ""}
    learner["sent"] = [[T0 + n, 8_000.0, 1, "", 0] for n in range(5)]
    family = {**short["families"][FAMILY], "learner": learner}
    whole = {
        **short,
        "tickets": {"columns": list(every), "rows": [list(every.values())]},
        "families": {**short["families"], FAMILY: family},
    }
    read, same = from_json(whole), from_json(short)
    assert history.rows(read.families[FAMILY].learner) == learner["sent"]
    assert history.rows(same.families[FAMILY].learner) == learner["sent"]
    assert read.tickets == same.tickets == ledger.tickets


@pytest.mark.parametrize("version", [None, 0, 2, 1.0, True, "1", -1, 10**30])
def test_another_version_is_not_a_ledger_of_this_one(version: Any) -> None:
    with pytest.raises(DamagedError, match="version"):
        from_json({**to_json(Ledger()), "v": version})


junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**400), 10**400),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.just([[1.0, 2.0, 3, "x"]]),
    st.just({"input": "many"}),
    st.just({"tokens": 1.0}),
)


def _used() -> dict[str, Any]:
    """Return the JSON of a ledger in which everything occurs."""
    ledger = limited()
    for i in range(3):
        grant = take(
            ledger, f"a{i}", T0 + i, 15_000.0, first=True, prefix_key=f"m|t|{i}", cls="main"
        )
        if i == 0:
            settle.settle(ledger, grant.reservation, Usage(10_000.0, output=5.0), T0 + 1.0, EXACT)
    take(ledger, "lost", T0 + 3.0, 1.0, lease=1.0)
    refuse.refuse(ledger, FAMILY, Refused("throttle"), T0 + 5.0, EXACT)
    ask(ledger, "b", T0 + 5.0, 50_000.0, deadline=T0 + 99.0, estimated=10.0)
    tick(ledger, T0 + 5.0)
    ledger.corrections = {"text|opus-5": (0.5, 0.25)}
    data: dict[str, Any] = json.loads(json.dumps(to_json(ledger)))
    assert all(data[name]["rows"] for name in ("lost", "reservations", "tickets", "shares"))
    return data


USED = _used()


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            found += _paths(one, (*path, key))
    return found


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(_paths(USED)), junk, st.sampled_from(["put", "drop", "twice"]))
def test_damage_at_any_place_is_told_or_does_no_harm(
    path: tuple[Any, ...], value: Any, how: str
) -> None:
    """Whatever is read can be used and written again; all else is damaged, and nothing raises."""
    data = copy.deepcopy(USED)
    place: Any = data
    for key in path[:-1]:
        place = place[key]
    if how == "put":
        place[path[-1]] = value
    elif how == "drop":
        del place[path[-1]]
    elif isinstance(place, list):
        place.append(copy.deepcopy(place[path[-1]]))
    try:
        ledger = from_json(data)
    except DamagedError:
        return
    now = min(max(ledger.clock, T0), 1e11)
    for step in range(3):
        ask(ledger, f"new{step}", now, 1_000.0, cls="main")
        for verdict in tick(ledger, now).values():
            if isinstance(verdict, Grant):
                settle.settle(ledger, verdict.reservation, Usage(1_000.0), now, EXACT)
        refuse.refuse(ledger, FAMILY, Refused("throttle"), now, EXACT)
        refuse.refuse(ledger, FAMILY, Refused("overload"), now, EXACT)
        now += 100.0
    jsonl.dumps(to_json(ledger))


@given(st.one_of(junk, st.recursive(junk, lambda deeper: st.lists(deeper, max_size=3))))
def test_what_is_no_ledger_is_damaged(value: Any) -> None:
    with pytest.raises(DamagedError):
        from_json(value)
    with pytest.raises(DamagedError):
        from_json({"v": VERSION, "families": value})


def test_a_damaged_ledger_is_an_error_of_the_file_and_not_of_a_caller() -> None:
    """Callers catch ``PacelineError``; a reader of the file catches this and sets it aside."""
    assert not issubclass(DamagedError, PacelineError)
    assert issubclass(DamagedError, ValueError)
