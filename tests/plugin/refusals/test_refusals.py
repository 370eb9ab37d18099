"""One classifier for every layer: the shapes users reported, each with its cause."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from paceline import refusals
from paceline.refusals import (
    from_last_rows,
    from_rate_limit_event,
    from_response,
    from_result_text,
    from_row,
    from_stop_failure,
    from_tool_failure,
)

T0 = 1789041600.0
"""2026-09-10T12:00:00Z."""

THROTTLE = (
    "API Error: Server is temporarily limiting requests (not your usage limit) · Rate limited"
)
SESSION = "You've hit your session limit · resets 3:20am (America/New_York)"
ITPM = (
    "API Error: Request rejected (429) · This request would exceed your organization's rate limit"
    " of 60,000 input tokens per minute"
)


def row(text: str, **fields: Any) -> dict[str, Any]:
    line: dict[str, Any] = {
        "type": "assistant",
        "isSidechain": True,
        "agentId": "a1",
        "isApiErrorMessage": True,
        "apiErrorStatus": 429,
        "error": "rate_limit",
        "timestamp": "2026-09-10T12:00:00Z",
        "message": {
            "role": "assistant",
            "model": "<synthetic>",
            "usage": {"input_tokens": 0, "output_tokens": 0},
            "content": [{"type": "text", "text": text}],
        },
    }
    return {**line, **fields}


def test_a_transcript_ends_with_a_refusal_until_an_answer_follows_it() -> None:
    """[I9] gate and hooks ask alike; what a person or a tool said since changes nothing."""
    refused = row(ITPM)
    answered = {"type": "assistant", "message": {"content": []}}
    said = {"type": "user", "message": {"content": ITPM}}
    for rows in ([answered, refused], [refused, said], [refused, {"type": "api-request"}]):
        found = from_last_rows(rows, T0 - 1.0, T0)
        assert found is not None
        assert found.limit == 60_000
        assert from_last_rows(rows, T0 + 1.0, T0) is None
    assert from_last_rows([refused, answered], T0 - 1.0, T0) is None
    assert from_last_rows([said], T0 - 1.0, T0) is None


def local(year: int, month: int, day: int, hour: int, minute: int) -> float:
    return datetime(year, month, day, hour, minute).timestamp()  # noqa: DTZ001


def at(zone: str, *when: int) -> float:
    return datetime(*when, tzinfo=ZoneInfo(zone)).timestamp()  # type: ignore[arg-type,misc]


def test_a_throttle_row_is_retryable_and_names_no_reset() -> None:
    """[CASE 1] [§6 throttle]"""
    found = from_row(row(THROTTLE), T0)
    assert found is not None
    assert (found.cause, found.retryable, found.resets_at) == ("throttle", True, None)
    assert found.text == THROTTLE


def test_a_session_limit_is_a_quota_until_the_next_such_time_in_its_zone() -> None:
    """[CASE 2] [§6 quota]"""
    found = from_row(row(SESSION), T0)
    assert found is not None
    assert (found.cause, found.retryable, found.window) == ("quota", True, "five_hour")
    assert found.resets_at == at("UTC", 2026, 9, 11, 7, 20)
    assert not found.approximate


@pytest.mark.parametrize(
    ("told", "reset"),
    [("12:00pm (UTC)", T0 + 60), ("11:59am (UTC)", T0 - 60 + 86400), ("12:01pm (UTC)", T0 + 60)],
)
def test_a_clock_time_of_this_very_minute_is_still_to_come(told: str, reset: float) -> None:
    """The client cuts it to the minute: 12:00:40 is printed as 12:00, and not tomorrow's."""
    found = from_row(row(f"You've hit your session limit · resets {told}"), T0)
    assert found is not None
    assert found.resets_at == reset


def test_a_weekday_without_a_zone_is_local_and_called_approximate() -> None:
    """[CASE 3]"""
    found = from_row(row("You've hit your weekly limit · resets Mon 12:00am"), T0)
    assert found is not None
    assert (found.cause, found.window, found.approximate) == ("quota", "seven_day", True)
    assert found.resets_at == local(2026, 9, 14, 0, 0)


