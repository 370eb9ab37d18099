"""What cannot be is refused in words and changes nothing; what happens twice counts once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from paceline.errors import UsageError
from paceline.ledger import belief, refuse, settle
from paceline.ledger.document import to_json
from paceline.ledger.refuse import Refused
from paceline.ledger.values import Ledger
from paceline.ledger.verdicts import Usage, Wait
from strategies_ledger import EXACT, FAMILY, T0, ask, granted, level, limited, take, tick

if TYPE_CHECKING:
    from collections.abc import Callable

BAD = [math.nan, math.inf, -math.inf, -1.0, 1e300]


@pytest.mark.parametrize("size", BAD)
@pytest.mark.parametrize("field", ["input", "cache_creation", "cache_read", "output"])
def test_a_usage_that_cannot_be_is_refused_and_the_reservation_stays(
    field: str, size: float
) -> None:
    """[I2] no token appears or disappears; who asked may settle with the right number."""
    ledger = limited()
    grant = take(ledger, "a", T0, 10_000.0)
    before = to_json(ledger)
    usage = Usage(**{"input": 5.0, field: size})
    with pytest.raises(UsageError, match=r"(input|cache|output) must be"):
        settle.settle(ledger, grant.reservation, usage, T0 + 1.0, EXACT)
    assert to_json(ledger) == before
    assert settle.settle(ledger, grant.reservation, Usage(input=9_000.0), T0 + 1.0, EXACT)


@pytest.mark.parametrize("lease", BAD)
def test_a_lease_that_cannot_be_renews_nothing(lease: float) -> None:
    ledger = limited()
    grant = take(ledger, "a", T0, lease=60.0)
    with pytest.raises(UsageError, match="a lease must be"):
        settle.renew(ledger, [grant.reservation], T0 + 1.0, lease)
    assert ledger.reservations[grant.reservation].expires == T0 + 60.0


def _settle(ledger: Ledger, reservation: str, now: float) -> bool:
    return settle.settle(ledger, reservation, Usage(input=7_000.0), now, EXACT)


def _release(ledger: Ledger, reservation: str, now: float) -> bool:
    return settle.release(ledger, reservation, now, EXACT)


def _throttle(ledger: Ledger, reservation: str, now: float) -> bool:
    before = len(ledger.reservations)
    refuse.refuse(ledger, FAMILY, Refused("overload"), now, EXACT, reservation_id=reservation)
    return len(ledger.reservations) < before


ENDS: dict[str, Callable[[Ledger, str, float], bool]] = {
    "settled": _settle,
    "released": _release,
    "refused": _throttle,
}


@pytest.mark.parametrize("first", ENDS)
@pytest.mark.parametrize("second", ENDS)
def test_a_reservation_ends_once_whatever_is_said_of_it_later(first: str, second: str) -> None:
    """[I2]"""
    ledger = limited()
    grant = take(ledger, "a", T0, 10_000.0)
    assert ENDS[first](ledger, grant.reservation, T0)
    tokens, totals = level(ledger), to_json(ledger)["totals"]
    assert tokens == (53_000.0 if first == "settled" else 60_000.0)
    for _ in range(3):
        assert not ENDS[second](ledger, grant.reservation, T0)
    assert (level(ledger), to_json(ledger)["totals"]) == (tokens, totals)
    assert not ledger.reservations


def test_a_reservation_that_is_never_settled_comes_back_when_its_lease_ends() -> None:
    """[I2] and one that counts as spent does not."""
    for spent, left in ((False, 60_000.0), (True, 50_010.0)):
        ledger = limited(60.0, 60_000.0)
        take(ledger, "a", T0, 10_000.0, lease=10.0, spent_if_lost=spent)
        ask(ledger, "b", T0 + 10.0, 1.0)
        tick(ledger, T0 + 10.0)
        assert [r.agent for r in ledger.reservations.values()] == ["b"]
        assert level(ledger) == left - 1.0


def test_a_request_larger_than_the_bucket_goes_alone_on_a_full_one_and_says_so() -> None:
    """[I1] [I3] it is never refused for ever, and the others wait until its debt is paid."""
    ledger = limited(60_000.0, 20_000.0)
    small = take(ledger, "small", T0, 5_000.0)
    ask(ledger, "large", T0, 50_000.0)
    settled_at = T0 + 5.0
    assert not granted(tick(ledger, settled_at)), "full, but not alone"
    settle.settle(ledger, small.reservation, Usage(input=5_000.0), settled_at, EXACT)
    (grant,) = granted(tick(ledger, settled_at)).values()
    assert "needs 50000 input tokens where the limit holds 20000 at once" in grant.warning
    assert level(ledger) == -30_000.0
    settle.settle(ledger, grant.reservation, Usage(input=50_000.0), settled_at + 3.0, EXACT)
    ask(ledger, "next", settled_at + 3.0, 5_000.0)
    wait = tick(ledger, settled_at + 3.0)["next"]
    assert isinstance(wait, Wait)
    assert wait.at == pytest.approx(settled_at + 35.0)


@pytest.mark.parametrize("limit", [*BAD, 0.0, 99.0])
def test_a_number_in_a_refusal_that_is_no_limit_is_passed_over(limit: float) -> None:
    """[I9] the refusal itself counts: the reservation ends and the request has its next slot."""
    ledger = Ledger(clock=T0)
    grant = take(ledger, "a", T0, 4_000.0)
    told = Refused("throttle", dimension="input", limit=limit)
    answer = refuse.refuse(ledger, FAMILY, told, T0 + 1.0, EXACT, reservation_id=grant.reservation)
    assert answer.again
    assert not ledger.reservations
    assert [row["source"] for row in belief.believed(ledger)] == ["learned"]


@pytest.mark.parametrize("resets_at", [math.nan, math.inf, -math.inf, -1.0, T0 - 1.0])
def test_a_reset_that_cannot_be_closes_the_account_for_a_minute(resets_at: float) -> None:
    """[I9]"""
    ledger = Ledger(clock=T0)
    told = Refused("quota", resets_at=resets_at)
    assert refuse.refuse(ledger, FAMILY, told, T0, EXACT).not_before == T0 + 60.0
