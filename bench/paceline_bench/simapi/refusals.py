"""Every refusal the API is known to give, in one table, and the body of each.

Shapes from Anthropic's errors and rate limit pages, from public issues and from captures; the
texts a limit makes carry its number when the configuration wants them to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

DIMENSIONS = {"requests": "requests", "input": "input tokens", "output": "output tokens"}


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of refusal.

    Attributes:
        status: the HTTP status.
        type: ``error.type`` of the body; empty where the body is no JSON.
        message: ``error.message``, or the whole body where it is no JSON.
        code: ``error.details.error_code``, or empty.
        cause: the cause it is, in Paceline's words (``throttle``, ``overload``, …).
        retry_after: seconds of a ``retry-after`` header by nature of the kind, None for none.
        midway: a stream begins and breaks off with the body as its last event; only a request for
            a whole answer is refused outright.
    """

    status: int
    type: str
    message: str
    cause: str
    code: str = ""
    retry_after: float | None = None
    midway: bool = False


KINDS: dict[str, Kind] = {
    "requests": Kind(429, "rate_limit_error", "Rate limited", "throttle"),
    "input": Kind(429, "rate_limit_error", "Rate limited", "throttle"),
    "output": Kind(429, "rate_limit_error", "Rate limited", "throttle"),
    "throttle": Kind(429, "rate_limit_error", "Rate limited", "throttle"),
    "ramp": Kind(
        429,
        "rate_limit_error",
        "Your usage is growing too fast. Please ramp up gradually.",
        "throttle",
        code="ramp_limit_exceeded",
        retry_after=5,
    ),
    "overload": Kind(529, "overloaded_error", "Overloaded", "overload"),
    "overload_429": Kind(429, "overloaded_error", "Overloaded", "overload"),
    "overload_midway": Kind(529, "overloaded_error", "Overloaded", "overload", midway=True),
    "server_error": Kind(500, "api_error", "Internal server error", "overload"),
    "timeout": Kind(504, "timeout_error", "The request timed out.", "overload"),
    "quota": Kind(
        429, "rate_limit_error", "This request would exceed your account's rate limit.", "quota"
    ),
    "spend": Kind(
        429,
        "rate_limit_error",
        "Your organization has reached its monthly spend limit.",
        "spend",
        code="enforced_spend_limit_reached",
    ),
    "own_spend": Kind(
        400,
        "invalid_request_error",
        "You have reached your specified API usage limits.",
        "spend",
    ),
    "entitlement": Kind(
        429,
        "rate_limit_error",
        "Extra usage is required for long context requests.",
        "entitlement",
    ),
    "auth": Kind(401, "authentication_error", "invalid x-api-key", "auth"),
    "permission": Kind(
        403,
        "permission_error",
        "Your account does not have permission to use this model.",
        "auth",
    ),
    "invalid": Kind(400, "invalid_request_error", "messages: at least one is required", "invalid"),
    "edge": Kind(
        403,
        "",
        "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body></body></html>",
        "edge",
    ),
}


def limit_text(dimension: str, limit: float) -> str:
    """Return a throttle's text with its number, as the API words it."""
    rate = f"{limit:,.0f} {DIMENSIONS[dimension]} per minute"
    return f"This request would exceed your organization's rate limit of {rate}"


def body(kind: Kind, message: str, request_id: str) -> dict[str, Any]:
    """Return the JSON body of a refusal."""
    error: dict[str, Any] = {"type": kind.type, "message": message}
    if kind.code:
        error["details"] = {"error_code": kind.code}
    return {"type": "error", "error": error, "request_id": request_id}
