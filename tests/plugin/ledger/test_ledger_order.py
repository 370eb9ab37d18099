"""Who goes next: main, continuations, new agents; sessions; large ones; leaders and followers."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.errors import UsageError
from paceline.ledger import admit, prefix, settle
from paceline.ledger.values import CONTINUATION, MAIN, NEW, Ledger
from paceline.ledger.verdicts import Drop, Grant, Policy, Usage, Wait
from strategies_ledger import EXACT, FAMILY, T0, UNSHRUNK, ask, granted, limited, take, tick


@given(st.floats(0.0, 1e6), st.floats(-1e6, 60_000.0))
def test_the_main_thread_goes_at_once_even_into_debt(cost: float, level: float) -> None:
    """[I5] a person's own turn is never queued behind agents."""
    ledger = limited()
    ledger.families[FAMILY].buckets["input"].level = level
    for i in range(5):
        ask(ledger, f"a{i}", T0, 30_000.0)
    ask(ledger, "main", T0, cost, cls=MAIN)
    assert isinstance(tick(ledger, T0, ["main"])["main"], Grant)


def test_the_main_thread_waits_for_no_leader() -> None:
    """[I5] two sessions of one project begin at once; neither waits for the other's reply."""
    ledger = limited()
    for i in range(2):
        ask(ledger, f"m{i}", T0, session=f"s{i}", cls=MAIN, first=True, prefix_key="m|main|p")
    assert len(granted(tick(ledger, T0))) == 2


def test_the_main_thread_goes_though_its_account_is_closed() -> None:
    """[I5] it meets the refusal itself, as it would without us."""
    ledger = limited()
    family = ledger.families[FAMILY]
    family.breaker.until, family.breaker.cause, family.gap = T0 + 3600.0, "quota", 1.0
    ask(ledger, "main", T0, cls=MAIN)
    ask(ledger, "agent", T0)
    verdicts = tick(ledger, T0)
    assert isinstance(verdicts["main"], Grant)
    assert verdicts["agent"] == Wait("agent", T0 + 3600.0, "quota")


@given(st.permutations(range(8)), st.lists(st.floats(40.0, 290.0), min_size=4, max_size=4))
def test_what_is_begun_is_finished_first_and_what_expires_soonest_before_the_rest(
    arrival: list[int], left: list[float]
) -> None:
    """[I6] continuations before new agents, nearest cache expiry first."""
    ledger = limited(60_000.0)
    take(ledger, "before", T0, 60_000.0)
    for i in arrival:
        if i < 4:
            ask(ledger, f"c{i}", T0, 1000.0, cache_until=T0 + left[i])
        else:
            ask(ledger, f"n{i}", T0, 1000.0, cls=NEW)
    order = list(granted(tick(ledger, T0 + 8.5)))
    expiries = [left[int(name[1])] for name in order if name[0] == "c"]
    assert expiries == sorted(expiries)
    assert [name[0] for name in order] == ["c"] * 4 + ["n"] * 4
    assert [n for n in order if n[0] == "n"] == [f"n{i}" for i in arrival if i >= 4]


def test_a_context_about_to_leave_the_cache_goes_before_other_sessions_work() -> None:
    """[I6] it would be sent again whole; its session is charged for it like for any other."""
    ledger = limited()
    take(ledger, "full", T0, 60_000.0, session="rich")
    ask(ledger, "poor", T0, 5_000.0, session="poor")
    ask(ledger, "urgent", T0, 5_000.0, session="rich", cache_until=T0 + 32.0)
    assert list(granted(tick(ledger, T0 + 5.5))) == ["urgent"]


def test_a_context_that_was_lost_while_it_waited_is_reserved_whole() -> None:
    ledger = limited()
    take(ledger, "full", T0, 60_000.0)
    ask(ledger, "late", T0, 5_000.0, cache_until=T0 + 40.0, context=30_000.0)
    assert not granted(tick(ledger, T0 + 4.0))
    for second in range(5, 60):
        ask(ledger, f"main{second}", T0 + second, 1_000.0, cls=MAIN)
        assert "late" not in granted(tick(ledger, T0 + second))
    for second in range(60, 100):
        grant = granted(tick(ledger, T0 + second)).get("late")
        if grant is not None:
            assert grant.amounts["input"] == 35_000.0
            return
    pytest.fail("it never went")


