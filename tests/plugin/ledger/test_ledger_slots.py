"""Slots: how far apart requests go where nothing is known to pace them by."""

from __future__ import annotations

from paceline.ledger.values import Ledger
from paceline.ledger.verdicts import Wait
from strategies_ledger import T0, ask, granted, tick


def test_large_requests_at_once_leave_the_first_refusal_time_to_come_back() -> None:
    """[I8] fifteen readers of a big file go within two seconds, a few in a refusal's time."""
    ledger = Ledger(clock=T0)
    went = _let_go(ledger, [26_000.0] * 15)
    assert went[0] == T0
    assert sum(t <= T0 + 0.25 for t in went) <= 3
    assert went[-1] <= T0 + 2.0


def test_a_burst_that_nobody_refuses_goes_ever_faster() -> None:
    """[I8] [I10] an account without a limit is not slowed down for longer than a moment."""
    ledger = Ledger(clock=T0)
    went = _let_go(ledger, [26_000.0] * 400)
    assert went[-1] <= T0 + 6.0
    last = _let_go(ledger, [26_000.0] * 100)
    assert last[-1] - last[0] <= 1.5


def _let_go(ledger: Ledger, sizes: list[float]) -> list[float]:
    """Ask for all at once, each again at its own slot. Return when each of them went."""
    start = ledger.clock
    for i, size in enumerate(sizes):
        ask(ledger, f"{start}-{i}", start, size)
    went: list[float] = []
    now = start
    while ledger.tickets:
        verdicts = tick(ledger, now)
        went += [now] * len(granted(verdicts))
        waiting = [v.at for v in verdicts.values() if isinstance(v, Wait)]
        now = max(now + 0.001, min(waiting, default=now))
    return went
