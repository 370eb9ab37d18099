"""Where refusals are seen, and the fields each place has. Everything here tolerates garbage."""

from __future__ import annotations

from . import resets, wording
from .facts import Facts, Window
from .refusal import SPAN_MAX, Refusal
from .rules import classify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    Headers = Mapping[str, str] | Iterable[tuple[str, str]]

_PLAN = "anthropic-ratelimit-unified-"
_PLAN_WINDOWS = (
    ("5h", "five_hour"),
    ("7d", "seven_day"),
    ("7d_oi", "seven_day_overage_included"),
    ("overage", "overage"),
)
_SPENT = 0.05
"""Share of a limit under which a ``remaining`` header names the dimension that refused."""

_EARLY = "agent terminated early due to an api error:"
_REJECTED = frozenset({"rejected", "rate_limited"})


def from_response(
    status: int, headers: Headers | None, body: bytes | str | dict[str, Any] | None, now: float
) -> Refusal | None:
    """Return what a response of the API refused, or None where it refused nothing.

    Args:
        status: HTTP status; below 400 only an error body (an SSE ``error`` event) is a refusal.
        headers: any mapping or pairs, any case.
        body: JSON text, the parsed object, or a web page.
        now: epoch seconds.
    """
    names = _headers(headers)
    value, raw = _body(body)
    error = value.get("error") if isinstance(value.get("error"), dict) else {}
    error = error if isinstance(error, dict) else {}
    if status < 400 and not error:  # noqa: PLR2004
        return None
    details = error.get("details")
    dimension, limit, whole_at = _spent_dimension(names, now)
    wait = resets.seconds(names.get("retry-after"), now)
    finer = _number(names.get("retry-after-ms"))
    if finer is not None:
        wait = resets.seconds(finer / 1000, now) or wait
    facts = Facts(
        now,
        status=status if status >= 400 else None,  # noqa: PLR2004
        kinds=(_text(error.get("type")),),
        codes=(_text(details.get("error_code")),) if isinstance(details, dict) else (),
        text=_text(error.get("message")) or ("" if value else raw),
        html=_is_html(raw),
        retry_after=wait,
        should_retry=_flag(names.get("x-should-retry")),
        windows=_plan_windows(names, now),
        headers=True,
        dimension=dimension,
        limit=limit,
        resets_at=whole_at,
    )
    return classify(facts)


def from_row(row: Mapping[str, Any], now: float) -> Refusal | None:
    """Return what an error row of a transcript tells, or None for any other row.

    Only ``isApiErrorMessage: true`` on an assistant row counts: what a model wrote or a tool
    returned never does, whatever it says. A reset is counted from the row's own time.
    """
    if row.get("isApiErrorMessage") is not True or row.get("type", "assistant") != "assistant":
        return None
    text = _row_text(row)
    at = row_time(row, now)
    return classify(
        Facts(
            at,
            status=_status(row.get("apiErrorStatus")) or _leading_status(text),
            kinds=(_text(row.get("error")), _text(row.get("apiErrorType"))),
            codes=(_text(row.get("apiErrorCode")), _text(row.get("apiError"))),
            text=text,
            html=_is_html(text),
            windows=_quota_windows(row.get("quotaLimits"), at),
        )
    )


def from_last_rows(rows: Sequence[Mapping[str, Any]], since: float, now: float) -> Refusal | None:
    """Return the refusal a transcript ends with, or None.

    Args:
        rows: the last ones of it, oldest first.
        since: epoch seconds; an older refusal does not count, nor one that an answer followed.
        now: epoch seconds.
    """
    for row in reversed(rows):
        found = from_row(row, now)
        if found is not None:
            return found if row_time(row, now) >= since else None
        if row.get("type") == "assistant":
            return None
    return None


def from_stop_failure(event: Mapping[str, Any], now: float) -> Refusal:
    """Return what a ``StopFailure`` event tells; its last message is the client's error text."""
    text = _text(event.get("last_assistant_message"))
    details = _text(event.get("error_details"))
    return classify(
        Facts(
            now,
            status=_leading_status(details) or _leading_status(text),
            kinds=(_text(event.get("error")),),
            text=text or details,
            html=_is_html(text),
        )
    )


