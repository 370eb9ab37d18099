"""The session's id, read off what passes through."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline_mcp.headless.listen import LINE_MAX, Listener

SESSION = "0d2a6993-cfda-4576-8c3a-ab25fccd25d5"
INIT = {"type": "system", "subtype": "init", "session_id": SESSION}


def heard(*pieces: bytes, whole: bool = False) -> str:
    listener = Listener(whole=whole)
    for piece in pieces:
        listener.take(piece)
    return listener.end()


def stream(*values: object) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


@given(cuts=st.lists(st.integers(0, 400), max_size=8), last=st.booleans())
def test_it_is_found_however_the_output_is_cut(*, cuts: list[int], last: bool) -> None:
    data = b"warning: not json\n\xff\xfe\n" + stream({"type": "x"}, INIT, {"session_id": "other"})
    data = data if last else data.rstrip(b"\n")
    places = [0, *sorted(cuts), len(data)]
    pieces = [data[a:b] for a, b in pairwise(places)]
    assert heard(*pieces) == SESSION


def test_only_a_field_of_the_line_itself_counts_never_what_a_model_or_tool_wrote() -> None:
    inner = {"type": "assistant", "message": {"input": {"session_id": "mallory"}}}
    text = {"type": "assistant", "text": json.dumps({"session_id": "mallory"})}
    assert heard(stream(inner, text)) == ""


@pytest.mark.parametrize("told", ["../x", "", 7, None, "a b", "x" * 129, ["a"]])
def test_what_cannot_be_an_id_is_none(told: object) -> None:
    assert heard(stream({"session_id": told})) == ""


def test_a_line_without_end_costs_no_memory() -> None:
    listener = Listener(whole=False)
    for _ in range(40):
        listener.take(b"x" * (LINE_MAX // 8))
    assert len(listener._held) <= LINE_MAX
    listener.take(b"\n" + stream(INIT))
    assert listener.end() == SESSION


@pytest.mark.parametrize("value", [INIT, [{"type": "x"}, INIT]])
def test_the_json_output_tells_it_at_its_end(value: object) -> None:
    data = json.dumps(value, indent=1).encode()
    assert heard(data[:10], data[10:], whole=True) == SESSION
    assert heard(b"not json", whole=True) == ""