def test_a_date_without_a_year_is_the_next_one_in_its_zone() -> None:
    """[CASE 3]"""
    found = from_row(row("You've hit your limit · resets Jan 18, 11:30am (Asia/Calcutta)"), T0)
    assert found is not None
    assert (found.cause, found.approximate) == ("quota", False)
    assert found.resets_at == at("UTC", 2027, 1, 18, 6, 0)


@pytest.mark.parametrize(
    "found",
    [
        from_row(row("Usage credits required for 1M context · run /usage-credits ..."), T0),
        from_response(
            429,
            {},
            {
                "error": {
                    "type": "rate_limit_error",
                    "message": "Extra usage is required for long context requests.",
                }
            },
            T0,
        ),
        from_rate_limit_event({"status": "rejected", "errorCode": "credits_required"}, T0),
    ],
)
def test_an_entitlement_that_wears_a_429_is_never_retried(
    found: refusals.Refusal | None,
) -> None:
    """[CASE 5] [§6 entitlement]"""
    assert found is not None
    assert (found.cause, found.retryable, found.limit) == ("entitlement", False, None)


@pytest.mark.parametrize(
    "line",
    [
        {
            "type": "assistant",
            "message": {
                "role": "assistant",
                "stop_reason": "end_turn",
                "content": [{"type": "text", "text": f'429 "rate_limit" {THROTTLE}'}],
            },
        },
        row(THROTTLE, type="user"),
        row(THROTTLE, isApiErrorMessage="true"),
        row(THROTTLE, isApiErrorMessage=False),
        {},
    ],
)
def test_prose_about_rate_limits_is_no_refusal(line: dict[str, Any]) -> None:
    """[CASE 6] Only the client's own mark on an assistant row counts."""
    assert from_row(line, T0) is None


@pytest.mark.parametrize(
    "found",
    [
        from_row(
            row(
                "API Error: Repeated 529 Overloaded errors. The API is at capacity",
                apiErrorStatus=529,
                error="overloaded",
            ),
            T0,
        ),
        from_response(429, {}, b'{"error":{"type":"overloaded_error","message":"Overloaded"}}', T0),
        from_response(529, {"anthropic-ratelimit-unified-status": "allowed"}, None, T0),
        from_response(200, {}, {"type": "error", "error": {"type": "overloaded_error"}}, T0),
        from_stop_failure({"error": "overloaded"}, T0),
        from_result_text("API Error: 529 Overloaded.", T0),
        from_response(502, {}, "<html><title>502</title></html>", T0),
    ],
)
def test_an_overload_is_told_from_a_limit_whatever_its_status(
    found: refusals.Refusal | None,
) -> None:
    """[CASE 8] [§6 overload]"""
    assert found is not None
    assert (found.cause, found.retryable, found.window) == ("overload", True, None)


def test_an_old_clients_result_that_is_the_error_is_a_refusal_and_a_report_is_not() -> None:
    """[CASE 9]"""
    found = from_result_text(THROTTLE, T0)
    assert found is not None
    assert found.cause == "throttle"
    assert from_result_text(f"Finding 4: the log shows\n{THROTTLE}", T0) is None
    assert from_result_text("The API returns 429 rate limited; see retry.py", T0) is None


def test_a_response_without_plan_headers_is_a_throttle() -> None:
    """[CASE 12] (a)"""
    body = {"error": {"type": "rate_limit_error", "message": "Error"}}
    found = from_response(429, {"x-should-retry": "true"}, body, T0)
    assert found is not None
    assert (found.cause, found.retryable, found.resets_at) == ("throttle", True, None)


def test_of_several_used_up_windows_the_latest_reset_counts() -> None:
    """[CASE 12] (b)"""
    head = "anthropic-ratelimit-unified-"
    found = from_response(
        429,
        {
            head + "status": "rejected",
            head + "representative-claim": "five_hour",
            head + "reset": "1789052400",
            head + "5h-status": "rejected",
            head + "5h-reset": "1789052400",
            head + "7d-status": "rejected",
            head + "7d-reset": "1789387200",
            head + "overage-status": "rejected",
            "Retry-After": "10800",
        },
        None,
        T0,
    )
    assert found is not None
    assert (found.cause, found.window) == ("quota", "seven_day")
    assert found.resets_at == 1789387200


