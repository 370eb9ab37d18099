"""Corrections from settled usage: robust, bounded, forgotten on demand."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.estimate import learn

finite = st.floats(allow_nan=True, allow_infinity=True)
ratios = st.floats(0.01, 100)
kinds = st.sampled_from(["code", "json", "shell", "mcp__a__b"])


def after(pairs: list[float], kind: str = "code") -> learn.State:
    state = learn.empty()
    for ratio in pairs:
        state = learn.observe(state, kind, "opus-5", 10_000, 10_000 * ratio)
    return state


def test_nothing_is_corrected_before_three_requests_agree() -> None:
    assert learn.factor(after([1.3, 1.3]), "code", "opus-5") == 1.0
    assert learn.factor(after([1.3, 1.3, 1.3]), "code", "opus-5") > 1.1


def test_many_in_one_direction_bring_the_factor_there() -> None:
    assert learn.factor(after([1.25] * 31), "code", "opus-5") == pytest.approx(1.25, rel=0.03)


@given(st.lists(st.floats(0.97, 1.03), min_size=5, max_size=30), st.floats(0.001, 1000))
def test_one_odd_file_does_not_move_the_factor(usual: list[float], odd: float) -> None:
    before = learn.factor(after(usual), "code", "opus-5")
    moved = learn.factor(after([*usual, odd]), "code", "opus-5")
    assert moved == pytest.approx(before, abs=0.035)


@given(st.lists(st.tuples(kinds, finite, finite), max_size=60))
def test_no_pair_breaks_it_and_the_factor_stays_in_its_bounds(
    pairs: list[tuple[str, float, float]],
) -> None:
    state = learn.empty()
    for kind, predicted, settled in pairs:
        state = learn.observe(state, kind, "opus-5", predicted, settled)
    for kind in ("code", "json"):
        assert 0.5 <= learn.factor(state, kind, "opus-5") <= 2.0
    assert 0.05 <= learn.factor(state, "shell", "opus-5") <= 20.0


@given(st.lists(ratios, min_size=3, max_size=40))
def test_the_factor_lies_among_what_was_seen_and_one(seen: list[float]) -> None:
    found = learn.factor(after(seen, "shell"), "shell", "opus-5")
    assert min(*seen, 1) * 0.999 <= found <= max(*seen, 1) * 1.001


def test_families_and_kinds_are_learned_apart() -> None:
    state = after([1.5] * 20)
    assert learn.factor(state, "code", "sonnet-5") == 1.0
    assert learn.factor(state, "json", "opus-5") == 1.0
    assert learn.factors(state, "opus-5").keys() == {"code"}
    assert learn.factors(state, "sonnet-5") == {}


def test_the_state_is_bounded() -> None:
    state = learn.empty()
    for at in range(500):
        state = learn.observe(state, f"mcp__s__{at}" + "x" * 900, "f" * 900, 100, 200)
    assert len(state) <= learn.KINDS_MAX
    assert all(len(key) < 250 for key in state)
    assert len(after([1.1] * 500)["code|opus-5"]) == learn.KEEP


def test_observing_leaves_the_old_state_as_it_was() -> None:
    state = after([1.2] * 5)
    kept = dict(state)
    learn.observe(state, "code", "opus-5", 1_000, 5_000)
    learn.reset(state)
    assert state == kept


def test_it_can_be_reset_whole_or_by_kind() -> None:
    state = {**after([1.2] * 5), **after([3.0] * 5, "shell")}
    assert learn.reset(state, "shell").keys() == {"code|opus-5"}
    assert learn.reset(state) == {}


def test_what_is_known_can_be_shown() -> None:
    (row,) = learn.rows(after([1.2] * 9))
    assert (row["kind"], row["family"], row["samples"]) == ("code", "opus-5", 9)
    assert 1.1 < row["factor"] < 1.2


@given(st.lists(ratios, max_size=40), kinds)
def test_the_state_survives_json(seen: list[float], kind: str) -> None:
    state = after(seen, kind)
    assert learn.from_json(json.loads(json.dumps(learn.to_json(state)))) == state


@pytest.mark.parametrize(
    "damaged",
    [
        None,
        [],
        "x",
        {"code|f": 7},
        {"code": [0.1]},
        {7: [0.1]},
        {"code|f": ["a", None, True]},
        {"code|f": [99.0, -99.0]},
        {"code|f": [math.nan, math.inf]},
    ],
)
def test_a_damaged_state_is_an_empty_one(damaged: Any) -> None:
    assert learn.from_json(damaged) == {}


@pytest.mark.parametrize(
    ("parts", "settled", "expected"),
    [
        ({"code": 9_000}, 9_900, ("code", 9_000, 9_900)),
        ({"code": 9_000, "shell": 500}, 9_900, ("code", 9_000, 9_400)),
        ({"code": 5_000, "json": 5_000}, 12_000, None),
        ({}, 500, None),
        ({"code": 0}, 500, None),
    ],
)
def test_only_a_request_of_nearly_one_kind_teaches(
    parts: dict[str, float], settled: float, expected: object
) -> None:
    assert learn.teaches(parts, settled) == expected
