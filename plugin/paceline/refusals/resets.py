"""When a limit resets, read from fields and from the client's texts.

The texts are those of the client: a clock time, a weekday or a date, mostly with a zone's name
behind it (``resets 3:20am (America/New_York)``), an ISO time, an epoch after a bar, or a span
(``try again in 60 seconds``). A clock time is the first such time after the refusal.
"""

from __future__ import annotations

from .refusal import SPAN_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime, tzinfo
    from re import Match

RETRY_AFTER_MAX = 8 * 86400.0
"""Seconds: a weekly window and a day. A longer ``retry-after`` is no use to anyone."""

EPOCH_MAX = 40 * 86400.0
"""Seconds ahead a reset given as a number may lie: a calendar month and some."""

MINUTE_S = 60.0
"""The client cuts a clock time to its minute (2.1.240): one of this very minute is to come."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SPANS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

_PATTERN = r"""
(?:\breset(?:s|ting)?\b(?:\ (?:at|on))?|\bavailable\ again\ at)\ +
(?:
  (?P<year>\d{4})-(?P<mon>\d\d)-(?P<mday>\d\d)[T\ ]
    (?P<ih>\d\d):(?P<im>\d\d)(?::(?P<isec>\d\d)(?:\.\d+)?)?\ ?(?P<iz>Z|UTC|GMT|[+-]\d\d:?\d\d)?
| (?:(?P<day>mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\ +(?:at\ +)?
   |(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\ +(?P<date>\d{1,2})
     (?:,?\ +(?P<cyear>20\d\d))?,?\ +(?:at\ +)?)?
  (?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\ ?(?P<half>[ap]\.?m\b\.?)?
  (?:\ *\((?P<zone>[A-Za-z][A-Za-z0-9_+/-]{0,63})\)|\ (?P<utc>UTC|GMT)\b)?
)
"""
_SPAN = r"(?:try again|resets?|retry(?:ing)?) (?:in|after) (\d{1,7}) ?(s|m|h|d)(?:ec|in|our|ay|\b)"
_BAR = r"limit reached\|(\d{9,13})\b"


def epoch(value: object, at: float, most: float = EPOCH_MAX) -> float | None:
    """Return a reset given as a field (epoch seconds or milliseconds, ISO text), checked.

    None when it is none of these, not after ``at``, or more than ``most`` seconds ahead.
    """
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return _iso(str(value), at, most)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if value > 1e11:  # noqa: PLR2004 - no epoch in seconds is that large before the year 5138
        value = value / 1000
    return float(value) if at < value <= at + most else None


def seconds(value: object, at: float) -> float | None:
    """Return ``retry-after`` in seconds (a number or an HTTP date), or None for an absurd one."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = _http_date(str(value), at)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 < value <= RETRY_AFTER_MAX else None


def from_text(text: str, at: float) -> tuple[float | None, bool]:
    """Return the latest reset a text names after ``at``, and whether it is approximate."""
    text = text[:SPAN_MAX]
    low = text.lower()
    if not any(word in low for word in ("reset", "|", "again", "retry")):
        return None, False
    import re

    found: list[tuple[float, bool]] = []
    for match in re.finditer(_PATTERN, text, re.IGNORECASE | re.VERBOSE):
        reset = _named(match, at)
        if reset is not None:
            found.append(reset)
    for bar in re.finditer(_BAR, text, re.IGNORECASE):
        told = epoch(int(bar[1]), at)
        if told is not None:
            found.append((told, False))
    for span in re.finditer(_SPAN, low):
        wait = seconds(int(span[1]) * _SPANS[span[2]], at)
        if wait is not None:
            found.append((at + wait, False))
    return max(found, default=(None, False))


def _named(match: Match[str], at: float) -> tuple[float, bool] | None:
    """Return the time a match of ``_PATTERN`` names; None where it cannot be (25:00, Feb 31)."""
    if match["year"]:
        return _dated(match, at)
    hour = _hour(match)
    if hour is None:
        return None
    zone, guessed = _zone(match["zone"] or match["utc"])
    try:
        reset = _next(match, at, hour, zone)
    except (ValueError, OverflowError, OSError):
        return None
    return None if reset is None else (reset, guessed)


def _dated(match: Match[str], at: float) -> tuple[float, bool] | None:
    told = f"{match['year']}-{match['mon']}-{match['mday']}T{match['ih']}:{match['im']}"
    told += f":{match['isec'] or '00'}"
    zone = (match["iz"] or "").upper()
    reset = _iso(told + ("+00:00" if zone in ("Z", "UTC", "GMT") else zone), at, 400 * 86400.0)
    return None if reset is None else (reset, not zone)


def _hour(match: Match[str]) -> tuple[int, int] | None:
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    half = (match["half"] or "").lower()
    if half:
        if not 1 <= hour <= 12:  # noqa: PLR2004 - a twelve-hour clock
            return None
        hour = hour % 12 + (12 if half[0] == "p" else 0)
    elif match["minute"] is None:
        return None  # "resets 5" names no time
    return (hour, minute) if hour < 24 and minute < 60 else None  # noqa: PLR2004


def _next(match: Match[str], at: float, hour: tuple[int, int], zone: tzinfo | None) -> float | None:
    """Return the first time after ``at`` that shows this hour (and weekday, or date).

    Of the minute that ``at`` is in, its end.
    """
    from datetime import datetime, timedelta

    here = datetime.fromtimestamp(at, zone)  # None: the machine's own zone
    start = here.replace(hour=hour[0], minute=hour[1], second=0, microsecond=0, fold=0)
    if match["month"]:
        return _next_date(match, at, start)
    step = 1
    if match["day"]:
        step = 7
        ahead = _DAYS.index(match["day"].lower()) - start.weekday()
        start += timedelta(days=ahead % 7)
    return _to_come(start, at) or (start + timedelta(days=step)).timestamp()


def _to_come(shown: datetime, at: float) -> float | None:
    """Return when that is shown after ``at``, or in its minute; None when it is past.

    In the hour that a clock set back shows twice, the second time counts as well.
    """
    for fold in (0, 1):
        reset = shown.replace(fold=fold).timestamp()
        if reset > at - MINUTE_S:
            return reset if reset > at else reset + MINUTE_S
    return None


def _next_date(match: Match[str], at: float, start: datetime) -> float | None:
    month = _MONTHS.index(match["month"].lower()) + 1
    if match["cyear"]:
        years: tuple[int, ...] = (int(match["cyear"]),)
    else:
        years = (start.year, start.year + 1)
    for year in years:
        try:
            reset = _to_come(start.replace(year=year, month=month, day=int(match["date"])), at)
        except ValueError:
            continue
        if reset is not None and reset <= at + 400 * 86400.0:
            return reset
    return None


def _zone(name: str | None) -> tuple[tzinfo | None, bool]:
    """Return the zone of that name and whether the machine's own (None) had to stand in for it.

    Windows has no zone files without the ``tzdata`` package. The client prints the zone of the
    machine it runs on, so the machine's own is the best guess there, and it is called a guess.
    """
    if name is None:
        return None, True
    from datetime import UTC

    if name.upper() in ("UTC", "GMT", "ETC/UTC"):
        return UTC, False
    try:
        from zoneinfo import ZoneInfo

        return ZoneInfo(name), False
    except (ImportError, KeyError, ValueError, OSError):
        return None, True


def _iso(text: str, at: float, most: float) -> float | None:
    from datetime import UTC, datetime

    try:
        told = datetime.fromisoformat(text.strip()[:40])
        if told.tzinfo is None:
            told = told.replace(tzinfo=UTC)
        value = told.timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return value if at < value <= at + most else None


def _http_date(text: str, at: float) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text[:64]).timestamp() - at
    except (ValueError, TypeError, IndexError, OverflowError, OSError):
        return None