COST_MAX = 20_000.0
costs = st.lists(st.floats(500.0, COST_MAX), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["red", "green", "blue"]), costs, min_size=2),
    st.lists(st.floats(0.1, 5.0), min_size=30, max_size=60),
    st.sampled_from([6_000.0, 30_000.0]),
)
def test_sessions_with_work_to_do_are_served_alike(
    cost: dict[str, list[float]], steps: list[float], limit: float
) -> None:
    """[I7] what backlogged sessions were given differs by two of the largest requests at most."""
    ledger = limited(limit)
    take(ledger, "before", T0, limit, session="other")
    served = dict.fromkeys(cost, 0.0)
    n = dict.fromkeys(cost, 0)
    now = T0
    for step in steps:
        now += step
        for session, sizes in cost.items():
            while sum(t.session == session for t in ledger.tickets.values()) < 8:
                size = sizes[n[session] % len(sizes)]
                ask(ledger, f"{session}{n[session]}", now, size, session=session, cls=NEW)
                n[session] += 1
        for grant in granted(tick(ledger, now)).values():
            session = ledger.reservations[grant.reservation].session
            served[session] += grant.amounts["input"]
        assert max(served.values()) - min(served.values()) <= 2 * COST_MAX + 1e-6


@settings(max_examples=60, deadline=None)
@given(costs, costs, st.integers(1, 20))
def test_sessions_of_one_process_are_served_alike_within_one_tick(
    one: list[float], two: list[float], seconds: int
) -> None:
    """[I7] also what tools brought back counts, not only what is known beforehand."""
    ledger = limited(240_000.0)
    take(ledger, "before", T0, 240_000.0, session="other")
    for i in range(40):
        ask(ledger, f"a{i}", T0, 0.0, estimated=one[i % len(one)], session="one")
    for i in range(40):
        ask(ledger, f"b{i}", T0, two[i % len(two)], session="two")
    served = {"one": 0.0, "two": 0.0}
    for grant in granted(tick(ledger, T0 + seconds)).values():
        served[ledger.reservations[grant.reservation].session] += grant.amounts["input"]
    if len(ledger.tickets) > 40:
        assert abs(served["one"] - served["two"]) <= 2 * COST_MAX + 1e-6


def test_a_newcomer_is_served_from_now_on_and_not_for_the_past() -> None:
    """[I7] nobody saves up while away: the one that was there keeps its half."""
    ledger = limited()
    given = {"old": 0.0, "new": 0.0}
    now = T0
    for second in range(1, 240):
        now = T0 + second
        for session in ("old", "new") if second > 120 else ("old",):
            ask(ledger, f"{session}{second}", now, 2_000.0, session=session)
        for grant in granted(tick(ledger, now)).values():
            if second > 130:
                given[ledger.reservations[grant.reservation].session] += grant.amounts["input"]
            settle.settle(ledger, grant.reservation, Usage(input=2_000.0), now, EXACT)
    assert abs(given["old"] - given["new"]) <= 4_000.0
    assert sum(given.values()) >= 100 * 1000.0


def test_who_was_served_much_while_alone_owes_nothing_when_it_comes_back() -> None:
    """[I7] what it took was nobody else's; its next hour is not the newcomer's."""
    ledger = limited(600_000.0)
    for i in range(20):
        grant = take(ledger, f"a{i}", T0 + i, 9_000.0, session="first")
        settle.settle(ledger, grant.reservation, Usage(input=9_000.0), T0 + i, EXACT)
    for i in range(5):
        ask(ledger, f"b{i}", T0 + 60.0, 200_000.0, session="second")
    tick(ledger, T0 + 60.0)
    for i in range(5):
        ask(ledger, f"c{i}", T0 + 60.0, 200_000.0, session="first")
    order = [t for s in range(61, 300) for t in granted(tick(ledger, T0 + s))]
    assert order[:2] in (["c0", "b3"], ["b3", "c0"], ["c0", "c1"])
    assert {name[0] for name in order[:3]} == {"b", "c"}


def test_an_expired_reservation_that_was_spent_is_charged_to_its_session_once() -> None:
    ledger = limited()
    grant = take(ledger, "a", T0, 10_000.0, lease=30.0, spent_if_lost=True)
    assert settle.settle(ledger, grant.reservation, Usage(input=8_000.0), T0 + 60.0, EXACT)
    assert ledger.shares["s"].served == 8_000.0