def test_a_spent_dimension_in_the_headers_gives_limit_and_wait() -> None:
    """[CASE 12] (d)"""
    head = "anthropic-ratelimit-"
    found = from_response(
        429,
        [
            (head + "input-tokens-remaining", "0"),
            (head + "input-tokens-limit", "30000"),
            (head + "requests-remaining", "40"),
            (head + "requests-limit", "50"),
            ("retry-after", "12"),
        ],
        None,
        T0,
    )
    assert found is not None
    assert (found.cause, found.dimension, found.limit) == ("throttle", "input", 30000)
    assert found.resets_at == T0 + 12


@pytest.mark.parametrize(
    "wait",
    ["banana", "-5", "0", "nan", "inf", "1e9", "Thu, 10 Sep 2020 12:00:00 GMT", "Mon, 99", ""],
)
def test_an_absurd_retry_after_is_passed_over(wait: str) -> None:
    """[CASE 12] (f) [I9]"""
    found = from_response(429, {"retry-after": wait}, None, T0)
    assert found is not None
    assert (found.cause, found.resets_at) == ("throttle", None)


def test_a_retry_after_date_and_milliseconds_are_understood() -> None:
    dated = from_response(429, {"retry-after": "Thu, 10 Sep 2026 12:00:30 GMT"}, None, T0)
    assert dated is not None
    assert dated.resets_at == T0 + 30
    finer = from_response(429, {"retry-after": "1", "retry-after-ms": "350"}, None, T0)
    assert finer is not None
    assert finer.resets_at == T0 + 0.35


def test_days_of_retry_after_are_a_plan_whose_headers_a_gateway_took() -> None:
    """[§6 quota] REPORTS 103: 287441 seconds behind a gateway that strips headers."""
    found = from_response(429, {"retry-after": "287441"}, None, T0)
    assert found is not None
    assert (found.cause, found.resets_at) == ("quota", T0 + 287441)


@pytest.mark.parametrize(
    "info",
    [
        {
            "status": "allowed",
            "overageStatus": "rejected",
            "overageDisabledReason": "org_level_disabled",
            "isUsingOverage": False,
        },
        {"status": "allowed_warning", "utilization": 0.75, "rateLimitType": "seven_day"},
        {"status": "rejected", "rateLimitType": "five_hour", "isUsingOverage": True},
        {},
        {"rate_limit_info": None},
    ],
)
def test_an_informational_rate_limit_event_refuses_nothing(info: dict[str, Any]) -> None:
    """[CASE 13]"""
    assert from_rate_limit_event(info, T0) is None


def test_a_rejected_window_in_an_event_is_a_quota_until_its_epoch() -> None:
    """[CASE 13]"""
    found = from_rate_limit_event(
        {
            "type": "rate_limit_event",
            "rate_limit_info": {
                "status": "rejected",
                "resetsAt": 1789052400,
                "rateLimitType": "five_hour",
                "unifiedWindows": {"five_hour": {"utilization": 1}},
            },
        },
        T0,
    )
    assert found is not None
    assert (found.cause, found.window, found.resets_at) == ("quota", "five_hour", 1789052400)


def test_a_bare_stop_failure_is_a_throttle_without_a_reset() -> None:
    """[CASE 14]"""
    event = {"session_id": "s1", "hook_event_name": "StopFailure", "error": "rate_limit"}
    found = from_stop_failure(event, T0)
    assert (found.cause, found.resets_at, found.text) == ("throttle", None, "")


def test_a_stop_failure_tells_its_reset_in_the_text() -> None:
    """[CASE 15]"""
    found = from_stop_failure(
        {
            "error": "rate_limit",
            "last_assistant_message": "You've hit your session limit · resets 9pm (Asia/Bangkok)",
        },
        T0,
    )
    assert (found.cause, found.window) == ("quota", "five_hour")
    assert found.resets_at == at("Asia/Bangkok", 2026, 9, 10, 21, 0)


