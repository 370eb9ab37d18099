"""The line before a large Read: when it comes, what it says, what narrowing keeps."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.estimate.advise import LINES_LEAST, NARROW, OFF, advise
from paceline.estimate.value import Estimate


def read_of(
    tokens: int, kind: str = "code", lines: int = 2_000, *, capped: bool = False
) -> Estimate:
    return Estimate(
        "/a.py", kind, tokens, tokens * 9 // 10, tokens * 11 // 10, capped=capped, lines=lines
    )


@pytest.mark.parametrize(
    ("tokens", "left", "rate", "said"),
    [
        (21_000, 60_000, 60_000, True),  # over a third of a minute
        (19_000, 60_000, 60_000, False),
        (12_000, 5_000, 400_000, True),  # over 10,000 while the budget is short
        (12_000, 50_000, 400_000, False),
        (9_000, -5_000, 400_000, False),
        (20_000, 0, None, False),  # no limit is known
        (20_000, 0, 0, False),
    ],
)
def test_it_is_said_only_when_the_read_is_large_against_what_is_left(
    tokens: int, left: float, rate: float | None, *, said: bool
) -> None:
    assert (advise(read_of(tokens), left=left, rate=rate) is not None) == said


def test_it_says_the_cost_the_wait_and_what_costs_less() -> None:
    found = advise(read_of(21_000, capped=True), left=1_000, rate=60_000)
    assert found is not None
    assert "21,000" in found.text
    assert "18,900 to 23,100" in found.text
    assert "20 s" in found.text
    assert "Grep" in found.text
    assert "\n" not in found.text
    assert len(found.text) < 300
    assert found.updated_input is None


def test_it_quotes_no_name() -> None:
    found = advise(Estimate("/secret.py", "code", 30_000, 1, 2), left=0, rate=60_000)
    assert found is not None
    assert "secret" not in found.text


def test_it_is_said_once_and_never_when_off() -> None:
    assert advise(read_of(30_000), left=0, rate=60_000, told=True) is None
    assert advise(read_of(30_000), left=0, rate=60_000, mode=OFF) is None
    assert advise(read_of(30_000), left=0, rate=60_000, mode=NARROW, told=True) is None


def test_narrowing_adds_a_limit_and_keeps_every_other_field() -> None:
    given_input = {"file_path": "/a.py", "offset": 101, "other": [1]}
    found = advise(read_of(20_000), left=0, rate=30_000, mode=NARROW, tool_input=given_input)
    assert found is not None
    assert found.updated_input == {**given_input, "limit": 500}
    assert "offset 601" in found.text
    assert given_input == {"file_path": "/a.py", "offset": 101, "other": [1]}


@pytest.mark.parametrize(
    ("estimate", "given_input"),
    [
        (read_of(20_000, "image"), {}),
        (read_of(20_000, "pdf", lines=0), {}),
        (read_of(20_000, lines=LINES_LEAST), {"limit": LINES_LEAST}),
        (read_of(20_000), {"allow_large": True}),
    ],
)
def test_what_cannot_be_narrowed_is_advised_on(
    estimate: Estimate, given_input: dict[str, Any]
) -> None:
    found = advise(estimate, left=0, rate=30_000, mode=NARROW, tool_input=given_input)
    assert found is not None
    assert found.updated_input is None


@given(
    st.integers(1, 10**7),
    st.integers(1, 10**6),
    st.floats(-(10**7), 10**7),
    st.floats(1, 10**7),
    st.sampled_from(["advise", "narrow"]),
)
def test_a_narrowed_read_has_fewer_lines_and_at_least_a_few(
    tokens: int, lines: int, left: float, rate: float, mode: str
) -> None:
    found = advise(read_of(tokens, lines=lines), left=left, rate=rate, mode=mode)
    if found is not None and found.updated_input is not None:
        assert LINES_LEAST <= found.updated_input["limit"] < lines
