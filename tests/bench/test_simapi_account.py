from __future__ import annotations

import copy
import json
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline_bench.simapi.account import Account, Grant, Refusal
from paceline_bench.simapi.cache import Usage
from paceline_bench.simapi.config import Config, Fault, from_json, quota_closed
from paceline_bench.simapi.refusals import KINDS

T0 = 1_789_041_600.0
OPUS = "claude-opus-5-5"
PREFIX = "anthropic-ratelimit-"


def account(config: Config) -> Account:
    return Account(config, T0)


def cost(tokens: int) -> Usage:
    return Usage(input=tokens, creation=0, read=1_000_000)


def granted(verdict: Grant | Refusal) -> Grant:
    assert isinstance(verdict, Grant)
    return verdict


def refused(verdict: Grant | Refusal) -> Refusal:
    assert isinstance(verdict, Refusal)
    return verdict


@given(st.lists(st.tuples(st.floats(0, 20), st.integers(1, 90_000)), max_size=30))
def test_a_refused_request_charges_nothing(asks: list[tuple[float, int]]) -> None:
    api, now = account(Config(itpm=60_000, rpm=20)), T0
    for gap, tokens in asks:
        now += gap
        before = copy.deepcopy(api.at(OPUS, now))
        if isinstance(api.ask(OPUS, cost(tokens), now, agent=True), Refusal):
            assert api.at(OPUS, now) == before


@given(
    st.lists(st.tuples(st.floats(0, 20), st.integers(1, 60_000)), max_size=30),
    st.lists(st.tuples(st.floats(0, 200), st.integers(1_000, 240_000)), max_size=3),
)
def test_under_a_limit_that_changes_no_interval_admits_more_than_the_highest_limit_allows(
    asks: list[tuple[float, int]], changes: list[tuple[float, int]]
) -> None:
    config = Config(
        itpm=60_000, itpm_capacity=60_000, itpm_schedule=tuple(sorted(changes)), oversize=False
    )
    rate = max([60_000, *(itpm for _, itpm in changes)]) / 60
    api, now, taken = account(config), T0, list[tuple[float, int]]()
    for gap, tokens in asks:
        now += gap
        if isinstance(api.ask(OPUS, cost(tokens), now, agent=True), Grant):
            taken.append((now, tokens))
    for first in range(len(taken)):
        for last in range(first, len(taken)):
            total = sum(tokens for _, tokens in taken[first : last + 1])
            assert total <= 60_000 + rate * (taken[last][0] - taken[first][0]) + 1


def test_cache_reads_do_not_count() -> None:
    api = account(Config(itpm=60_000))
    grant = granted(api.ask(OPUS, Usage(input=100, creation=900, read=500_000), T0, agent=True))
    assert grant.before - grant.after == 1_000


def test_the_answer_says_limit_remaining_and_when_the_bucket_is_full() -> None:
    grant = granted(account(Config(itpm=60_000)).ask(OPUS, cost(30_000), T0, agent=True))
    assert grant.headers[f"{PREFIX}input-tokens-limit"] == "60000"
    assert grant.headers[f"{PREFIX}input-tokens-remaining"] == "30000"
    reset = datetime.fromisoformat(grant.headers[f"{PREFIX}input-tokens-reset"])
    assert reset.timestamp() == T0 + 30
    for name in ("requests", "tokens", "output-tokens"):
        assert {f"{PREFIX}{name}-{part}" for part in ("limit", "remaining", "reset")} <= set(
            grant.headers
        )


def test_a_throttle_names_its_limit_and_when_to_come_back() -> None:
    api = account(Config(itpm=60_000))
    granted(api.ask(OPUS, cost(50_000), T0, agent=True))
    refusal = refused(api.ask(OPUS, cost(20_000), T0, agent=True))
    assert refusal.kind == "input"
    assert refusal.message == (
        "This request would exceed your organization's rate limit of 60,000 input tokens per minute"
    )
    assert refusal.headers["retry-after"] == "10"
    granted(api.ask(OPUS, cost(20_000), T0 + 10, agent=True))


