"""Refusals, resets and what is believed of a limit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.errors import UsageError
from paceline.families import ALL
from paceline.ledger import belief, refuse, settle
from paceline.ledger.document import to_json
from paceline.ledger.refuse import Answer, Refused
from paceline.ledger.values import MAIN, Ledger
from paceline.ledger.verdicts import Drop, Grant, Policy, Usage, Wait
from strategies_ledger import EXACT, FAMILY, T0, again, ask, granted, level, limited, take, tick

OTHER = "haiku-4-5"
QUOTA = Refused("quota", resets_at=T0 + 600.0, window="five_hour")


def _parked(n: int = 30, reset: Refused = QUOTA) -> Ledger:
    """Return a ledger whose account ran out of quota with ``n`` agents that wait."""
    ledger = Ledger(clock=T0)
    grant = take(ledger, "first", T0)
    refuse.refuse(ledger, FAMILY, reset, T0, EXACT, reservation_id=grant.reservation)
    for i in range(n):
        ask(ledger, f"a{i}", T0, family=FAMILY if i % 2 else OTHER, session=f"s{i % 3}")
    return ledger


def _starts(ledger: Ledger, since: float, until: float, reply: float = 3.0) -> list[float]:
    """Let time pass in tenths of a second; every reply comes ``reply`` seconds after its start."""
    starts: list[float] = []
    going: list[tuple[float, str]] = []
    for tenth in range(int(since * 10), int(until * 10)):
        now = T0 + tenth / 10.0
        for end, reservation in [pair for pair in going if pair[0] <= now]:
            going.remove((end, reservation))
            settle.settle(ledger, reservation, Usage(input=1000.0), now, EXACT)
        for grant in granted(tick(ledger, now)).values():
            starts.append(now - T0)
            going.append((now + reply, grant.reservation))
    return starts


def test_nobody_starts_before_a_reset_and_nobody_starts_together_after_it() -> None:
    """[CASE 25] thirty parked agents of two families: one probe, then a slot each. [I8]"""
    ledger = _parked()
    starts = _starts(ledger, 0.0, 700.0)
    assert len(starts) == 30
    assert starts[0] >= 600.0
    assert [s for s in starts if s < starts[0] + 3.0] == starts[:1], "one probe before its answer"
    second = [s for s in starts[1:] if s < starts[1] + 0.95]
    assert len(second) == 2, "one of each family in the first second"
    assert len({round(s, 1) for s in starts[:12]}) == 12


def test_a_probe_that_is_refused_parks_all_again_at_the_cost_of_one() -> None:
    """[CASE 25] the text after the reset names one five hours later."""
    ledger = _parked()
    refused = 0
    for second in range(700):
        now = T0 + second
        for grant in granted(tick(ledger, now)).values():
            refused += 1
            later = Refused("quota", resets_at=T0 + 600.0 + 5 * 3600.0, window="five_hour")
            answer = refuse.refuse(
                ledger, FAMILY, later, now, EXACT, reservation_id=grant.reservation
            )
            assert answer == Answer(again=True, not_before=T0 + 601.0 + 5 * 3600.0)
    assert refused == 1
    waits = tick(ledger, T0 + 700.0).values()
    assert {(w.at, w.why) for w in waits if isinstance(w, Wait)} == {
        (T0 + 601.0 + 5 * 3600.0, "quota")
    }


def test_what_is_parked_for_longer_than_allowed_is_dropped_with_its_reset() -> None:
    """[§6 quota] a week away is no wait; the manifest tells, and a requeue comes later."""
    ledger = _parked(3, Refused("quota", resets_at=T0 + 6 * 86_400.0, window="seven_day"))
    assert set(tick(ledger, T0 + 1.0).values()) == {
        Drop(f"a{i}", "quota", T0 + 6 * 86_400.0 + 1.0) for i in range(3)
    }
    assert not ledger.tickets


@pytest.mark.parametrize("resets_at", [None, T0 - 3600.0, T0, T0 + 60 * 86_400.0, 4e9, 0.0])
@pytest.mark.parametrize("window", ["five_hour", "seven_day", ""])
def test_an_absurd_reset_closes_nothing_for_long(resets_at: float | None, window: str) -> None:
    """[I9] in the past, in weeks or none: look again in a minute, then in up to fifteen."""
    ledger = _parked(1, Refused("quota", resets_at=resets_at, window=window))
    now = T0
    for _ in range(8):
        ask(ledger, "a0", now)
        wait = tick(ledger, now)["a0"]
        assert isinstance(wait, Wait)
        assert now < wait.at <= now + 901.0
        now = wait.at
        grant = take(ledger, f"probe{now}", now)
        repeated = Refused("quota", resets_at=resets_at, window=window)
        refuse.refuse(ledger, FAMILY, repeated, now, EXACT, reservation_id=grant.reservation)
    assert now < T0 + 8 * 901.0


def test_a_reset_further_away_than_its_window_is_long_is_absurd() -> None:
    """[I9] a five-hour window that resets in three days was misread, or the clock is wrong."""
    ledger = _parked(1, Refused("quota", resets_at=T0 + 3 * 86_400.0, window="five_hour"))
    (wait,) = tick(ledger, T0).values()
    assert wait == Wait("a0", T0 + 60.0, "quota")


def test_the_latest_of_several_resets_counts_and_a_told_one_before_a_guess() -> None:
    ledger = _parked(1, Refused("quota"))
    assert tick(ledger, T0)["a0"] == Wait("a0", T0 + 60.0, "quota")
    for resets in (30.0, 5_000.0, 400.0):
        told = Refused("quota", resets_at=T0 + resets)
        refuse.refuse(ledger, FAMILY, told, T0 + 1.0, EXACT)
    assert tick(ledger, T0 + 1.0)["a0"] == Wait("a0", T0 + 5_001.0, "quota")


def test_a_person_whose_turn_is_answered_opens_the_account_for_all() -> None:
    """It was sent after the refusal, so the account is open, whatever was told before. [I9]"""
    ledger = _parked()
    assert _starts(ledger, 0.0, 60.0) == []
    main = take(ledger, "main", T0 + 60.0, cls=MAIN)
    settle.settle(ledger, main.reservation, Usage(input=10.0), T0 + 65.0, EXACT)
    starts = _starts(ledger, 65.0, 120.0)
    assert len(starts) == 30
    assert starts[0] >= 66.0


def test_an_answer_to_what_was_sent_before_the_refusal_opens_nothing() -> None:
    ledger = Ledger(clock=T0)
    early, late = take(ledger, "early", T0), take(ledger, "late", T0)
    refuse.refuse(ledger, FAMILY, QUOTA, T0 + 1.0, EXACT, reservation_id=late.reservation)
    settle.settle(ledger, early.reservation, Usage(input=10.0), T0 + 2.0, EXACT)
    ask(ledger, "a", T0 + 2.0)
    assert tick(ledger, T0 + 2.0)["a"] == Wait("a", T0 + 601.0, "quota")


def test_a_window_of_one_model_closes_that_model_only() -> None:
    ledger = Ledger(clock=T0)
    only = Refused("quota", resets_at=T0 + 600.0, window="seven_day_opus")
    refuse.refuse(ledger, FAMILY, only, T0, EXACT)
    ask(ledger, "opus", T0)
    ask(ledger, "haiku", T0, family=OTHER)
    assert list(granted(tick(ledger, T0))) == ["haiku"]


def test_an_overload_waits_longer_than_a_throttle_and_leaves_the_budget() -> None:
    """[§6 overload] [§6 edge] its backoff doubles from try to try, not with each of one burst."""
    for cause in ("overload", "edge"):
        ledger = limited()
        grants = [take(ledger, f"g{i}", T0, 5_000.0) for i in range(6)]
        for grant in grants:
            refuse.refuse(
                ledger, FAMILY, Refused(cause), T0 + 1.0, EXACT, reservation_id=grant.reservation
            )
        assert level(ledger) == 60_000.0
        for i in range(6):
            ask(ledger, f"a{i}", T0 + 1.0)
        now, waits = T0 + 1.0, []
        for _ in range(4):
            ask(ledger, "a0", now)
            wait = tick(ledger, now)["a0"]
            assert isinstance(wait, Wait)
            waits.append(wait.at - now)
            now = wait.at
            for i in range(4):
                ask(ledger, f"b{i}{now}", now)
            (probe,) = granted(tick(ledger, now)).values()
            refuse.refuse(
                ledger, FAMILY, Refused(cause), now, EXACT, reservation_id=probe.reservation
            )
        assert waits == pytest.approx([4.0, 8.0, 16.0, 32.0], abs=1e-3)


@pytest.mark.parametrize("cause", ["spend", "entitlement", "auth", "invalid"])
def test_what_no_wait_cures_is_not_tried_again_and_paces_nobody(cause: str) -> None:
    """[CASE 5] [§6 spend] [§6 entitlement] [§6 auth] the rate and the account stay as they are."""
    ledger = limited()
    grant = take(ledger, "a", T0, 10_000.0)
    ask(ledger, "b", T0)
    before = to_json(ledger)
    told = Refused(cause, retryable=False)
    answer = refuse.refuse(ledger, FAMILY, told, T0, EXACT, reservation_id=grant.reservation)
    assert answer == Answer(again=False)
    assert level(ledger) == 60_000.0
    assert to_json(ledger)["families"][FAMILY]["learner"].get("pace") is None
    assert before["families"][FAMILY]["breaker"] == to_json(ledger)["families"][FAMILY]["breaker"]
    assert granted(tick(ledger, T0))


def test_refused_requests_are_tried_again_later_each_time_and_never_together() -> None:
    """[§6 throttle] [I8] with nothing to pace by, slots keep them apart."""
    ledger = Ledger(clock=T0)
    told = Refused("throttle", dimension="requests")
    grants = [take(ledger, f"a{i}", T0, family=FAMILY) for i in range(12)]
    for i, grant in enumerate(grants):
        answer = refuse.refuse(
            ledger, FAMILY, told, T0 + 0.5, EXACT, reservation_id=grant.reservation
        )
        assert answer == Answer(again=True, not_before=T0 + 1.5)
        ask(ledger, f"b{i}", T0 + 0.5, attempt=1, not_before=answer.not_before)
    starts = _starts(ledger, 0.0, 60.0, reply=30.0)
    assert len(starts) == 12
    assert all(later - sooner >= 0.5 for sooner, later in pairwise(starts))


@given(st.integers(0, 10**9))
def test_any_number_of_attempts_has_a_next_slot(attempt: int) -> None:
    ledger = limited()
    answer = refuse.refuse(ledger, FAMILY, Refused("throttle"), T0, EXACT, attempt=attempt)
    assert T0 + 1.0 <= answer.not_before <= T0 + 30.0


def test_a_number_in_a_refusal_is_believed_and_what_was_sent_counts_against_it() -> None:
    """[CASE 12] [I10] the limit that a text names sets the rate, and the level what went before."""
    ledger = Ledger(clock=T0)
    grants = [take(ledger, f"a{i}", T0 + i, 4_000.0) for i in range(6)]
    told = Refused("throttle", dimension="input", limit=30_000.0)
    last = grants[-1].reservation
    refuse.refuse(ledger, FAMILY, told, T0 + 6.0, EXACT, reservation_id=last)
    (row,) = [r for r in belief.believed(ledger) if r["dimension"] == "input"]
    assert (row["limit"], row["source"]) == (30_000.0, "text")
    assert level(ledger) <= 1_000.0 + 1e-6
    ask(ledger, "b", T0 + 6.0, 4_000.0)
    wait = tick(ledger, T0 + 6.0)["b"]
    assert isinstance(wait, Wait)
    assert wait.at - T0 == pytest.approx(6.0 + 6.0, abs=0.1)


def test_the_newest_number_is_believed_whoever_told_it_but_for_a_guess() -> None:
    """[I9] a person, a header, a text, a probe: the last word counts; a tier's table never does."""
    ledger = limited(30_000.0)
    numbers = [("header", 60_000.0), ("text", 40_000.0), ("probe", 80_000.0), ("set", 20_000.0)]
    for second, (source, limit) in enumerate(numbers):
        belief.tell(ledger, FAMILY, "input", limit, T0 + second, source=source)
        assert belief.believed(ledger)[0]["limit"] == limit
        belief.tell(ledger, FAMILY, "input", 1e6, T0 + second, source="tier")
        assert belief.believed(ledger)[0]["source"] == source


