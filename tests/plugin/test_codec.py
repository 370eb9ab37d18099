"""The shortcut to the standard library's JSON gives what the standard library gives."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline import codec, jsonl

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def strict(text: str) -> Any:
    def refuse(name: str) -> None:
        raise ValueError(name)

    return json.loads(text, parse_constant=refuse)


def outcome(function: Any, *given: Any) -> str:
    try:
        return repr(function(*given))
    except (ValueError, TypeError) as err:
        return type(err).__name__


def test_the_shortcut_is_taken_on_this_interpreter() -> None:
    """Else every comparison below would hold json to itself."""
    assert codec._scan is not None
    assert codec._encode is not None


@given(VALUES)
def test_what_is_written_is_what_json_writes(value: Any) -> None:
    def plain(value: Any) -> str:
        return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))

    assert outcome(codec.dumps, value) == outcome(plain, value)


@given(st.text() | st.text(alphabet=' \t\n{}[]:,"0123456789.-+eEtrufalsNIn\\d\ud83d') | VALUES)
def test_what_is_read_is_what_json_reads(value: Any) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    assert outcome(codec.loads, text) == outcome(strict, text)


@pytest.mark.parametrize("text", ["", "{", "[1,]", "{} {}", '"\x01"', "nul", "NaN", "[Infinity]"])
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json's own texts differ by version
        codec.loads(text)


@pytest.mark.parametrize("value", [math.nan, -math.inf, [math.inf]])
def test_what_json_cannot_hold_is_not_written(value: Any) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        codec.dumps(value)
    with pytest.raises(TypeError):
        codec.dumps({"a": object()})


def test_space_around_a_value_is_no_fault() -> None:
    assert codec.loads(' \r\n\t{"a": 1} \n') == {"a": 1}


def test_bytes_with_a_mark_or_broken_utf8_are_read() -> None:
    assert jsonl.loads(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
    assert jsonl.loads(b'"\xff"') == "\ufffd"


def test_json_nested_too_deep_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="too deep"):
        jsonl.loads(b"[" * 200_000)
