"""What happens when the very first request is refused: nothing is known of the rate."""

from __future__ import annotations

from typing import Any

from paceline.ledger import admit, learn, refuse
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


def test_refusals_of_requests_that_cost_nothing_hold_nobody_for_days() -> None:
    """[I10] What is all but nothing bounds no rate: a debt is paid at a token a second at least."""
    ledger = Ledger(clock=T0)
    learner = ledger.family("opus-5").learner
    for n in range(4):
        learn.sent(learner, f"t{n}", 1e-5, T0 + 10.0 * n)
        learn.refused(learner, f"t{n}", 1e-5, T0 + 10.0 * n, T0 + 10.0 * n + 1.0, None)
        learn.sent(learner, f"u{n}", 1e-5, T0 + 10.0 * n + 2.0)
    assert learner.pace is not None
    assert learner.pace >= learn.PACE_MIN
