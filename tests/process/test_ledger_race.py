"""Real processes on one ledger file, all at once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from paceline.ledger import belief
from paceline.ledger.store import FileStore
from process.ledger_process import BOUND, processes

if TYPE_CHECKING:
    from pathlib import Path

    from paceline.ledger.values import Ledger

WORKERS = int(os.environ.get("PACELINE_TEST_PROCESSES", "50"))
ROUNDS = int(os.environ.get("PACELINE_TEST_ROUNDS", "200"))
"""Half a minute on two slow cores; fewer may be asked for where there are fewer."""
LIMIT = 100.0

RESERVE = """
say("ready")
while True:
    now_or = heard()
    def change(ledger, now):
        ticket = f"p{told['number']}"
        ask(ledger, ticket, now, 80.0, lease=600.0)
        return now, admit.tick(ledger, [ticket], now, EXACT)[ticket]
    now, verdict = store.transact(change)
    say({"granted": isinstance(verdict, Grant), "wait": getattr(verdict, "at", now) - now})
"""

ROUND = """
say("ready")
granted = []
while True:
    number = heard()
    def change(ledger, now):
        ticket = f"p{told['number']}-{number}"
        ask(ledger, ticket, now, told["cost"], session=f"s{told['number'] % 3}", lease=3600.0)
        verdict = admit.tick(ledger, [ticket], now, EXACT)[ticket]
        if not isinstance(verdict, Grant):
            admit.withdraw(ledger, ticket, now)
        elif told["number"] % 4 == 0:
            settle.release(ledger, verdict.reservation, now, EXACT)
            verdict = None
        counted = ledger.kept.setdefault("rounds", {})
        counted[str(told["number"])] = counted.get(str(told["number"]), 0) + 1
        return now, verdict
    now, verdict = store.transact(change, timeout=60.0)
    say([now, isinstance(verdict, Grant)])
"""


def _limit(ledger: Ledger, now: float) -> None:
    belief.tell(ledger, "opus-5", "input", LIMIT, now, source="set")


def test_of_five_processes_that_reserve_at_once_one_is_granted(tmp_path: Path) -> None:
    """[CASE 21] 100 tokens a minute, each wants 80: four get a wait, one after the other. [P8]"""
    FileStore(str(tmp_path), "a1b2c3").transact(_limit)
    with processes(5, RESERVE, tmp_path) as racers:
        racers.hear()
        racers.tell("go")
        answers = racers.hear()
    waits = sorted(answer["wait"] for answer in answers if not answer["granted"])
    assert [answer["granted"] for answer in answers].count(True) == 1
    assert len(waits) == 4
    for place, wait in enumerate(waits, 1):
        assert wait == pytest.approx((80.0 * (place + 1) - LIMIT) / LIMIT * 60.0, abs=BOUND / 10)


@pytest.mark.timeout(600)
def test_no_update_is_lost_and_no_token_granted_twice_in_many_rounds(tmp_path: Path) -> None:
    """[CASE 21] what was granted in any interval never exceeds capacity + rate x interval. [I1]"""
    store = FileStore(str(tmp_path), "a1b2c3")
    store.transact(_limit)
    cost = 7.0
    granted: list[float] = []
    told = [{"cost": cost} for _ in range(WORKERS)]
    with processes(WORKERS, ROUND, tmp_path, told) as racers:
        racers.hear()
        for number in range(ROUNDS):
            racers.tell(number)
            granted += [now for now, done in racers.hear() if done]
    ledger = store.snapshot()
    assert ledger.kept["rounds"] == {str(n): ROUNDS for n in range(WORKERS)}
    assert len(ledger.reservations) == len(granted)
    assert ledger.totals.taken == ledger.totals.released + cost * len(granted)
    granted.sort()
    for last, until in enumerate(granted):
        for first in range(last + 1):
            taken = cost * (last - first + 1)
            assert taken <= LIMIT + LIMIT / 60.0 * (until - granted[first] + 0.002) + 1e-6
    assert len(granted) >= int(LIMIT / cost), "the bucket was there to be used"