@settings(max_examples=50, deadline=None, phases=UNSHRUNK)
@given(
    st.sampled_from([0.0, 0.25]),
    st.floats(1.0, 1.6),
    st.sampled_from(["s", "other"]),
    st.integers(0, 1 << 30).map(random.Random),
)
def test_a_large_request_is_overtaken_only_so_far(
    overtake: float, size: float, session: str, draw: random.Random
) -> None:
    """However many small ones come, one as large as the bucket or larger goes in its turn. [I3]

    [CASE 22] Larger than the bucket: alone, when it is full, with a warning, never an endless wait.
    """
    policy = Policy(headroom=0.0, overtake=overtake)
    ledger = limited(60_000.0)
    going = [(T0 + 20.0, take(ledger, "before", T0, 60_000.0).reservation)]
    ask(ledger, "large", T0, 60_000.0 * size, session=session)
    now = T0
    for step in range(1, 2_000):
        now += 0.25
        ask(ledger, f"small{step}", now, draw.uniform(100.0, 2_000.0))
        for ended in [r for end, r in going if end <= now]:
            settle.settle(ledger, ended, Usage(input=500.0), now, policy)
        going = [(end, r) for end, r in going if end > now]
        mine = list(ledger.tickets)
        draw.shuffle(mine)
        for ticket, grant in granted(tick(ledger, now, mine, policy)).items():
            if ticket == "large":
                others = [r for r in ledger.reservations.values() if r.id != grant.reservation]
                if size > 1.0:
                    assert "goes alone and may be refused" in grant.warning
                    assert not [r for r in others if r.at < now]
                assert now - T0 <= 120.0 * (1.0 + overtake) + 45.0, "its share, then a full bucket"
                return
            going.append((now + draw.uniform(1.0, 15.0), grant.reservation))
    pytest.fail("the large one never went")


def test_a_request_blocked_by_output_is_overtaken_only_so_far() -> None:
    """[I3] the allowance is a part of whatever bucket blocks, not of the input's alone."""
    policy = Policy(headroom=0.0, overtake=0.25)
    ledger = limited(8_000.0, dimension="output")
    ask(ledger, "before", T0, amounts={"input": 1.0, "output": 8_000.0})
    tick(ledger, T0)
    ask(ledger, "large", T0, amounts={"input": 1.0, "output": 7_000.0}, session="other")
    for step in range(1, 400):
        now = T0 + step
        ask(ledger, f"small{step}", now, amounts={"input": 1.0, "output": 200.0})
        if "large" in granted(tick(ledger, now, policy=policy)):
            assert step <= 80
            return
    pytest.fail("the large one never went")


def test_a_reply_of_many_minutes_does_not_stop_everybody_behind_a_large_request() -> None:
    """[I3] who must run alone waits for what is under way, but not for ever. [I4]"""
    ledger = limited()
    take(ledger, "long", T0, 10.0)
    ask(ledger, "large", T0 + 5.0, 70_000.0)
    ask(ledger, "small", T0 + 5.0, 10.0)
    went: dict[str, float] = {}
    for second in range(5, 60):
        went |= dict.fromkeys(granted(tick(ledger, T0 + second)), float(second))
    assert went == {"large": 30.0, "small": 41.0}


def test_a_request_that_waits_for_others_to_end_looks_again_a_little_later() -> None:
    """With a slot of now its process would ask again without a pause."""
    ledger = limited()
    take(ledger, "small", T0, 10.0)
    ask(ledger, "large", T0 + 10.0, 70_000.0)
    wait = tick(ledger, T0 + 10.0)["large"]
    assert isinstance(wait, Wait)
    assert T0 + 10.1 < wait.at <= T0 + 11.0


def test_nobody_is_held_past_its_stall_limit_while_tokens_come_in() -> None:
    """[I3] who would be ended by a watchdog goes before continuations and other sessions."""
    ledger = limited()
    take(ledger, "before", T0, 60_000.0)
    for i in range(60):
        ask(ledger, f"c{i}", T0, 2_000.0, cache_until=T0 + 200.0)
    for i in range(5):
        ask(ledger, f"new{i}", T0, 5_000.0, cls=NEW, session="poor", deadline=T0 + 90.0)
    went: dict[str, float] = {}
    for second in range(1, 120):
        went |= dict.fromkeys(granted(tick(ledger, T0 + second)), T0 + second)
    assert all(went[f"new{i}"] <= T0 + 90.0 for i in range(5))


@settings(max_examples=40, deadline=None, phases=UNSHRUNK)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["p", "q", "r"]),
            st.sampled_from([CONTINUATION, NEW]),
            st.floats(0.0, 90_000.0),
            st.floats(0.5, 30.0),
            st.booleans(),
        ),
        min_size=1,
        max_size=25,
    ),
    st.sampled_from([0.0, 0.25]),
    st.integers(0, 1 << 30).map(random.Random),
)
def test_everybody_who_keeps_asking_is_let_go_in_bounded_time(
    asked: list[tuple[str, str, float, float, bool]], overtake: float, draw: random.Random
) -> None:
    """Whoever polls when: all go in the time their tokens take to come in, and a little. [I3]"""
    policy = Policy(headroom=0.0, overtake=overtake)
    ledger = limited(60_000.0)
    for i, (process, cls, cost, _, first) in enumerate(asked):
        more = {"first": True, "prefix_key": f"m|{process}|x"} if first and cls == NEW else {}
        ask(ledger, f"t{i}", T0, cost, session=process, cls=cls, **more)
    owner = {f"t{i}": row[0] for i, row in enumerate(asked)}
    service = {f"t{i}": row[3] for i, row in enumerate(asked)}
    going: list[tuple[float, str]] = []
    now, tokens = T0, sum(row[2] + 9_000.0 for row in asked)
    bound = tokens / 1000.0 + sum(service.values()) + 12.0 * len(asked) + 60.0
    while ledger.tickets:
        now += draw.uniform(0.05, 0.9)
        assert now - T0 < bound, f"still waiting: {ledger.tickets}"
        for end, reservation in [pair for pair in going if pair[0] <= now]:
            going.remove((end, reservation))
            settle.settle(ledger, reservation, Usage(input=100.0), now, policy)
        for process in draw.sample(["p", "q", "r"], 3):
            mine = [t for t in ledger.tickets if owner[t] == process]
            for ticket, verdict in admit.tick(ledger, mine, now, policy).items():
                assert not isinstance(verdict, Drop)
                if isinstance(verdict, Grant):
                    going.append((now + service[ticket], verdict.reservation))