def test_a_new_number_ends_what_refusals_taught_under_the_old_one() -> None:
    """[I10] a number sets the rate, it does not only bound it."""
    ledger = Ledger(clock=T0)
    for i in range(40):
        grant = take(ledger, f"a{i}", T0 + i, 500.0, cls=MAIN)
        if i % 8 == 7:
            refuse.refuse(
                ledger,
                FAMILY,
                Refused("throttle"),
                T0 + i,
                EXACT,
                reservation_id=grant.reservation,
            )
    assert ledger.families[FAMILY].learner.pace is not None
    belief.tell(ledger, FAMILY, "input", 240_000.0, T0 + 40.0, source="header")
    ask(ledger, "big", T0 + 120.0, 200_000.0)
    tick(ledger, T0 + 120.0)
    ask(ledger, "next", T0 + 120.0, 40_000.0)
    wait = tick(ledger, T0 + 120.0)["next"]
    assert isinstance(wait, Grant) or wait.at <= T0 + 121.0  # type: ignore[union-attr]


def test_setting_the_same_limit_again_fills_no_bucket() -> None:
    """[I1] a person who types it twice has not twice the tokens."""
    ledger = limited()
    take(ledger, "a", T0, 60_000.0)
    for source in ("set", "header", "probe", "text"):
        belief.tell(ledger, FAMILY, "input", 60_000.0, T0, source=source)
        belief.tell(ledger, ALL, "input", 60_000.0, T0, source="set")
        assert level(ledger) == 0.0


