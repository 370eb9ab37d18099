"""The line Claude gets before a Read that is large against what is left. Pure.

It says what the Read will cost, when the budget allows it, and what costs less; it is built from
numbers alone and quotes no name. At most once a file and agent: the caller remembers.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from paceline.estimate.value import Estimate

ADVISE, NARROW, OFF = "advise", "narrow", "off"
SHARE = 1 / 3
"""A Read over this share of a minute's budget is large."""
SHORT = 10_000
"""So is one over this many tokens, while the budget has less than it costs."""
NARROW_TO = 1 / 6
"""A narrowed Read may cost this share of a minute's budget, or what is left if that is more."""
LINES_LEAST = 50
_MINUTE = 60.0
_TEXT = frozenset(
    ("code", "minified", "json", "data", "table", "web", "prose", "log", "diff", "text")
)


class Advice:
    """What PreToolUse says: a line for Claude and, in narrow mode, the tool's new input."""

    __slots__ = ("text", "updated_input")

    def __init__(self, text: str, updated_input: dict[str, Any] | None = None) -> None:
        self.text = text
        self.updated_input = updated_input


def advise(
    estimate: Estimate,
    *,
    left: float,
    rate: float | None,
    mode: str = ADVISE,
    told: bool = False,
    tool_input: Mapping[str, Any] | None = None,
) -> Advice | None:
    """Return the advice on a Read, or None.

    Args:
        estimate: of the Read.
        left: tokens the budget has now; below 0 in debt.
        rate: tokens a minute it refills by; None when the limit is unknown: no advice then.
        mode: ``advise``, ``narrow`` or ``off``.
        told: whether this agent was already advised on this file.
        tool_input: the Read's input, kept whole but for ``limit`` in narrow mode.
    """
    if mode == OFF or told or rate is None or rate <= 0:
        return None
    cost = estimate.tokens
    if not (cost > rate * SHARE or (cost > SHORT and left < cost)):
        return None
    if mode == NARROW:
        narrowed = _narrowed(estimate, max(left, rate * NARROW_TO), tool_input or {})
        if narrowed is not None:
            return narrowed
    wait = max(0.0, cost - left) / rate * _MINUTE
    when = "now" if wait < 1 else f"in about {_duration(wait)}"
    what = "its first page" if estimate.capped else "it"
    return Advice(
        f"Paceline: this Read costs about {cost:,} tokens ({estimate.low:,} to {estimate.high:,})"
        f" for {what}; the budget of {rate:,.0f} a minute allows that {when}."
        " A Grep and a Read with offset and limit around the hit cost a fraction."
    )


def _narrowed(estimate: Estimate, target: float, tool_input: Mapping[str, Any]) -> Advice | None:
    """Return the Read cut to as many lines as ``target`` tokens hold; None where it cannot be."""
    if estimate.kind not in _TEXT or not estimate.lines or tool_input.get("allow_large") is True:
        return None
    lines = max(LINES_LEAST, int(estimate.lines * target / estimate.tokens))
    if lines >= estimate.lines:
        return None
    offset = tool_input.get("offset")
    first = offset if isinstance(offset, int) and offset > 0 else 1
    cost = estimate.tokens * lines // estimate.lines
    return Advice(
        f"Paceline: this Read was cut to {lines} lines, about {cost:,} of {estimate.tokens:,}"
        f" tokens, as the budget is short. Read on with offset {first + lines} if more is needed.",
        {**tool_input, "limit": lines},
    )


def _duration(seconds: float) -> str:
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min"