def test_a_bare_throttle_has_no_number_and_no_header() -> None:
    api = account(Config(itpm=60_000, headers="none", number_in_text=False))
    granted(api.ask(OPUS, cost(60_000), T0, agent=True))
    refusal = refused(api.ask(OPUS, cost(1_000), T0, agent=True))
    assert refusal == Refusal("input", "Rate limited", {})


def test_retry_after_can_be_left_out_or_fixed() -> None:
    for told, header in ((False, None), (75, "75")):
        api = account(Config(itpm=60_000, retry_after=told))
        granted(api.ask(OPUS, cost(60_000), T0, agent=True))
        refusal = refused(api.ask(OPUS, cost(1_000), T0, agent=True))
        assert refusal.headers.get("retry-after") == header


def test_requests_have_a_bucket_of_their_own() -> None:
    api = account(Config(rpm=2))
    granted(api.ask(OPUS, cost(1), T0, agent=True))
    granted(api.ask(OPUS, cost(1), T0, agent=True))
    refusal = refused(api.ask(OPUS, cost(1), T0, agent=True))
    assert (refusal.kind, refusal.message.split()[-4:]) == (
        "requests",
        ["2", "requests", "per", "minute"],
    )
    granted(api.ask(OPUS, cost(1), T0 + 30, agent=True))


def test_output_is_counted_as_it_is_produced_and_debt_refuses_the_next() -> None:
    api = account(Config(otpm=6_000))
    granted(api.ask(OPUS, cost(1), T0, agent=True))
    api.produced(OPUS, 9_000, T0)
    assert refused(api.ask(OPUS, cost(1), T0, agent=True)).kind == "output"
    granted(api.ask(OPUS, cost(1), T0 + 31, agent=True))


def test_families_share_one_bucket_or_have_their_own() -> None:
    for shared, verdict in ((True, Refusal), (False, Grant)):
        api = account(Config(itpm=60_000, one_bucket=shared))
        granted(api.ask(OPUS, cost(60_000), T0, agent=True))
        assert isinstance(
            api.ask("claude-haiku-4-5-20251001", cost(9_000), T0, agent=True), verdict
        )


def test_models_of_one_family_share_a_bucket() -> None:
    api = account(Config(itpm=60_000, one_bucket=False))
    granted(api.ask("claude-opus-4-8", cost(60_000), T0, agent=True))
    assert isinstance(api.ask("claude-opus-4-6[1m]", cost(9_000), T0, agent=True), Refusal)


def test_the_limit_changes_when_the_schedule_says() -> None:
    api = account(Config(itpm=60_000, itpm_schedule=((100, 6_000),)))
    granted(api.ask(OPUS, cost(60_000), T0 + 90, agent=True))
    grant = granted(api.ask(OPUS, cost(1_000), T0 + 160, agent=True))
    assert grant.headers[f"{PREFIX}input-tokens-limit"] == "6000"
    assert grant.before == 6_000


def test_a_used_up_plan_says_when_it_opens_and_opens_then() -> None:
    api = account(Config(headers="subscriber", faults=(quota_closed(10, 100),)))
    first = granted(api.ask(OPUS, cost(1), T0, agent=True))
    assert first.headers[f"{PREFIX}unified-status"] == "allowed"
    refusal = refused(api.ask(OPUS, cost(1), T0 + 40, agent=True))
    assert refusal.headers[f"{PREFIX}unified-status"] == "rejected"
    assert refusal.headers[f"{PREFIX}unified-representative-claim"] == "five_hour"
    assert refusal.headers[f"{PREFIX}unified-5h-reset"] == str(int(T0 + 100))
    assert refusal.headers["retry-after"] == "60"
    granted(api.ask(OPUS, cost(1), T0 + 100, agent=True))


