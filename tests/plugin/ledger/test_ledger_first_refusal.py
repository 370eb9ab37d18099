"""What happens when the very first request is refused: nothing is known of the rate."""

from __future__ import annotations

from typing import Any

from paceline.ledger import admit, refuse
from paceline.ledger.refuse import Refused
from paceline.ledger.values import Ledger
from paceline.ledger.verdicts import Grant, Policy, Wait

T0 = 1789041600.0
POLICY = Policy()
COST = 9000.0


def ask(ledger: Ledger, name: str, now: float) -> Grant | Wait:
    asked: dict[str, Any] = {"family": "opus-5", "session": "s", "agent": name}
    admit.enqueue(ledger, ticket=name, cls="new", amounts={"input": COST}, now=now, **asked)
    verdict = admit.tick(ledger, [name], now, POLICY)[name]
    assert isinstance(verdict, Grant | Wait)
    return verdict


def test_a_first_request_that_is_refused_is_tried_again_in_seconds_not_minutes() -> None:
    """[I10] No rate is known, so none is invented: the pace backs off like any retry."""
    ledger = Ledger(clock=T0)
    waits = []
    now = T0
    for attempt in range(4):
        granted = ask(ledger, f"t{attempt}", now)
        while isinstance(granted, Wait):
            waits.append(granted.at - now)
            now = granted.at + 0.01
            granted = ask(ledger, f"t{attempt}", now)
        refused = Refused("throttle")
        refuse.refuse(
            ledger, "opus-5", refused, now + 1, POLICY, reservation_id=granted.reservation
        )
        now += 1
    assert len(waits) >= 3
    assert waits[0] < 10
    assert waits == sorted(waits)
    assert waits[-1] < 30
