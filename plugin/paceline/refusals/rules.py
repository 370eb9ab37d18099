"""The one table that says what a refusal is. Fields first; wording only where fields are silent."""

from __future__ import annotations

from . import resets, wording
from .refusal import RETRYABLE, Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .facts import Facts, Window

LONG_WAIT = 3600.0
"""Seconds: no per-minute bucket takes longer, so a longer ``retry-after`` speaks of a plan."""

_SPEND_CODES = frozenset(
    {
        "enforced_spend_limit_reached",
        "contract_spend_limit_reached",
        "linked_organization_spend_limit_reached",
    }
)
_ENTITLEMENT_CODES = frozenset({"credits_required", "long_context_credits_required"})
_CLIENT_KINDS = frozenset({"max_output_tokens", "max_turns"})
_OVERLOAD_KINDS = frozenset(
    {"overloaded_error", "overloaded", "api_error", "server_error", "timeout_error"}
)
_AUTH_KINDS = frozenset(
    {
        "account_on_hold",
        "authentication_error",
        "authentication_failed",
        "cloud_credential_error",
        "oauth_org_not_allowed",
        "permission_error",
        "verification_required",
    }
)
_INVALID_KINDS = frozenset(
    {
        "invalid_request",
        "invalid_request_error",
        "model_not_found",
        "not_found_error",
        "request_too_large",
    }
)
_RATE_KINDS = frozenset({"rate_limit", "rate_limit_error"})
_ON_TEXT = frozenset({None, 400, 402, 403, 429})
"""Statuses that mean several things, so that the wording has to tell."""


def _worded(*causes: str) -> Rule:
    return lambda facts: facts.status in _ON_TEXT and wording.cause_of(facts.text) in causes


def _used_up(facts: Facts) -> list[Window]:
    return [window for window in facts.windows if window.rejected]


def _plan_window(facts: Facts) -> bool:
    return "usage_limit_reached" in facts.codes or any(
        window.name != "overage" for window in _used_up(facts)
    )


def _ramp(facts: Facts) -> bool:
    return "ramp_limit_exceeded" in facts.codes


def _challenge(facts: Facts) -> bool:
    """Say whether a guard in front of the API answered; the client calls it a failed login."""
    return facts.status in (None, 403, 429) and (
        facts.html or wording.cause_of(facts.text) == "edge"
    )


def _rate(facts: Facts) -> bool:
    return facts.status == 429 or (facts.status is None and bool(facts.kinds & _RATE_KINDS))  # noqa: PLR2004


def _rate_worded_as_plan(facts: Facts) -> bool:
    """Say whether only a text tells of a plan: a quota's words, or a reset behind other words."""
    if not _rate(facts) and facts.kinds:
        return False
    cause = wording.cause_of(facts.text)
    if cause == "quota":
        return True
    return cause is None and _rate(facts) and resets.from_text(facts.text, facts.at)[0] is not None


def _long_wait(facts: Facts) -> bool:
    """Say whether the wait is a plan's, of a response whose plan headers a gateway took away."""
    return _rate(facts) and facts.retry_after is not None and facts.retry_after > LONG_WAIT


def _told_off(facts: Facts) -> bool:
    return _rate(facts) and facts.should_retry is False


def _plain_rate(facts: Facts) -> bool:
    """Say whether it is a 429 whose headers or words are known to speak of no plan."""
    return _rate(facts) and (
        facts.headers or not facts.text or wording.cause_of(facts.text) == "throttle"
    )


if TYPE_CHECKING:
    from collections.abc import Callable

    Rule = Callable[[Facts], bool]

RULES: tuple[tuple[str, Rule], ...] = (
    ("spend", lambda facts: bool(facts.codes & _SPEND_CODES)),
    ("throttle", _ramp),
    ("entitlement", lambda facts: bool(facts.codes & _ENTITLEMENT_CODES)),
    ("client", lambda facts: bool(facts.kinds & _CLIENT_KINDS)),
    ("overload", lambda facts: bool(facts.kinds & _OVERLOAD_KINDS) or (facts.status or 0) >= 500),  # noqa: PLR2004
    ("quota", _plan_window),
    ("spend", lambda facts: bool(_used_up(facts)) or "billing_error" in facts.kinds),
    ("edge", _challenge),
    ("auth", lambda facts: facts.status == 401 or bool(facts.kinds & _AUTH_KINDS)),  # noqa: PLR2004
    ("spend", _worded("spend")),
    ("entitlement", _worded("entitlement")),
    ("invalid", lambda facts: bool(facts.kinds & _INVALID_KINDS)),
    ("overload", _worded("overload")),
    ("quota", _rate_worded_as_plan),
    ("quota", _long_wait),
    ("unknown", _told_off),
    ("throttle", _plain_rate),
    ("unknown", _rate),
    ("auth", lambda facts: facts.status == 403),  # noqa: PLR2004
    ("overload", lambda facts: facts.status in (408, 409)),
    ("invalid", lambda facts: 400 <= (facts.status or 0) < 500),  # noqa: PLR2004
    ("throttle", _worded("throttle")),
    ("auth", _worded("auth")),
    ("invalid", _worded("invalid")),
    ("stall", _worded("stall")),
    ("client", _worded("client")),
)
"""Cause and test, tried in this order; the first that holds decides, none means ``unknown``.

Codes and the plan's windows come first. A bare 429 is a throttle, for a subscriber as for a key: a
plan's refusal carries windows, a code or a reset. A 429 in words nobody has seen yet is
``unknown``: worth another try, and shown by ``doctor``.
"""


def classify(facts: Facts) -> Refusal:
    """Return what the facts say. Pure; never raises on odd values."""
    cause = next((cause for cause, holds in RULES if holds(facts)), "unknown")
    resets_at, approximate = _reset(facts, cause)
    dimension, limit = _dimension(facts, cause)
    return Refusal(
        cause,
        retryable=_retryable(facts, cause),
        resets_at=resets_at,
        approximate=approximate,
        window=_window(facts, cause),
        dimension=dimension,
        limit=limit,
        ramp=_ramp(facts),
        text=facts.text,
    )


def _retryable(facts: Facts, cause: str) -> bool:
    if cause == "unknown":
        return _rate(facts) and facts.should_retry is not False
    return cause in RETRYABLE


def _reset(facts: Facts, cause: str) -> tuple[float | None, bool]:
    """Return when to come back: the latest used-up window, else the headers, else the text."""
    told = [window.resets_at for window in _used_up(facts) if window.resets_at is not None]
    if told and cause in ("quota", "spend"):
        return max(told), False
    if facts.retry_after is not None:
        return facts.at + facts.retry_after, False
    if facts.resets_at is not None:
        return facts.resets_at, False
    return resets.from_text(facts.text, facts.at)


def _window(facts: Facts, cause: str) -> str | None:
    """Return the window that binds: of several, the one that resets last."""
    if cause not in ("quota", "spend"):
        return None
    rejected = _used_up(facts)
    if rejected:
        named = max(rejected, key=lambda window: window.resets_at or 0.0).name
        if named:
            return named
    return wording.window_of(facts.text) if cause == "quota" else None


def _dimension(facts: Facts, cause: str) -> tuple[str | None, int | None]:
    if cause != "throttle" or _ramp(facts):
        return None, None
    dimension, limit = wording.limit_of(facts.text)
    if dimension is not None:
        return dimension, limit
    return facts.dimension, facts.limit