def test_siblings_wait_for_the_leaders_reply_and_then_pay_their_own_part() -> None:
    ledger = limited(240_000.0)
    for i in range(4):
        ask(ledger, f"n{i}", T0, 500.0, cls=NEW, first=True, prefix_key="m|t|p")
    first = tick(ledger, T0)
    leader = granted(first)
    assert list(leader) == ["n0"]
    assert leader["n0"].leader
    assert leader["n0"].amounts["input"] == 500.0 + prefix.COLD_FIRST
    assert {v.why for v in first.values() if isinstance(v, Wait)} == {"leader"}
    settle.began(ledger, leader["n0"].reservation, T0 + 2.0)
    others = granted(tick(ledger, T0 + 2.0))
    assert list(others) == ["n1", "n2", "n3"]
    assert all(g.amounts["input"] == 500.0 + prefix.WARM_FIRST for g in others.values())


def test_a_leader_that_dies_is_followed_by_another() -> None:
    ledger = limited(240_000.0)
    for i in range(3):
        ask(ledger, f"n{i}", T0, cls=NEW, first=True, prefix_key="m|t|p")
    leader = granted(tick(ledger, T0))["n0"]
    settle.release(ledger, leader.reservation, T0 + 1.0, EXACT)
    assert [g.leader for g in granted(tick(ledger, T0 + 1.0)).values()] == [True]
    silent = granted(tick(ledger, T0 + 9.0))
    assert not silent
    for second in range(10, 14):
        silent |= granted(tick(ledger, T0 + second))
    assert list(silent) == ["n2"], "followers wait for a reply that does not begin for so long only"


@pytest.mark.parametrize(
    "asked",
    [
        {"amounts": {"input": -1.0}},
        {"amounts": {"input": float("nan")}},
        {"amounts": {"input": float("inf")}},
        {"amounts": {"input": 1e300}},
        {"amounts": {"input": True}},
        {"amounts": {"tokens": 5.0}},
        {"cls": "urgent"},
        {"cache_until": float("nan")},
        {"deadline": float("inf")},
        {"not_before": float("nan")},
        {"lease": -1.0},
        {"estimated": float("nan")},
    ],
)
def test_a_request_that_cannot_be_changes_nothing(asked: dict[str, Any]) -> None:
    ledger = Ledger(clock=T0)
    with pytest.raises(UsageError):
        ask(ledger, "a", T0, **asked)
    assert ledger == Ledger(clock=T0)


def test_asking_again_keeps_the_place() -> None:
    ledger = limited()
    take(ledger, "before", T0, 60_000.0)
    for name in ("a", "b", "a"):
        ask(ledger, name, T0 + 1.0, 3_000.0)
    assert list(granted(tick(ledger, T0 + 5.0))) == ["a"]


def test_unknown_output_reserves_no_more_than_there_can_be() -> None:
    """[CASE 22] a client's max_tokens is only a bound; it must not make the request wait alone."""
    ledger = limited(8_000.0, dimension="output")
    ask(ledger, "small", T0, amounts={"input": 1.0, "output": 0.0})
    tick(ledger, T0)
    ask(ledger, "huge", T0, amounts={"input": 1.0, "output": 64_000.0})
    grant = granted(tick(ledger, T0))["huge"]
    assert grant.amounts["output"] == 8_000.0
    assert not grant.warning


def test_nobody_goes_while_output_is_owed() -> None:
    ledger = limited(6_000.0, dimension="output")
    grant = take(ledger, "a", T0)
    settle.settle(ledger, grant.reservation, Usage(input=10.0, output=9_000.0), T0, EXACT)
    ask(ledger, "b", T0)
    wait = tick(ledger, T0)["b"]
    assert isinstance(wait, Wait)
    assert wait.at == pytest.approx(T0 + 30.0, abs=0.1)