def from_tool_failure(event: Mapping[str, Any], now: float) -> Refusal | None:
    """Return why an ``Agent`` call failed (``PostToolUseFailure``), or None for another tool.

    The text is the first line behind ``Agent terminated early due to an API error:``; what comes
    after it is an agent's partial output and is not looked at. Any other failure is ``client``.
    """
    if event.get("tool_name") not in ("Agent", "Task"):
        return None
    error = _text(event.get("error"))
    start = error.lower().find(_EARLY)
    if event.get("is_interrupt") is True or start != 0:
        known = wording.cause_of(error) == "client"
        return Refusal("client", text=error.split("\n", 1)[0] if known else "")
    return from_death_note(error, now)


def from_death_note(error: str, now: float) -> Refusal:
    """Return what ``Agent terminated early due to an API error: <detail>`` says, prefix or none."""
    line = error[:SPAN_MAX]
    if line.lower().startswith(_EARLY):
        line = line[len(_EARLY) :]
    line = line.strip().split("\n", 1)[0]
    kind, status = "", None
    cut = line.rfind(" (error type ")
    if cut >= 0:
        for part in line[cut + 2 :].rstrip(")").split(", "):
            if part.startswith("error type "):
                kind = part[11:]
            elif part.startswith("HTTP "):
                status = _status(part[5:])
        line = line[:cut]
    return classify(
        Facts(
            now,
            status=status or _leading_status(line),
            kinds=(kind,),
            text=line,
            html=_is_html(line),
        )
    )


def from_result_text(text: str, now: float) -> Refusal | None:
    """Return the refusal a whole agent result is (clients before 2.1.199), or None for a report.

    Such a client gave the error text itself as the result of a "completed" agent. One line that
    begins like the client's error and is known as one; a report that quotes it is longer.
    """
    line = text.strip()
    if not line or "\n" in line or len(line) > 400:  # noqa: PLR2004 - no such text is longer
        return None
    low = line.lower().replace(wording.CURLED, "'")
    if low.startswith(_EARLY):
        return from_death_note(line, now)
    starts = (
        "api error:",
        "you've hit your ",
        "you're out of extra usage",
        "claude ai usage limit",
    )
    if not low.startswith(starts):
        return None
    found = classify(Facts(now, status=_leading_status(line), text=line, html=_is_html(line)))
    return None if found.cause == "unknown" else found


def from_rate_limit_event(info: Mapping[str, Any], now: float) -> Refusal | None:
    """Return what a stream-json ``rate_limit_event`` (or its inner object) refuses, else None.

    ``allowed`` with a rejected overage is the normal state of most plans and refuses nothing; a
    rejected window while usage credits carry on refuses nothing either.
    """
    inner = info.get("rate_limit_info", info)
    if not isinstance(inner, dict):
        return None
    code = _text(inner.get("errorCode"))
    if _text(inner.get("status")) not in _REJECTED and code != "credits_required":
        return None
    if inner.get("isUsingOverage") is True:
        return None
    return classify(
        Facts(now, status=429, codes=(code,), windows=_quota_windows(inner, now), headers=True)
    )


def row_time(row: Mapping[str, Any], now: float) -> float:
    """Return the epoch seconds of a transcript row, or ``now`` where it tells none that can be."""
    from datetime import UTC, datetime

    told = row.get("timestamp")
    if not isinstance(told, str):
        return now
    try:
        when = datetime.fromisoformat(told[:40])
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        at = when.timestamp()
    except (ValueError, OverflowError, OSError):
        return now
    return at if 0 < at <= now + 86400 else now


def _row_text(row: Mapping[str, Any]) -> str:
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content[:SPAN_MAX]
    if isinstance(content, list):
        for block in content:
            if isinstance(block, dict) and isinstance(block.get("text"), str):
                return str(block["text"])[:SPAN_MAX]
    return ""


