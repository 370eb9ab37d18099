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
RESET_MAX_S = {"five_hour": 6 * 3600.0, "": 8 * 86400.0}
"""A reset further away than the plan's window is long (a week the longest) is absurd."""


def closed_until(
    breaker: Breaker, reservations: Mapping[str, Reservation], now: float
) -> float | None:
    """Return until when a request has to wait because of it, or None when it may go."""
    if breaker.until <= 0:
        return None
    if _is_absurd(breaker, now):
        # The clock was set back since: as absurd as if it had been told now. One probe will tell.
        return now + PROBE_POLL_S if breaker.probe in reservations else None
    if now < breaker.until:
        return breaker.until
    if breaker.probe in reservations:
        return now + PROBE_POLL_S
    return None


def probed_by(breaker: Breaker, reservation_id: str, now: float) -> None:
    """The first grant that an open breaker lets go is the probe."""
    if closed_until(breaker, {}, now) is None and breaker.until > 0:
        breaker.probe = reservation_id


def unprobed(breaker: Breaker, reservation_id: str) -> None:
    """The probe never told anything: the next grant probes."""
    if breaker.probe == reservation_id:
        breaker.probe = ""


def succeeded(breaker: Breaker, reservation_id: str, sent_at: float) -> bool:
    """A request was answered. Return whether that closed the breaker.

    An answer to what was sent before the breaker opened proves nothing.
    """
    if breaker.until <= 0 or (reservation_id != breaker.probe and sent_at <= breaker.opened):
        return False
    breaker.until, breaker.probe, breaker.cause, breaker.window, breaker.step = 0.0, "", "", "", 0
    breaker.opened, breaker.told = 0.0, False
    return True


def open_quota(breaker: Breaker, resets_at: float | None, window: str, now: float) -> None:
    """A plan's window ran out. With several resets told, the latest counts."""
    breaker.probe = ""
    told = resets_at is not None and now < resets_at <= now + _longest(window)
    if told and resets_at is not None:
        until = resets_at + AFTER_RESET_S
        breaker.step = 0
    else:
        until = now + min(UNKNOWN_QUOTA_S * 2.0 ** min(breaker.step, 8), UNKNOWN_QUOTA_MAX_S)
        breaker.step = min(breaker.step + 1, 8)
    if not _is_better(breaker, until, now, told=told):
        breaker.until, breaker.told, breaker.window = until, told, window
    breaker.cause, breaker.opened = "quota", now


def open_overload(breaker: Breaker, now: float, sent_at: float) -> None:
    """The API is overloaded for everyone. Refusals of one burst count once."""
    if breaker.cause == "quota" and breaker.until > now:
        return
    if breaker.cause == "overload" and sent_at <= breaker.opened:
        return
    breaker.probe = ""
    breaker.until = now + _backoff(breaker.step)
    breaker.cause, breaker.window, breaker.opened, breaker.told = "overload", "", now, False
    breaker.step = min(breaker.step + 1, 8)


def _is_better(breaker: Breaker, until: float, now: float, *, told: bool) -> bool:
    """Whether the end that is known is to be kept: an absurd one would close it for good."""
    known = breaker.cause == "quota" and not _is_absurd(breaker, now)
    return known and breaker.told >= told and breaker.until >= until


def _is_absurd(breaker: Breaker, now: float) -> bool:
    """Whether it would end later than its window can be long: the clock was set back since."""
    return breaker.until - now > _longest(breaker.window) + AFTER_RESET_S


def _longest(window: str) -> float:
    return RESET_MAX_S.get(window, RESET_MAX_S[""])


def _backoff(step: int) -> float:
    return min(OVERLOAD_FIRST_S * 2.0 ** max(0, step), OVERLOAD_MAX_S)