def test_a_limit_told_in_the_middle_of_a_run_counts_what_is_under_way() -> None:
    """[I9] correcting the belief allows for what is in flight."""
    ledger = Ledger(clock=T0)
    for i in range(10):
        take(ledger, f"a{i}", T0 + i, 9_000.0)
    belief.tell(ledger, FAMILY, "input", 60_000.0, T0 + 10.0, source="set")
    belief.tell(ledger, FAMILY, "requests", 60.0, T0 + 10.0, source="set")
    assert level(ledger) <= 0.0
    assert level(ledger, "requests") == pytest.approx(60.0 - 1.0 + 0.0, abs=1.01)
    ask(ledger, "b", T0 + 10.0, 10_000.0)
    assert not granted(tick(ledger, T0 + 10.0))


def test_a_limit_for_all_holds_for_families_seen_and_not_yet_seen() -> None:
    ledger = Ledger(clock=T0)
    take(ledger, "a", T0, 100.0)
    belief.tell(ledger, ALL, "input", 30_000.0, T0, source="set", capacity=10_000.0)
    for name in (FAMILY, OTHER):
        ask(ledger, name, T0, 12_000.0, family=name)
        take(ledger, f"small-{name}", T0, 9_000.0, family=name, cls=MAIN)
    assert not granted(tick(ledger, T0))
    rows = [(r["family"], r["limit"], r["capacity"]) for r in belief.believed(ledger)]
    assert (ALL, 30_000.0, 10_000.0) in rows
    belief.forget(ledger)
    assert belief.believed(ledger) == []