def test_a_throttled_subscriber_is_told_nothing_of_the_plan() -> None:
    api = account(Config(itpm=1_000, headers="subscriber", number_in_text=False))
    granted(api.ask(OPUS, cost(1_000), T0, agent=True))
    refusal = refused(api.ask(OPUS, cost(500), T0, agent=True))
    assert (refusal.message, refusal.headers) == ("Rate limited", {})


def test_a_fault_counts_its_refusals_of_one_step_by_label() -> None:
    """Whichever agent tries a label's work: an agent that takes over is no new one."""
    api = account(Config(faults=(Fault("throttle", who="agents", step=1, times=2),)))

    def ask(label: str, step: int) -> bool:
        answer = api.ask(OPUS, cost(1), T0, agent=True, label=label, step=step)
        return isinstance(answer, Refusal)

    assert [ask("one", 0), ask("one", 1), ask("two", 1)] == [False, True, True]
    assert [ask("one", 1), ask("one", 1), ask("one", 2)] == [True, False, False]
    assert [ask("two", 1), ask("two", 1)] == [True, False]


def test_a_fault_that_an_agent_sets_off_acts_on_everybody_for_its_time_from_then_on() -> None:
    fault = Fault("quota", until=60, set_off=1)
    api = account(Config(faults=(fault,), headers="subscriber", retry_after=75.0))
    granted(api.ask(OPUS, cost(1), T0, agent=False, step=1))
    granted(api.ask(OPUS, cost(1), T0, agent=True, step=0))
    refusal = refused(api.ask(OPUS, cost(1), T0 + 5, agent=True, step=1))
    assert refusal.headers["retry-after"] == "75"
    refused(api.ask(OPUS, cost(1), T0 + 5, agent=False, step=0))
    refused(api.ask(OPUS, cost(1), T0 + 64, agent=True, step=0))
    granted(api.ask(OPUS, cost(1), T0 + 65, agent=True, step=1))


def test_faults_act_in_their_time_on_whom_they_are_for_and_at_their_rate() -> None:
    fault = Fault("overload", after=10, until=20, who="agents")
    api = account(Config(faults=(fault,)))
    granted(api.ask(OPUS, cost(1), T0, agent=True))
    granted(api.ask(OPUS, cost(1), T0 + 15, agent=False))
    assert refused(api.ask(OPUS, cost(1), T0 + 15, agent=True)).kind == "overload"
    granted(api.ask(OPUS, cost(1), T0 + 20, agent=True))
    api = account(Config(faults=(Fault("overload", rate=0.25),)))
    verdicts = [api.ask(OPUS, cost(0), T0 + n, agent=True) for n in range(400)]
    assert 60 <= sum(isinstance(verdict, Refusal) for verdict in verdicts) <= 140


def test_a_fault_may_be_for_the_work_of_some_labels() -> None:
    api = account(Config(faults=(Fault("overload", labels=("one",)),)))
    granted(api.ask(OPUS, cost(1), T0, agent=True, label="two"))
    granted(api.ask(OPUS, cost(1), T0, agent=False))
    refused(api.ask(OPUS, cost(1), T0, agent=True, label="one"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_refusal_can_be_scheduled(kind: str) -> None:
    refusal = refused(account(Config(faults=(Fault(kind),))).ask(OPUS, cost(1), T0, agent=True))
    assert refusal.kind == kind
    assert refusal.message


def test_a_configuration_survives_json() -> None:
    config = Config(
        itpm=5, faults=(Fault("auth", labels=("a",)), quota_closed(1, 2)), itpm_schedule=((3.0, 4),)
    )
    assert from_json(json.dumps(config.to_json())) == config


@pytest.mark.parametrize(
    "text",
    ["[]", '{"no": 1}', '{"itpm": 0}', '{"headers": "x"}', '{"faults": [{"kind": "x"}]}', "{"],
)
def test_a_configuration_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        from_json(text)
