"""The API's and the client's own error texts: the last resort of the classifier.

Phrases are compared in lower case against the first 2,000 characters. A new wording is one line
here; until then it becomes ``unknown`` and ``doctor`` shows it.
"""

from __future__ import annotations

from .refusal import SPAN_MAX

PHRASES = (
    ("client", ("concurrent subagent limit", "maximum number of turns", "max turns")),
    ("entitlement", ("extra usage is required", "usage credits required", "credits are required")),
    (
        "spend",
        (
            "spend limit",
            "spending limit",
            "out of extra usage",
            "run out of usage credits",
            "credit balance is too low",
            "specified api usage limits",
        ),
    ),
    ("overload", ("overloaded", "internal server error", "api is at capacity")),
    ("quota", ("session limit", "weekly limit", "usage limit reached", "5-hour limit")),
    (
        "throttle",
        (
            "temporarily limiting requests",
            "request rejected (429)",
            "too many tokens, please wait",
            "too many requests",
            "rate limited",
            "rate limit",
            "temporary capacity issue",
        ),
    ),
    ("edge", ("just a moment...", "attention required! | cloudflare")),
    ("auth", ("invalid api key", "please run /login", "oauth token has expired")),
    ("invalid", ("prompt is too long",)),
    (
        "stall",
        (
            "stream idle timeout",
            "no progress for",
            "response stopped arriving",
            "connection lost mid-response",
            "connection error",
            "request timed out",
        ),
    ),
)
"""Cause and the phrases that mean it, in the order they are tried."""

CURLED = "\u2019"
"""The apostrophe some versions print."""

NOT_USAGE = "(not your usage limit)"
"""Stands before the API's own words, and would else read as a quota's."""

WINDOWS = (
    ("session limit", "five_hour"),
    ("5-hour limit", "five_hour"),
    ("opus limit", "seven_day_opus"),
    ("sonnet limit", "seven_day_sonnet"),
    ("fable 5 limit", "seven_day_overage_included"),
    ("weekly limit", "seven_day"),
)
"""Words of a text and the plan's window they name."""

_DIMENSIONS = {"input tokens": "input", "output tokens": "output", "requests": "requests"}
_LIMIT_MAX = 10**12


def cause_of(text: str) -> str | None:
    """Return the cause an error text names, or None for an unknown wording."""
    low = _low(text).replace(NOT_USAGE, "")
    for cause, phrases in PHRASES:
        if cause == "quota" and _plan_limit(low):
            return cause
        if any(phrase in low for phrase in phrases):
            return cause
    return None


def window_of(text: str) -> str | None:
    """Return the plan's window an error text names."""
    low = _low(text)
    return next((name for words, name in WINDOWS if words in low), None)


def limit_of(text: str) -> tuple[str | None, int | None]:
    """Return dimension and limit per minute of ``… 60,000 input tokens per minute …``."""
    if "per minute" not in text:
        return None, None
    import re

    found = re.search(
        r"\b(\d{1,3}(?:[,.\u202f\u00a0 ]\d{3})+|\d{1,12}) (input tokens|output tokens|requests)"
        r" per minute",
        text[:SPAN_MAX],
    )
    if found is None:
        return None, None
    limit = int("".join(char for char in found[1] if char.isdigit()))
    if not 0 < limit <= _LIMIT_MAX:
        return None, None
    return _DIMENSIONS[found[2]], limit


def _plan_limit(low: str) -> bool:
    """Say whether it reads ``You've hit your … limit`` or ``… limit reached``, of a plan."""
    if "hit your" in low and "limit" in low:
        return True
    return "limit reached" in low and "rate limit reached" not in low


def _low(text: str) -> str:
    return text[:SPAN_MAX].lower().replace(CURLED, "'")