def _quota_windows(value: object, at: float) -> list[Window]:
    """Return the windows of ``quotaLimits`` or ``rate_limit_info``."""
    if not isinstance(value, dict):
        return []
    name = _text(value.get("rateLimitType"))
    rejected = _text(value.get("status")) in _REJECTED and value.get("isUsingOverage") is not True
    found = [Window(name, rejected=rejected, resets_at=resets.epoch(value.get("resetsAt"), at))]
    more = value.get("unifiedWindows")
    for other, state in more.items() if isinstance(more, dict) else ():
        if not isinstance(state, dict) or other == name:
            continue
        spent = (
            _text(state.get("status")) in _REJECTED or (_number(state.get("utilization")) or 0) >= 1
        )
        reset = resets.epoch(state.get("resetsAt", state.get("resets_at")), at)
        found.append(Window(_text(other), rejected=rejected and spent, resets_at=reset))
    return found


def _plan_windows(names: Mapping[str, str], at: float) -> list[Window]:
    """Return the windows of the ``anthropic-ratelimit-unified-*`` headers."""
    top = names.get(_PLAN + "status", "").lower() in _REJECTED
    claim = names.get(_PLAN + "representative-claim", "")
    found = []
    for short, name in _PLAN_WINDOWS:
        status = names.get(f"{_PLAN}{short}-status", "").lower()
        reset = resets.epoch(names.get(f"{_PLAN}{short}-reset"), at)
        # A rejected overage beside windows that allow is the normal state of most plans.
        spent = status in _REJECTED and (name != "overage" or (top and claim == "overage"))
        if status:
            found.append(Window(name, rejected=spent, resets_at=reset))
    if top and not any(window.rejected for window in found):
        reset = resets.epoch(names.get(_PLAN + "reset"), at)
        found.append(Window(claim, rejected=True, resets_at=reset))
    return found


def _spent_dimension(
    names: Mapping[str, str], at: float
) -> tuple[str | None, int | None, float | None]:
    """Return the dimension whose ``remaining`` is nearly nothing, its limit and its reset."""
    best: tuple[float, str, int, float | None] | None = None
    for short, dimension in (
        ("input-tokens", "input"),
        ("output-tokens", "output"),
        ("requests", "requests"),
    ):
        left = _number(names.get(f"anthropic-ratelimit-{short}-remaining"))
        limit = _number(names.get(f"anthropic-ratelimit-{short}-limit"))
        if left is None or limit is None or limit < 1 or left < 0:
            continue
        share = left / limit
        if share <= _SPENT and (best is None or share < best[0]):
            reset = resets.epoch(names.get(f"anthropic-ratelimit-{short}-reset"), at)
            best = share, dimension, int(limit), reset
    return best[1:] if best else (None, None, None)


def _headers(headers: Headers | None) -> dict[str, str]:
    if headers is None:
        return {}
    pairs: Any = getattr(headers, "items", lambda: headers)()
    return {str(name).lower(): str(value).strip() for name, value in pairs}


def _body(body: bytes | str | dict[str, Any] | None) -> tuple[dict[str, Any], str]:
    if isinstance(body, dict):
        return body, ""
    if isinstance(body, bytes):
        body = body[: 64 * 1024].decode("utf-8", "replace")
    raw = (body or "").strip()
    if raw.startswith("{"):
        from paceline import jsonl

        try:
            value = jsonl.loads(raw)
        except ValueError:
            return {}, raw[:SPAN_MAX]
        if isinstance(value, dict):
            return value, raw[:SPAN_MAX]
    return {}, raw[:SPAN_MAX]


def _is_html(text: str) -> bool:
    low = text[:SPAN_MAX].lower()
    return "<!doctype html" in low or "<html" in low


def _leading_status(text: str) -> int | None:
    """Return the status of ``API Error: 529 …``, ``429 Too …`` or ``Request rejected (429)``."""
    low = text[:100].lower()
    low = low[low.find("api error:") + 10 :].strip() if "api error:" in low else low.strip()
    low = low.removeprefix("repeated ").removeprefix("request rejected (")
    return _status(low[:3]) if low[3:4] in ("", " ", ")", ":") else None


def _status(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:4])
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 400 <= value < 600 else None  # noqa: PLR2004


def _number(value: object) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) < 1e15 else None  # noqa: PLR2004 - leaves nan and inf out


def _flag(value: object) -> bool | None:
    return {"true": True, "false": False}.get(str(value).lower()) if value is not None else None


def _text(value: object) -> str:
    return value[:SPAN_MAX] if isinstance(value, str) else ""
