"""Tokens against the limit: what was settled a minute, and the line it had to stay under."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from paceline_mcp.report.counters import new_input, number
from paceline_mcp.report.markup import Markup, place, tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 960.0, 200.0, 64.0, 22.0, 10.0
BARS_MAX = 120
MINUTE_S = 60.0


def settled(lines: Iterable[Mapping[str, Any]]) -> list[tuple[float, int]]:
    """Return ``(epoch seconds, input tokens)`` of each settled request of an event log."""
    found = [(number(one.get("t")), new_input(one)) for one in lines if _is_settled(one)]
    return sorted((at, tokens) for at, tokens in found if at)


def _is_settled(line: Mapping[str, Any]) -> bool:
    return line.get("e") == "request.settle"


def slices(
    points: Sequence[tuple[float, int]], most: int = BARS_MAX
) -> list[tuple[float, float, float]]:
    """Return ``(begin, seconds, tokens a minute)`` of equal slices of time, 10 seconds at least."""
    if not points:
        return []
    begun, ended = points[0][0], points[-1][0]
    size = 10.0
    while (ended - begun) / size >= most:
        size = {10.0: 30.0, 30.0: 60.0}.get(size, size * 2)
    first = begun - begun % size
    sums = [0] * (int((ended - first) // size) + 1)
    for at, tokens in points:
        sums[int((at - first) // size)] += tokens
    return [(first + n * size, size, total * MINUTE_S / size) for n, total in enumerate(sums)]


def drawn(points: Sequence[tuple[float, int]], limit: float | None) -> Markup | None:
    """Return the chart as SVG, None where nothing was settled.

    Args:
        points: of :func:`settled`.
        limit: input tokens a minute, or None while none is known.
    """
    bars = slices(points)
    if not bars:
        return None
    highest = max([limit or 0.0, *(rate for _, _, rate in bars), 1.0]) * 1.08
    begun, span = bars[0][0], bars[-1][0] + bars[-1][1] - bars[0][0]

    def x(at: float) -> float:
        return LEFT + (at - begun) / span * (WIDTH - LEFT - 12.0)

    def y(rate: float) -> float:
        return HEIGHT - BOTTOM - rate / highest * (HEIGHT - BOTTOM - TOP)

    parts = [_grid(highest, y)]
    for at, size, rate in bars:
        if rate > 0:
            left, top = x(at), y(rate)
            told = f"{clock(at)}: {rate:,.0f} tokens a minute"
            parts.append(
                tag(
                    "rect",
                    tag("title", told),
                    x=place(left),
                    y=place(top),
                    width=place(max(1.0, x(at + size) - left - 1.0)),
                    height=place(max(0.5, HEIGHT - BOTTOM - top)),
                    class_="spent",
                )
            )
    if limit:
        high = place(y(limit))
        parts.append(tag("line", x1=LEFT, x2=WIDTH - 12.0, y1=high, y2=high, class_="limit"))
        words = f"limit {limit:,.0f} a minute"
        parts.append(tag("text", words, x=WIDTH - 14.0, y=place(y(limit) - 5), class_="limit-name"))
    for at, anchor in ((begun, "start"), (begun + span, "end")):
        parts.append(
            tag("text", clock(at), x=place(x(at)), y=HEIGHT - 6, text_anchor=anchor, class_="axis")
        )
    return tag(
        "svg",
        tag("title", "Uncached input tokens a minute, and the limit"),
        *parts,
        viewBox=f"0 0 {place(WIDTH)} {place(HEIGHT)}",
        role="img",
        class_="chart",
    )


def _grid(highest: float, y: Any) -> Markup:
    step = 10.0 ** len(str(int(highest / 2)))
    while highest / step < 2:  # noqa: PLR2004 - two lines at least
        step /= 2
    parts = []
    rate = 0.0
    while rate <= highest:
        at = place(y(rate))
        parts.append(tag("line", x1=LEFT, x2=WIDTH - 12.0, y1=at, y2=at, class_="grid"))
        words = f"{rate / 1000:,.0f}k" if rate and highest >= 2000 else f"{rate:,.0f}"  # noqa: PLR2004
        parts.append(tag("text", words, x=LEFT - 8, y=place(y(rate) + 4), class_="name"))
        rate += step
    return tag("g", *parts)


def clock(at: float) -> str:
    """Return a local time of day."""
    return time.strftime("%H:%M:%S", time.localtime(at))
