"""The breaker: no new work for an account (or a family) until a known time, then one probe.

States: closed (``until`` 0) → open (now < ``until``) → half-open (one probe is under way) → closed
when a request sent after the opening succeeds, open again when the probe is refused.
An overload opens it too, with a backoff of its own that doubles from try to try; the budget is
untouched by that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paceline.ledger.values import Breaker, Reservation

AFTER_RESET_S = 1.0
"""A printed reset is rounded; a probe waits this much longer."""
PROBE_POLL_S = 1.0
UNKNOWN_QUOTA_S = 60.0
"""A quota refusal without a usable reset is looked at again after this, doubling."""
UNKNOWN_QUOTA_MAX_S = 900.0
OVERLOAD_FIRST_S = 4.0
"""First backoff of an overload: longer than a throttle's, which is the bucket's own refill."""
OVERLOAD_MAX_S = 120.0
RESET_MAX_S = 8 * 86400.0
"""A reset further away than the longest plan window (a week) is absurd."""


def closed_until(
    breaker: Breaker, reservations: Mapping[str, Reservation], now: float
) -> float | None:
    """Return until when a request has to wait because of it, or None when it may go."""
    if breaker.until <= 0:
        return None
    if now < breaker.until:
        return breaker.until
    if breaker.probe in reservations:
        return now + PROBE_POLL_S
    return None


def probed_by(breaker: Breaker, reservation_id: str, now: float) -> None:
    """The first grant after ``until`` is the probe."""
    if 0 < breaker.until <= now:
        breaker.probe = reservation_id


def unprobed(breaker: Breaker, reservation_id: str) -> None:
    """The probe never told anything: the next grant probes."""
    if breaker.probe == reservation_id:
        breaker.probe = ""


def succeeded(breaker: Breaker, reservation_id: str, sent_at: float) -> bool:
    """A request was answered. Return whether that closed the breaker.

    An answer to what was sent before the breaker opened proves nothing.
    """
    if breaker.until <= 0 or (reservation_id != breaker.probe and sent_at < breaker.until):
        return False
    breaker.until, breaker.probe, breaker.cause, breaker.window, breaker.step = 0.0, "", "", "", 0
    return True


def open_quota(breaker: Breaker, resets_at: float | None, window: str, now: float) -> None:
    """A plan's window ran out. With several resets told, the latest counts."""
    breaker.probe = ""
    if resets_at is not None and now < resets_at <= now + RESET_MAX_S:
        until = resets_at + AFTER_RESET_S
        breaker.step = 0
    else:
        until = now + min(UNKNOWN_QUOTA_S * 2.0**breaker.step, UNKNOWN_QUOTA_MAX_S)
        breaker.step = min(breaker.step + 1, 8)
    still = breaker.until if breaker.cause == "quota" and breaker.until > now else 0.0
    breaker.until, breaker.cause, breaker.window = max(until, still), "quota", window


def open_overload(breaker: Breaker, now: float, sent_at: float) -> None:
    """The API is overloaded for everyone. Refusals of one burst count once."""
    breaker.probe = ""
    if breaker.cause == "quota" and breaker.until > now:
        return
    if breaker.cause == "overload" and sent_at < breaker.until - _backoff(breaker.step - 1):
        return
    breaker.until = now + _backoff(breaker.step)
    breaker.cause, breaker.window = "overload", ""
    breaker.step = min(breaker.step + 1, 8)


def _backoff(step: int) -> float:
    return min(OVERLOAD_FIRST_S * 2.0 ** max(0, step), OVERLOAD_MAX_S)