def test_an_agents_failure_is_judged_by_the_detail_behind_the_colon() -> None:
    error = (
        "Agent terminated early due to an API error: API Error: Request rejected (429) · This"
        " request would exceed your organization's rate limit of 60,000 input tokens per minute"
        " (org: 5a1b, model: claude-x) (error type rate_limit, HTTP 429, request id req_1, model"
        " sent to the API: claude-x)\nEverything below is PARTIAL output: You've hit your weekly"
        " limit · resets 9pm (Asia/Bangkok)"
    )
    found = from_tool_failure({"tool_name": "Agent", "error": error}, T0)
    assert found is not None
    assert (found.cause, found.dimension, found.limit) == ("throttle", "input", 60000)
    assert found.resets_at is None
    assert "PARTIAL" not in found.text
    assert "req_1" not in found.text


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("Agent terminated early due to an API error: API Error: 529 Overloaded.", "overload"),
        (f"Agent terminated early due to an API error: {SESSION}", "quota"),
        (
            (
                "Agent terminated early due to an API error: Credit balance is too low"
                " (error type billing_error, HTTP 400)"
            ),
            "spend",
        ),
        ("Agent terminated early due to an API error: You sneezed", "unknown"),
        ("Concurrent subagent limit reached. Do not retry.", "client"),
        ("InputValidationError: prompt is required", "client"),
        ("The agent said: Agent terminated early due to an API error: " + SESSION, "client"),
    ],
)
def test_a_failed_agent_call_has_the_cause_of_its_detail(error: str, cause: str) -> None:
    """[§6 client]"""
    found = from_tool_failure({"tool_name": "Agent", "error": error}, T0)
    assert found is not None
    assert found.cause == cause


def test_an_interrupted_agent_is_the_persons_doing_and_another_tool_no_refusal() -> None:
    stopped = {"tool_name": "Agent", "error": "Interrupted", "is_interrupt": True}
    found = from_tool_failure(stopped, T0)
    assert found is not None
    assert (found.cause, found.retryable) == ("client", False)
    assert from_tool_failure({"tool_name": "Read", "error": SESSION}, T0) is None


@pytest.mark.parametrize(
    ("text", "dimension", "limit"),
    [
        (ITPM, "input", 60000),
        (
            (
                "Request rejected (429) · This request would exceed the rate limit for your"
                " organization (5a1b-22) of 20,000 input tokens per minute. Please reduce"
            ),
            "input",
            20000,
        ),
        (
            (
                "This request would exceed your organization's rate limit of 8,000 output tokens"
                " per minute (org: 5a1b, model: claude-x)"
            ),
            "output",
            8000,
        ),
        (
            "This request would exceed your organization's rate limit of 50 requests per minute",
            "requests",
            50,
        ),
        ("API Error: Request rejected (429) · Rate limited", None, None),
        ("429 Too many tokens, please wait before trying again.", None, None),
    ],
)
def test_a_limit_in_the_text_is_learned(
    text: str, dimension: str | None, limit: int | None
) -> None:
    """[§6 throttle] [I10] A number in an error text sets the limit."""
    found = from_row(row(text), T0)
    assert found is not None
    assert (found.cause, found.dimension, found.limit) == ("throttle", dimension, limit)


def test_a_ramp_limit_is_a_throttle_of_no_dimension() -> None:
    """[§6 throttle] How fast the use grew, not how much it is."""
    body = {
        "error": {
            "type": "rate_limit_error",
            "message": "Slow down; limit of 60,000 input tokens per minute",
            "details": {"error_code": "ramp_limit_exceeded"},
        }
    }
    found = from_response(429, {"retry-after": "20"}, body, T0)
    assert found is not None
    assert (found.cause, found.ramp, found.dimension) == ("throttle", True, None)
    assert found.limit is None
    assert found.resets_at == T0 + 20


