"""Garbage, hostile text and missing zone files."""

from __future__ import annotations

import json
import subprocess
import sys
import zoneinfo
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from paceline import refusals
from paceline.refusals import resets, wording

T0 = 1789041600.0
REPEATED = 1793511000
"""1:30 in New York for the first time on the night that shows it twice."""
PLUGIN = Path(__file__).parents[3] / "plugin"

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is no finding."""

junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=40)
    | st.sampled_from(["rate_limit", "rejected", "You've hit your limit · resets 3pm (UTC)"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "status", "resetsAt", "error", "message"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
rows = st.dictionaries(
    st.sampled_from(
        [
            "apiError",
            "apiErrorStatus",
            "error",
            "error_details",
            "last_assistant_message",
            "message",
            "quotaLimits",
            "rate_limit_info",
            "status",
            "timestamp",
            "tool_name",
            "unifiedWindows",
        ]
    ),
    junk,
)
clocks = st.from_regex(
    r"(You've hit your limit · )?resets? (at |Mon |Jan 3\d?, |20\d\d-\d\d-\d\d )?"
    r"\d\d?(:\d\d)? ?(am|pm)?( \([A-Z][a-z_/]{0,12}\))?",
    fullmatch=True,
)


@patient
@given(rows)
def test_no_row_or_event_raises(line: dict[str, Any]) -> None:
    found = [
        refusals.from_row({**line, "isApiErrorMessage": True}, T0),
        refusals.from_stop_failure(line, T0),
        refusals.from_tool_failure({**line, "tool_name": "Agent"}, T0),
        refusals.from_rate_limit_event(line, T0),
    ]
    for refusal in found:
        if refusal is not None:
            assert refusal.cause in refusals.CAUSES
            assert json.loads(json.dumps(refusal.fields(), allow_nan=False))


@patient
@given(
    st.integers(0, 999),
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    "retry-after",
                    "x-should-retry",
                    "anthropic-ratelimit-unified-status",
                    "anthropic-ratelimit-unified-5h-status",
                    "anthropic-ratelimit-unified-5h-reset",
                    "anthropic-ratelimit-input-tokens-remaining",
                    "anthropic-ratelimit-input-tokens-limit",
                    "anthropic-ratelimit-input-tokens-reset",
                ]
            ),
            st.text(max_size=12) | st.sampled_from(["rejected", "0", "1e309", "-1", "1789052400"]),
        )
    ),
    st.binary(max_size=60) | st.text(max_size=60) | st.none(),
)
def test_no_response_raises(
    status: int, headers: list[tuple[str, str]], body: bytes | str | None
) -> None:
    found = refusals.from_response(status, headers, body, T0)
    assert found is None or found.resets_at is None or found.resets_at > T0


@patient
@given(st.text(max_size=200) | clocks)
def test_a_reset_is_never_in_the_past_nor_beyond_a_year(text: str) -> None:
    """[I9] A stale or absurd value cannot wedge anything."""
    reset, _ = resets.from_text(text, T0)
    assert reset is None or T0 < reset <= T0 + 401 * 86400


@patient
@example(at=REPEATED, ahead=2400.0, zone="America/New_York")
@given(
    at=st.integers(int(T0) - 200 * 86400, int(T0) + 400 * 86400),
    ahead=st.floats(1.0, 82_000.0),
    zone=st.sampled_from(
        ["UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"]
    ),
)
def test_a_clock_time_is_read_back_to_the_minute_whenever_and_wherever_it_was_written(
    at: int, ahead: float, zone: str
) -> None:
    """[CASE 2] Where a clock is set back, the first of the two times may be meant: never a day."""
    shown = datetime.fromtimestamp(at + ahead, ZoneInfo(zone))
    text = f"{shown.hour % 12 or 12}:{shown.minute:02d}{'am' if shown.hour < 12 else 'pm'}"
    reset, guessed = resets.from_text(f"You've hit your session limit · resets {text} ({zone})", at)
    assert reset is not None
    assert not guessed
    other = shown.replace(fold=1 - shown.fold).timestamp()
    assert min(abs(reset - at - ahead), abs(reset - other)) <= 60


@patient
@given(st.text(max_size=400))
def test_text_kept_is_one_printable_line(text: str) -> None:
    kept = refusals.clean(text)
    assert len(kept) <= 300
    assert kept.isprintable()


def test_terminal_codes_and_direction_marks_are_gone_from_kept_text() -> None:
    nasty = "API Error: 429 \x1b]0;own\x07\x1b[2J\u202eabc\u2066\x00\r\nIgnore all of it \ud800"
    line = {"isApiErrorMessage": True, "message": {"content": nasty}, "error": "rate_limit"}
    found = refusals.from_row(line, T0)
    assert found is not None
    assert found.text.isprintable()
    assert found.text.isascii()


def test_a_long_text_is_cut() -> None:
    line = {"isApiErrorMessage": True, "message": {"content": "x" * 10**6}}
    found = refusals.from_row(line, T0)
    assert found is not None
    assert len(found.text) == 300


@pytest.mark.parametrize(
    "text",
    [
        "resets 25:00 (UTC)",
        "resets 13pm",
        "resets 0am",
        "resets Feb 31, 2pm (UTC)",
        "resets 2020-01-01 00:00 UTC",
        "resets 2031-01-01 00:00 UTC",
        "resets 5",
        "resets banana",
        "usage limit reached|1389052400",
        "usage limit reached|99999999999999",
        "try again in 9999999 days",
    ],
)
def test_a_time_that_cannot_be_is_passed_over(text: str) -> None:
    """[I9]"""
    assert resets.from_text(text, T0) == (None, False)


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("Try again in 60 seconds", 60.0),
        ("please try again in 5 minutes", 300.0),
        ("resets in 2h", 7200.0),
    ],
)
def test_a_span_in_a_text_is_a_reset(text: str, wait: float) -> None:
    assert resets.from_text(text, T0) == (T0 + wait, False)


def test_of_several_resets_in_one_text_the_latest_counts() -> None:
    text = "session limit resets 2pm (UTC) · weekly limit resets 9:30pm (UTC)"
    assert resets.from_text(text, T0) == (T0 + 9.5 * 3600, False)


def test_without_zone_files_the_machines_zone_stands_in_and_says_so() -> None:
    """Windows has none unless a package brings them."""
    before = zoneinfo.TZPATH
    try:
        zoneinfo.reset_tzpath(to=[])
        zoneinfo.ZoneInfo.clear_cache()
        reset, approximate = resets.from_text("resets 3:20am (America/New_York)", T0)
        sure, exact = resets.from_text("resets 3:20am (UTC)", T0)
    finally:
        zoneinfo.reset_tzpath(to=before)
        zoneinfo.ZoneInfo.clear_cache()
    assert approximate
    assert reset is not None
    assert T0 < reset <= T0 + 86400
    assert (sure, exact) == (1789096800.0, False)


@pytest.mark.parametrize("zone", ["../../etc/passwd", "Europe/../UTC", "Nowhere/Atall", "UTC\x00"])
def test_a_zone_that_is_none_never_reaches_a_file(zone: str) -> None:
    reset, approximate = resets.from_text(f"resets 3:20am ({zone})", T0)
    assert reset is not None
    assert approximate


def test_a_phrase_list_has_no_cause_of_its_own_making() -> None:
    assert {cause for cause, _ in wording.PHRASES} <= set(refusals.CAUSES)


def test_importing_the_classifier_loads_only_what_a_hook_can_pay_for() -> None:
    """Each of these costs a hook more than the whole classifier."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import paceline.refusals;"
        "print(sorted(set(sys.modules) & {'re','datetime','zoneinfo','json','dataclasses',"
        "'typing','pathlib','subprocess','asyncio','email','logging'}))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(PLUGIN)],
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=True,
    )
    assert done.stdout.strip() == "[]"
