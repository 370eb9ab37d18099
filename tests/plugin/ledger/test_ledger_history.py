"""What was sent is remembered as a plain list would, however it is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.ledger import history, learn
from paceline.ledger.values import Learner, Ledger
from strategies_ledger import FAMILY, T0, again

steps = st.lists(
    st.tuples(
        st.sampled_from(["goes", "goes", "settled", "refused", "withdrawn", "read again"]),
        st.integers(0, 400),
        st.floats(0.0, 60.0),
    ),
    max_size=60,
)


@given(steps)
def test_what_was_sent_is_remembered_as_by_a_plain_list(
    steps: list[tuple[str, int, float]],
) -> None:
    """[I2] also through the file, and whatever of it was put by."""
    ledger = Ledger(clock=T0)
    plain: dict[str, list[float]] = {}
    open_ids: list[str] = []
    now = T0
    for number, (what, which, seconds) in enumerate(steps):
        now += seconds / 60.0
        learner = ledger.family(FAMILY).learner
        tokens = float(which)
        if what == "goes":
            learn.sent(learner, f"r{number}", tokens, now)
            plain[f"r{number}"] = [now, tokens, 1]
            open_ids.append(f"r{number}")
        elif what == "read again":
            ledger = again(ledger)
        elif open_ids:
            ident = open_ids.pop(which % len(open_ids))
            if what == "settled":
                learn.settled(learner, ident, tokens, now)
                plain[ident][1] = tokens
            elif what == "refused":
                learn.refused(learner, ident, tokens, now, now, 1e9)
                plain[ident] = [now, tokens, 0]
            else:
                learn.withdrawn(learner, ident)
                del plain[ident]
    learner = ledger.family(FAMILY).learner
    found = sorted(row[:3] for row in history.rows(learner))
    contradicted = any(what == "refused" for what, _, _ in steps) and len(found) < len(plain)
    assert contradicted or found == sorted(plain.values())
    assert history.newest(learner) == max((row[0] for row in found), default=0.0)


def test_the_newest_request_is_found_also_when_only_older_ones_are_open() -> None:
    learner = Learner()
    learn.sent(learner, "open", 1_000.0, T0)
    learn.sent(learner, "settled", 1_000.0, T0 + 5.0)
    learn.sent(learner, "never went", 1_000.0, T0 + 6.0)
    learn.settled(learner, "settled", 900.0, T0 + 7.0)
    learn.withdrawn(learner, "never went")
    assert history.newest(learner) == T0 + 5.0


def test_only_so_many_requests_are_remembered_and_for_so_long() -> None:
    learner = Learner()
    for n in range(500):
        learn.sent(learner, f"r{n}", 1_000.0, T0 + n)
        learn.settled(learner, f"r{n}", 900.0, T0 + n)
    assert [row[0] - T0 for row in history.rows(learner)] == list(range(340, 500))
    assert len(learner.sent) == 1
    learn.sent(learner, "late", 1_000.0, T0 + 340.0 + history.KEEP_S + 0.5)
    assert [row[0] - T0 for row in history.rows(learner)][:2] == [341, 342]
    learn.sent(learner, "later", 1_000.0, T0 + 3 * history.KEEP_S)
    assert len(history.rows(learner)) == 1


def test_requests_that_are_never_settled_do_not_pile_up() -> None:
    learner = Learner()
    for n in range(1000):
        learn.sent(learner, f"r{n}", 1_000.0, T0 + n / 10.0)
    assert len(history.rows(learner)) == history.KEEP


@pytest.mark.parametrize(
    "past",
    [
        "nonsense",
        "[1,2,3",
        "[1,2,3]",
        "[1.0,-5.0,1,0]",
        "[NaN,5.0,1,0]",
        "[1e999,5.0,1,0]",
        '[1.0,5.0,"1",0]',
        "[1.0,5.0,7,0]",
        "[" * 5000,
        "],[" * 50,
        "{}",
    ],
)
def test_a_history_that_is_none_is_no_evidence_and_stops_nobody(past: str) -> None:
    """[I9]"""
    ledger = Ledger(clock=T0)
    learner = ledger.family(FAMILY).learner
    learner.past = past
    ledger = again(ledger)
    learner = ledger.family(FAMILY).learner
    assert history.rows(learner) == []
    assert history.newest(learner) == 0.0
    for n in range(20):
        learn.sent(learner, f"r{n}", 1_000.0, T0 + 10.0 * n)
        learn.settled(learner, f"r{n}", 1_000.0, T0 + 10.0 * n)
    assert len(history.rows(learner)) == 20
    learn.refused(learner, "r20", 1_000.0, T0 + 200.0, T0 + 200.0, None)
    assert learner.pace is not None


def test_a_clock_that_ran_back_takes_what_was_sent_with_it() -> None:
    learner = Learner()
    for n in range(10):
        learn.sent(learner, f"r{n}", 1_000.0, T0 + n)
        learn.settled(learner, f"r{n}", 1_000.0, T0 + n)
    history.shift(learner, -3600.0)
    assert [row[0] for row in history.rows(learner)] == [T0 + n - 3600.0 for n in range(10)]
    assert len(learner.sent) == 1
