"""A breaker's end that cannot be, or is of another window than the newest refusal's."""

from __future__ import annotations

import pytest

from paceline.ledger import refuse
from paceline.ledger.refuse import Answer, Refused
from paceline.ledger.values import MAIN, Ledger
from paceline.ledger.verdicts import Wait
from strategies_ledger import EXACT, FAMILY, T0, ask, granted, tick

DAY = 86_400.0
WEEK = Refused("quota", resets_at=T0 + 7.9 * DAY)


@pytest.mark.parametrize("untold", [Refused("quota"), Refused("quota", resets_at=T0 + 90 * DAY)])
def test_a_quota_refusal_after_the_clock_was_set_back_a_day_is_tried_again(
    untold: Refused,
) -> None:
    """[I9] a reset that is further away than a plan's window is long is no better than none."""
    ledger = Ledger(clock=T0)
    refuse.refuse(ledger, FAMILY, WEEK, T0, EXACT)
    back = T0 - DAY
    ask(ledger, "a", back)
    (probe,) = granted(tick(ledger, back)).values()
    answer = refuse.refuse(
        ledger, FAMILY, untold, back + 1.0, EXACT, reservation_id=probe.reservation
    )
    assert answer == Answer(again=True, not_before=back + 61.0)
    ask(ledger, "a", back + 1.0, attempt=1, not_before=answer.not_before)
    assert not granted(tick(ledger, back + 9.0))
    for seconds in range(10, 61, 5):
        tick(ledger, back + seconds)
    assert list(granted(tick(ledger, back + 61.0))) == ["a"]


def test_a_newer_refusal_of_a_shorter_window_does_not_open_what_a_week_closes() -> None:
    """[I9] [§6 quota] of several resets the latest counts, by its own window's length."""
    ledger = Ledger(clock=T0)
    refuse.refuse(ledger, FAMILY, WEEK, T0 + 1.0, EXACT)
    shorter = Refused("quota", resets_at=T0 + 600.0, window="five_hour")
    answer = refuse.refuse(ledger, FAMILY, shorter, T0 + 2.0, EXACT)
    assert not answer.again
    ask(ledger, "a", T0 + 3.0, cls=MAIN, attempt=1)
    assert not granted(tick(ledger, T0 + 3.0))


def test_a_told_reset_nearer_than_an_absurd_one_replaces_it() -> None:
    ledger = Ledger(clock=T0)
    refuse.refuse(ledger, FAMILY, WEEK, T0, EXACT)
    back = T0 - DAY
    told = Refused("quota", resets_at=back + 600.0, window="five_hour")
    refuse.refuse(ledger, FAMILY, told, back, EXACT)
    ask(ledger, "a", back + 1.0)
    wait = tick(ledger, back + 1.0)["a"]
    assert isinstance(wait, Wait)
    assert wait.at == back + 601.0