@pytest.mark.parametrize(
    ("limit", "more"),
    [
        (0.0, {}),
        (-5.0, {}),
        (float("nan"), {}),
        (float("inf"), {}),
        (1e13, {}),
        (60_000.0, {"capacity": 0.0}),
        (60_000.0, {"capacity": float("nan")}),
        (60_000.0, {"source": "rumour"}),
    ],
)
def test_a_limit_that_cannot_be_is_refused_in_words(limit: float, more: dict[str, Any]) -> None:
    ledger = Ledger(clock=T0)
    with pytest.raises(UsageError, match=r"limit|capacity"):
        belief.tell(ledger, FAMILY, "input", limit, T0, **{"source": "set", **more})
    assert ledger.families == {}


def test_an_assumed_capacity_becomes_what_a_burst_showed_to_fit_at_once() -> None:
    """[I10] a minute of the limit is only assumed: sixteen went, four of them were accepted."""
    ledger = limited(240_000.0)
    grants = [take(ledger, f"a{i}", T0 + i / 100.0, 15_000.0) for i in range(16)]
    for i, grant in enumerate(grants[4:]):
        told = Refused("throttle", dimension="input", limit=240_000.0)
        refuse.refuse(
            ledger, FAMILY, told, T0 + 1.0 + i / 100.0, EXACT, reservation_id=grant.reservation
        )
    capacity = ledger.families[FAMILY].buckets["input"].capacity
    assert capacity == pytest.approx(60_000.0, rel=0.02)


def test_a_tiny_number_in_a_text_is_no_limit() -> None:
    """[I9] "1 input token per minute" was never anybody's limit; it would wedge the account."""
    ledger = limited()
    told = Refused("throttle", dimension="input", limit=1.0)
    refuse.refuse(ledger, FAMILY, told, T0, EXACT)
    assert belief.believed(ledger)[0]["limit"] == 60_000.0


def test_a_refusal_gives_back_what_was_reserved_once() -> None:
    """[I2] a refused request was not charged, also when its lease had counted as spent."""
    ledger = limited(600_000.0)
    for spent in (False, True):
        grant = take(ledger, f"a{spent}", T0, 10_000.0, lease=5.0, spent_if_lost=spent)
        tick(ledger, T0 + 60.0, [])
        for _ in range(2):
            refuse.refuse(
                ledger,
                FAMILY,
                Refused("auth", retryable=False),
                T0 + 60.0,
                Policy(headroom=0.0),
                reservation_id=grant.reservation,
            )
    totals = ledger.totals
    assert (totals.taken, totals.settled) == (20_000.0, 0.0)
    assert totals.released + totals.expired == 20_000.0
    assert ledger.shares["s"].served == 0.0
    assert again(ledger).totals == totals
