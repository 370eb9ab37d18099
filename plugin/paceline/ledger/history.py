"""What was sent and how it went: the evidence that ``learn`` reads.

Only the newest request and those whose usage is not known yet are changed by a transaction; the
others, up to a hundred and sixty, are looked at when something was refused. So those are put by as
one text, which a file is written and read with as fast as any other text, and taken apart on
demand. A text that is not what was put by (a damaged file) is no evidence, and goes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any  # noqa: TID253 - off the hook's fast path

from paceline import jsonl

if TYPE_CHECKING:
    from paceline.ledger.values import Learner

KEEP = 160
"""Requests remembered."""
KEEP_S = 3600.0
"""Seconds they are remembered for."""

Row = list[Any]
"""``[t, tokens, accepted (1 or 0), reservation id or "", waited (1 or 0)]``"""


def rows(learner: Learner) -> list[Row]:
    """Return all of it, oldest first."""
    if not learner.past:
        return learner.sent
    try:
        past = [[float(t), float(n), ok, "", waited] for t, n, ok, waited in _parsed(learner.past)]
        if not all(map(_is_right, past)):
            past = []
    except (ValueError, TypeError):
        past = []
    return sorted([*past, *learner.sent], key=_time)


def take_apart(learner: Learner) -> None:
    """Bring all of it into ``sent``, to be changed."""
    learner.sent, learner.past = rows(learner), ""


def put_by(learner: Learner) -> None:
    """Put by what is settled, but for the newest request."""
    older = learner.sent[:-1]
    done = [
        f"[{t!r},{tokens!r},{ok},{waited}]" for t, tokens, ok, ident, waited in older if not ident
    ]
    if done:
        learner.past = ",".join([learner.past, *done] if learner.past else done)
        learner.sent = [row for row in older if row[3]] + learner.sent[-1:]


def note(learner: Learner, row: Row) -> None:
    """Add a request that goes now, and forget the oldest."""
    learner.sent.append(row)
    oldest = row[0] - KEEP_S
    over = learner.past.count("[") + len(learner.sent) - KEEP
    while learner.past and (over > 0 or not oldest <= _first(learner.past) < math.inf):
        learner.past = learner.past.partition("],")[2]
        over = learner.past.count("[") + len(learner.sent) - KEEP
    first = max(0, over)
    while first < len(learner.sent) and learner.sent[first][0] < oldest:
        first += 1
    if first:
        del learner.sent[:first]


def accepted(learner: Learner, since: float) -> list[tuple[float, float]]:
    """Return when requests went that were not refused, from ``since`` on, and their tokens."""
    return [(row[0], row[1]) for row in rows(learner) if row[2] and row[0] >= since]


def newest(learner: Learner) -> float:
    """Return when the last request went, or the last was refused; 0.0 when none is known."""
    known = rows(learner)
    return float(known[-1][0]) if known else 0.0


def shift(learner: Learner, by: float) -> None:
    """Move every time by ``by`` seconds (the clock ran back)."""
    take_apart(learner)
    for row in learner.sent:
        row[0] += by
    put_by(learner)


def _parsed(past: str) -> list[Any]:
    value = jsonl.loads(f"[{past}]")
    return value if isinstance(value, list) else []


def _first(past: str) -> float:
    """Return the time of the oldest row put by, or NaN where there is none."""
    try:
        return float(past[1 : past.index(",")])
    except ValueError:
        return math.nan


def _is_right(row: Row) -> bool:
    t, tokens, ok, _, waited = row
    return (
        -math.inf < t < math.inf
        and 0 <= tokens < math.inf
        and type(ok) is type(waited) is int
        and {ok, waited} <= {0, 1}
    )


def _time(row: Row) -> float:
    return float(row[0])
