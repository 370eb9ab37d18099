"""Distributions of sizes: what can be typed, and what is drawn."""

from __future__ import annotations

import contextlib
from random import Random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline_bench.simulate.sizes import READ_CAP, Sizes, constant, parse

typed = st.one_of(
    st.integers(0, 10**6).map(str),
    st.integers(0, 10**6).map(lambda n: f"constant:{n}"),
    st.tuples(st.integers(0, 10**5), st.integers(0, 10**5)).map(
        lambda ends: f"uniform:{min(ends)}:{max(ends)}"
    ),
    st.tuples(st.integers(1, 10**5), st.floats(0.0, 3.0)).map(lambda p: f"lognormal:{p[0]}:{p[1]}"),
    st.just("mixed"),
)


@given(typed, st.integers(0, 100))
def test_what_can_be_typed_draws_sizes_that_can_be(text: str, seed: int) -> None:
    sizes = parse(text)
    random, again = Random(seed), Random(seed)
    drawn = [sizes.draw(random) for _ in range(20)]
    assert all(size >= 1 for size in drawn)
    assert sizes.kind == "constant" or max(drawn) <= READ_CAP
    assert drawn == [parse(text).draw(again) for _ in range(20)]


@given(st.one_of(st.text(max_size=30), typed.map(lambda text: text + ":x"), st.just("nan")))
def test_what_cannot_be_is_refused_in_words(text: str) -> None:
    sizes = None
    with contextlib.suppress(ValueError):
        sizes = parse(text)
    if sizes is None:
        with pytest.raises(ValueError, match="is no distribution of sizes"):
            parse(text)
    else:
        assert 1 <= sizes.draw(Random(0)) < 10**30


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mixed:1",
        "uniform:9:1",
        "uniform:1",
        "lognormal:0:1",
        "-5",
        "uniform:-1:5",
        "inf",
        "nan",
    ],
)
def test_sizes_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no distribution"):
        parse(text)


def test_each_distribution_draws_what_it_is_called() -> None:
    random = Random(1)
    assert constant(25_000).draw(random) == 25_000
    uniform = [Sizes("uniform", 1_000, 3_000).draw(random) for _ in range(2_000)]
    assert 1_000 <= min(uniform) < 1_050
    assert 2_950 < max(uniform) <= 3_000
    lognormal = [Sizes("lognormal", 4_000, 0.8).draw(random) for _ in range(2_000)]
    assert median(lognormal) == pytest.approx(4_000, rel=0.1)
    mixed = [Sizes("mixed").draw(random) for _ in range(2_000)]
    assert sum(size == READ_CAP for size in mixed) == pytest.approx(400, rel=0.2)
    assert sum(size < 1_000 for size in mixed) > 500
