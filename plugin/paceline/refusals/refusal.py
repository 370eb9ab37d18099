"""What a refusal is, whoever saw it. On a hook's path: standard library only."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CAUSES = (
    "throttle",
    "overload",
    "quota",
    "spend",
    "entitlement",
    "auth",
    "invalid",
    "edge",
    "stall",
    "client",
    "unknown",
)
"""Every cause there is, as in the event log (docs/events.md)."""

RETRYABLE = frozenset({"throttle", "overload", "quota", "edge"})
"""Causes after which the same request may be sent again, now or at the reset."""

TEXT_MAX = 300
"""Characters of an error text that are kept."""

SPAN_MAX = 2000
"""Characters of an error text that are looked at."""

_SPACES = frozenset("\t\n\r\v\f\x85\u2028\u2029")


class Refusal:
    """One refusal of the API, or one end of an agent that is none.

    Attributes:
        cause: one of :data:`CAUSES`.
        retryable: whether the same request may be sent again, now or at ``resets_at``.
        resets_at: epoch seconds from which it may succeed, or None when nothing tells.
        approximate: ``resets_at`` was guessed in part (a clock time without its zone).
        window: the plan's window (``five_hour``, ``seven_day``, ``seven_day_opus``, …) or None.
        dimension: ``requests``, ``input``, ``output``, or None.
        limit: the limit of ``dimension`` per minute, or None.
        ramp: the API refuses how fast the use grew, not how much it is.
        text: the API's own words, control characters removed, 300 characters at most.
    """

    __slots__ = (
        "approximate",
        "cause",
        "dimension",
        "limit",
        "ramp",
        "resets_at",
        "retryable",
        "text",
        "window",
    )

    def __init__(
        self,
        cause: str,
        *,
        retryable: bool | None = None,
        resets_at: float | None = None,
        approximate: bool = False,
        window: str | None = None,
        dimension: str | None = None,
        limit: int | None = None,
        ramp: bool = False,
        text: str = "",
    ) -> None:
        self.cause = cause
        self.retryable = cause in RETRYABLE if retryable is None else retryable
        self.resets_at = resets_at
        self.approximate = approximate
        self.window = window
        self.dimension = dimension
        self.limit = limit
        self.ramp = ramp
        self.text = clean(text)

    def fields(self) -> dict[str, Any]:
        """Return the refusal fields of an event line; ``approximate`` and ``ramp`` only if true."""
        found: dict[str, Any] = {
            "cause": self.cause,
            "retryable": self.retryable,
            "resets_at": self.resets_at,
            "window": self.window,
            "dimension": self.dimension,
            "limit": self.limit,
            "text": self.text,
        }
        if self.approximate:
            found["approximate"] = True
        if self.ramp:
            found["ramp"] = True
        return found

    @classmethod
    def of_fields(cls, line: dict[str, Any]) -> Refusal | None:
        """Return what :meth:`fields` wrote into an event line, or None where no cause stands."""
        cause = line.get("cause")
        if not isinstance(cause, str) or cause not in CAUSES:
            return None
        retryable = line.get("retryable")
        return cls(
            cause,
            retryable=retryable if isinstance(retryable, bool) else None,
            resets_at=_number(line.get("resets_at")),
            approximate=line.get("approximate") is True,
            window=_word(line.get("window")),
            dimension=_word(line.get("dimension")),
            limit=_whole(line.get("limit")),
            ramp=line.get("ramp") is True,
            text=line.get("text") or "" if isinstance(line.get("text"), str) else "",
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Refusal) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    def __hash__(self) -> int:
        return hash((self.cause, self.resets_at, self.window, self.text))

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"Refusal({inner})"


def clean(text: str, most: int = TEXT_MAX) -> str:
    """Return ``text`` fit for one line of a terminal: no control or format characters, no runs.

    Escape sequences lose their escape character, so what is left of them is harmless print.
    """
    kept = "".join(
        " " if char in _SPACES else char
        for char in text[: most * 8]
        if char.isprintable() or char in _SPACES
    )
    kept = " ".join(kept.split())
    return kept if len(kept) <= most else kept[: most - 1] + "…"


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _word(value: object) -> str | None:
    return clean(value, 40) if isinstance(value, str) and value else None
