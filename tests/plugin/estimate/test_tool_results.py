"""Other tools before they run, and any tool after it ran. The shapes are those of 2.1.332."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.estimate import page, result, text
from paceline.estimate.tool import estimate_call, measure_result

MODEL = "claude-opus-5"
json_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["type", "file", "content", "source", "data", "base64", "text", "count"]
            )
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)
tools = st.sampled_from(
    ["Read", "Bash", "Edit", "Agent", "WebFetch", "mcp__x__y", "Grep", "Workflow", "", "Nope"]
)


def tokens(value: str) -> int:
    return text.tokens(value, "v47")


def read_of(content: str, start: int = 1, **more: Any) -> dict[str, Any]:
    file = {"filePath": "/a.py", "content": content, "numLines": 3, "startLine": start} | more
    return {"type": "text", "file": file}


def test_a_read_is_measured_with_its_line_numbers() -> None:
    content = "def a():\n    return 1\n"
    as_batch = "41\tdef a():\n42\t    return 1\n43\t"
    assert measure_result("Read", read_of(content, 41), MODEL) == tokens(as_batch)
    assert measure_result("Read", as_batch, MODEL) == tokens(as_batch)


def test_a_first_page_carries_its_note() -> None:
    whole = measure_result("Read", read_of("x\ny"), MODEL)
    part = measure_result("Read", read_of("x\ny", truncatedByTokenCap=True), MODEL)
    assert part == whole + page.PARTIAL_NOTE


@pytest.mark.parametrize(
    ("tool", "response", "low", "high"),
    [
        ("Read", {"type": "file_unchanged", "file": {"filePath": "/a"}}, 10, 60),
        ("Read", read_of(""), 10, 60),
        ("Bash", {"stdout": "", "stderr": "", "interrupted": False, "isImage": False}, 5, 30),
        ("Bash", {"stdout": "1\n" * 30, "stderr": "oh", "interrupted": False}, 60, 70),
        ("Write", {"type": "update", "filePath": "/a", "content": "x " * 9_000}, 30, 120),
        ("Edit", {"filePath": "/a", "originalFile": "x " * 9_000, "newString": "b"}, 30, 120),
        ("Agent", {"status": "async_launched", "agentId": "a1", "prompt": "p " * 900}, 100, 400),
        (
            "Agent",
            {
                "status": "completed",
                "prompt": "p " * 900,
                "content": [{"type": "text", "text": "ok"}],
            },
            100,
            200,
        ),
        ("WebFetch", {"bytes": 9, "code": 200, "result": "word " * 50, "url": "u" * 900}, 45, 60),
        (
            "mcp__x__y",
            {"content": [{"type": "text", "text": "word " * 50}], "meta": "m" * 900},
            45,
            60,
        ),
        ("mcp__x__y", [{"type": "text", "text": "word " * 50}], 45, 60),
    ],
)
def test_only_what_the_model_sees_is_counted(tool: str, response: Any, low: int, high: int) -> None:
    assert low <= measure_result(tool, response, MODEL) <= high


def test_a_long_output_that_went_to_a_file_costs_its_preview() -> None:
    """30,000 characters of stdout stand in the structure; the model sees 2 KB and a path."""
    response = {
        "stdout": "1234\n" * 6_000,
        "stderr": "",
        "persistedOutputPath": "/p",
        "isImage": False,
    }
    assert measure_result("Bash", response, MODEL) < 1_500


def test_images_are_measured_by_their_pixels() -> None:
    size = (560).to_bytes(4, "big") * 2
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + size + b"\0" * 500_000).decode()
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    assert measure_result("Read", [block], MODEL) == 400
    structure = {"type": "image", "file": {"base64": data, "type": "image/png"}}
    assert measure_result("Read", structure, MODEL) == 400
    sized = {"displayWidth": 280, "displayHeight": 280}
    structure = {"type": "image", "file": {"base64": data, "dimensions": sized}}
    assert measure_result("Read", structure, MODEL) == 100
    assert measure_result("Bash", {"stdout": data, "isImage": True}, MODEL) == 400
    cells = [
        {"source": "x", "outputs": [{"image": {"image_data": data, "media_type": "image/png"}}]}
    ]
    notebook = {"type": "notebook", "file": {"cells": cells}}
    assert 400 < measure_result("Read", notebook, MODEL) < 420


def test_a_document_is_measured_by_its_pages_not_by_its_base64() -> None:
    raw = b"%PDF-1.4\n/Type /Pages /Count 3\n" + b"\0" * 3_000_000
    data = base64.b64encode(raw).decode()
    block = {"type": "document", "source": {"type": "base64", "data": data}}
    assert 6_000 < measure_result("Read", [block], MODEL) < 25_000
    assert 6_000 < measure_result("Read", {"type": "pdf", "file": {"base64": data}}, MODEL) < 25_000


def test_a_result_of_twenty_megabytes_is_priced_from_a_part_of_it() -> None:
    line = "a line of a log with some words and 12345\n"
    once = measure_result("mcp__x__y", line * 1_000, MODEL)
    huge = line * 480_000
    assert len(huge) > 20_000_000
    assert measure_result("mcp__x__y", huge, MODEL) == pytest.approx(480 * once, rel=0.02)
    blocks = [{"type": "text", "text": line} for _ in range(50_000)]
    assert measure_result("mcp__x__y", blocks, MODEL) > 0
    assert result.LOOKED_AT <= 1_000_000


def test_a_result_nested_a_hundred_thousand_deep_is_no_error() -> None:
    deep: Any = "word"
    for _ in range(100_000):
        deep = [deep]
    assert measure_result("mcp__x__y", deep, MODEL) >= 0


@given(tools, json_value)
def test_no_result_raises(tool: str, response: Any) -> None:
    assert measure_result(tool, response, MODEL) >= 0


@given(tools, json_value)
def test_no_input_raises(tool: str, given_input: Any) -> None:
    found = estimate_call(tool, given_input, MODEL, {})
    assert 0 <= found.low <= found.tokens <= found.high
    named = {
        "file_path": given_input,
        "offset": given_input,
        "limit": given_input,
        "pages": given_input,
    }
    found = estimate_call("Read", named, MODEL, {})
    assert 0 <= found.low <= found.tokens <= found.high


def test_every_tool_has_a_prior_within_the_client_cap() -> None:
    """Bash shows at most 30,000 characters unless its variable says otherwise."""
    bash = estimate_call("Bash", {"command": "x"}, MODEL, {})
    assert bash.high == 12_000
    wide = estimate_call("Bash", {"command": "x"}, MODEL, {"BASH_MAX_OUTPUT_LENGTH": "150000"})
    assert wide.high == 60_000
    mcp = estimate_call("mcp__a__b", {}, MODEL, {"MAX_MCP_OUTPUT_TOKENS": "9000"})
    assert (mcp.kind, mcp.high) == ("mcp", 9_000)
    assert (
        estimate_call("Grep", {"output_mode": "content", "head_limit": 10}, MODEL, {}).tokens == 250
    )


def test_what_was_learned_of_a_kind_moves_its_estimate() -> None:
    plain = estimate_call("Bash", {}, MODEL, {})
    moved = estimate_call("Bash", {}, MODEL, {}, {"shell": 2.0})
    assert moved.tokens == 2 * plain.tokens
    other = estimate_call("Bash", {}, MODEL, {}, {"web": 2.0})
    assert other.tokens == plain.tokens
    own = estimate_call("mcp__a__b", {}, MODEL, {}, {"mcp": 3.0, "mcp__a__b": 0.5})
    assert own.tokens == estimate_call("mcp__a__b", {}, MODEL, {}).tokens // 2
