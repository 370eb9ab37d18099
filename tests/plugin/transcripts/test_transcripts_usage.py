"""Tokens counted once a response."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fanout_files import answer, error, tool
from paceline.transcripts.usage import Usage, charged


def count(*rows: dict[str, Any]) -> dict[str, int]:
    usage = Usage()
    for row in rows:
        usage.add(row)
    return usage.tokens


def test_each_response_counts_once_with_its_final_output() -> None:
    """[CASE 29] The agent in a workflow's folder is in test_manifest_cases."""
    tokens = count(
        answer("a", ident="m1", request="r1", usage=(0, 0, 0, 9)),
        answer("a", ident="m1", request="r1", usage=(0, 0, 0, 9)),
        answer(tool("Read"), ident="m1", request="r1", stop="tool_use", usage=(0, 0, 0, 159)),
        answer("b", ident="m2", request=None, usage=(3, 2285, 22137, 2)),
        answer("b", ident="m2", request=None, usage=(3, 2285, 22137, 40)),
        error(),
    )
    assert tokens == {"input": 3, "cache_creation": 2285, "cache_read": 22137, "output": 199}
    assert charged(tokens) == 3 + 2285 + 199


@pytest.mark.parametrize("bad", [None, "9", -4, 1.5, True, [], 10**30])
def test_an_odd_count_counts_nothing(bad: Any) -> None:
    row = answer("a")
    row["message"]["usage"] = {"input_tokens": bad, "output_tokens": 7}
    assert count(row) == {"input": 0, "cache_creation": 0, "cache_read": 0, "output": 7}


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["r", None]), st.integers(0, 100)),
        max_size=12,
    )
)
def test_the_order_of_a_responses_rows_does_not_matter(
    rows: list[tuple[str, str | None, int]],
) -> None:
    made = [answer("x", ident=m, request=r, usage=(0, 0, 0, n)) for m, r, n in rows]
    assert count(*made) == count(*reversed(made))
    best: dict[tuple[str, str | None], int] = {}
    for message, request, number in rows:
        best[message, request] = max(number, best.get((message, request), 0))
    assert count(*made)["output"] == sum(best.values())