@pytest.mark.parametrize(
    ("status", "error", "cause"),
    [
        (429, {"details": {"error_code": "enforced_spend_limit_reached"}}, "spend"),
        (400, {"message": "You have reached your specified API usage limits."}, "spend"),
        (402, {"type": "billing_error", "message": "Credit balance is too low"}, "spend"),
        (401, {"type": "authentication_error", "message": "invalid x-api-key"}, "auth"),
        (403, {"type": "permission_error", "message": "no access"}, "auth"),
        (400, {"type": "invalid_request_error", "message": "prompt is too long"}, "invalid"),
        (404, {"type": "not_found_error", "message": "model"}, "invalid"),
        (413, {"type": "request_too_large", "message": "32 MB"}, "invalid"),
        (500, {"type": "api_error", "message": "Internal server error"}, "overload"),
        (504, {"type": "timeout_error"}, "overload"),
    ],
)
def test_a_body_type_or_code_decides_before_any_wording(
    status: int, error: dict[str, Any], cause: str
) -> None:
    """[§6 spend] [§6 auth] [§6 invalid]"""
    found = from_response(status, None, {"type": "error", "error": error}, T0)
    assert found is not None
    assert found.cause == cause
    assert found.retryable is (cause == "overload")


def test_a_challenge_page_under_fan_out_is_the_edge() -> None:
    """[§6 edge]"""
    page = "<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>"
    seen = from_response(403, {"content-type": "text/html"}, page, T0)
    told = from_row(row(f"API Error: 403 {page}", apiErrorStatus=403, error="unknown"), T0)
    old = from_result_text(f"API Error: 403 {page}", T0)
    for found in (seen, told, old):
        assert found is not None
        assert (found.cause, found.retryable) == ("edge", True)


@pytest.mark.parametrize(
    ("text", "cause", "reset"),
    [
        ("You've hit your monthly spend limit · raise it at example.test/usage", "spend", None),
        (
            "You've hit your monthly spend limit · your session limit resets 2:40pm (Asia/Jakarta)",
            "spend",
            at("Asia/Jakarta", 2026, 9, 11, 14, 40),
        ),
        (
            "You're out of extra usage · resets May 2, 2pm (Europe/Berlin)",
            "spend",
            at("Europe/Berlin", 2027, 5, 2, 14, 0),
        ),
        (
            "spend limit reached (daily; resets 2026-09-11 00:00 UTC)",
            "spend",
            at("UTC", 2026, 9, 11),
        ),
        ("5-hour limit reached ∙ resets 2pm (UTC)", "quota", at("UTC", 2026, 9, 10, 14, 0)),
        (
            "Claude usage limit reached. Your limit will reset at 10am (America/Chicago).",
            "quota",
            at("America/Chicago", 2026, 9, 10, 10, 0),
        ),
        ("Claude AI usage limit reached|1789052400", "quota", 1789052400.0),
        (
            "You\u2019ve hit your Opus limit · resets Fri 9:05am (Europe/Paris)",
            "quota",
            at("Europe/Paris", 2026, 9, 11, 9, 5),
        ),
        (
            "You've hit your 5-hour limit · resets 5:49pm (UTC)",
            "quota",
            at("UTC", 2026, 9, 10, 17, 49),
        ),
        ("Fable 5 limit reached · try /model", "quota", None),
        ("You've hit your limit", "quota", None),
        (
            "New words nobody knows · resets 11:30pm (Europe/Berlin)",
            "quota",
            at("Europe/Berlin", 2026, 9, 10, 23, 30),
        ),
    ],
)
def test_every_known_wording_has_its_cause_and_reset(
    text: str, cause: str, reset: float | None
) -> None:
    """[§6 quota] [§6 spend] All date forms of the reports."""
    found = from_row(row(text), T0)
    assert found is not None
    assert (found.cause, found.resets_at) == (cause, reset)


def test_the_windows_a_client_writes_into_its_row_count_more_than_the_text() -> None:
    found = from_row(
        row(
            "You've hit your 5-hour limit · resets 5:49pm (UTC)",
            apiError="usage_limit_reached",
            quotaLimits={
                "status": "rejected",
                "resetsAt": 1789052407,
                "rateLimitType": "five_hour",
                "isUsingOverage": False,
            },
        ),
        T0,
    )
    assert found is not None
    assert (found.cause, found.window, found.resets_at) == ("quota", "five_hour", 1789052407)


def test_a_reset_is_counted_from_the_row_and_not_from_the_reading() -> None:
    """A transcript read two days later still tells the reset of its own day."""
    found = from_row(row(SESSION), T0 + 2 * 86400)
    assert found is not None
    assert found.resets_at == at("UTC", 2026, 9, 11, 7, 20)


def test_a_429_in_unknown_words_is_unknown_and_worth_another_try() -> None:
    """[§6 throttle] New wordings are shown by doctor, never guessed, and lose no agent. [P1]"""
    found = from_row(row("The moon is in the wrong house"), T0)
    assert found is not None
    assert (found.cause, found.retryable) == ("unknown", True)
    silent = from_stop_failure({"error": "unknown", "last_assistant_message": "Hm."}, T0)
    assert (silent.cause, silent.retryable) == ("unknown", False)


def test_a_gateway_that_says_do_not_retry_is_obeyed() -> None:
    found = from_response(429, {"x-should-retry": "false", "retry-after": "20"}, "cap", T0)
    assert found is not None
    assert found.retryable is False


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("API Error: Stream idle timeout - partial response received", "stall"),
        ("Agent stalled: no progress for 600s", "stall"),
        ("Concurrent subagent limit reached", "client"),
    ],
)
def test_ends_that_are_no_limit_are_named_and_not_retried(text: str, cause: str) -> None:
    """[§6 stall] [§6 client]"""
    found = from_row(row(text, apiErrorStatus=None, error="unknown"), T0)
    assert found is not None
    assert (found.cause, found.retryable) == (cause, False)


def test_a_run_out_of_output_tokens_is_no_limit_whatever_the_model_wrote() -> None:
    found = from_stop_failure(
        {"error": "max_output_tokens", "last_assistant_message": THROTTLE}, T0
    )
    assert (found.cause, found.retryable) == ("client", False)


def test_a_refusal_survives_the_event_log() -> None:
    found = from_row(row("You've hit your weekly limit · resets Mon 12:00am"), T0)
    assert found is not None
    assert refusals.Refusal.of_fields(found.fields()) == found
    assert refusals.Refusal.of_fields({"cause": "gremlins"}) is None
    assert refusals.Refusal.of_fields({}) is None


@pytest.mark.parametrize(
    ("fields", "text", "cause"),
    [
        (
            {"apiErrorCode": "enforced_spend_limit_reached", "apiErrorType": "rate_limit_error"},
            "API Error: Request rejected (429) · You have used it up",
            "spend",
        ),
        (
            {"apiErrorIsTransient": True},
            (
                "API Error: Server is temporarily limiting requests (not your usage limit)"
                " · You have reached your spend limit"
            ),
            "spend",
        ),
        (
            {"apiError": "long_context_credits_required", "errorDetails": "429 {}"},
            "API Error: New words · turn something on",
            "entitlement",
        ),
        (
            {
                "apiErrorStatus": 400,
                "apiErrorType": "invalid_request_error",
                "error": "billing_error",
            },
            "Credit balance is too low",
            "spend",
        ),
        (
            {"apiErrorStatus": 403, "error": "authentication_failed"},
            "Failed to authenticate. API Error: 403 Just a moment...",
            "edge",
        ),
        (
            {"apiErrorStatus": None, "error": "authentication_failed"},
            "Failed to authenticate. API Error: Just a moment...",
            "edge",
        ),
        (
            {"apiErrorStatus": 403, "error": "authentication_failed"},
            "Failed to authenticate. API Error: 403 no access",
            "auth",
        ),
        (
            {"apiErrorStatus": 401, "error": "authentication_failed"},
            "Not logged in · Please run /login",
            "auth",
        ),
        (
            {"apiErrorStatus": 529, "error": "server_error", "apiErrorType": "overloaded_error"},
            "API Error: 529 Overloaded. This is a server-side issue",
            "overload",
        ),
        (
            {"apiErrorStatus": 400, "error": "unknown", "apiErrorType": "invalid_request_error"},
            "API Error: 400 messages: bad",
            "invalid",
        ),
        (
            {"apiErrorCode": "ramp_limit_exceeded", "apiErrorIsTransient": True},
            "API Error: Server is temporarily limiting requests (not your usage limit) · too fast",
            "throttle",
        ),
    ],
)
def test_rows_as_the_two_clients_write_them(fields: dict[str, Any], text: str, cause: str) -> None:
    """[§6 edge] [§6 spend] Seen on 2.1.240 and 2.1.332, with an API key and as a subscriber."""
    found = from_row(row(text, **fields), T0)
    assert found is not None
    assert found.cause == cause
