"""The time line: a row an agent, how long it lived, when it was held, refused and brought back."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paceline.recovery.words import minutes
from paceline_mcp.report.markup import Markup, join, place, tag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROWS_MAX = 60
WIDTH, LEFT, TOP, ROW, BAR = 960.0, 190.0, 26.0, 20.0, 12.0
NAME_MAX = 26
STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
TICKS, TICK = 8, 32.0
LEAST_S = 1.0
SAME_S = 0.9
"""One refusal that two layers saw: the next attempt comes a second later at the soonest."""
OVER = frozenset({"completed", "dropped", "stopped"})
RADIUS = {"died": 4.5, "revived": 2.5, "grant": 3.5}
"""What is brought back stands within the refusal it was brought back from."""


@dataclass(slots=True)
class Span:
    """One agent's row. Times are epoch seconds.

    Attributes:
        agent: its id, "" for the main thread.
        label: what it is called.
        state: as in the manifest, "" for the main thread.
        begun, ended: when it lived, or None.
        holds: from when to when it was held.
        marks: ``(time, kind, words)`` of grants, refusals, revivals and deaths.
    """

    agent: str
    label: str
    state: str = ""
    begun: float | None = None
    ended: float | None = None
    holds: list[tuple[float, float]] = field(default_factory=list)
    marks: list[tuple[float, str, str]] = field(default_factory=list)

    def times(self) -> list[float]:
        """Return every time on it."""
        found = [at for hold in self.holds for at in hold] + [mark[0] for mark in self.marks]
        return found + [at for at in (self.begun, self.ended) if at]


def spans(runs: Sequence[Mapping[str, Any]], timeline: Sequence[Mapping[str, Any]]) -> list[Span]:
    """Return the rows of some runs of one session, in the order in which they began."""
    rows = {
        str(agent["agent_id"]): Span(
            str(agent["agent_id"]),
            str(agent["label"] or agent["agent_id"]),
            str(agent["state"]),
            agent["launched_at"],
            agent["ended_at"],
            marks=[(one["t"], "died", f"refused: {one['cause']}") for one in agent["deaths"]],
        )
        for run in runs
        for agent in run["agents"]
        if agent["agent_id"]
    }
    main = Span("", "main thread")
    waits: dict[str, float] = {}
    for event in timeline:
        who = event["agent"] or ""
        span = rows.get(who) if who else main
        if span is not None:
            _take(span, event, waits)
    last = max((at for span in (main, *rows.values()) for at in span.times()), default=0.0)
    for who, since in waits.items():  # still held
        span = rows.get(who) if who else main
        if span is not None:
            span.holds.append((since, max(since, last)))
    for span in rows.values():
        span.marks = _told_once(span.marks)
    found = sorted(rows.values(), key=lambda span: min(span.times(), default=0.0))
    return [main, *found] if main.times() else found


def _told_once(marks: list[tuple[float, str, str]]) -> list[tuple[float, str, str]]:
    """Return the marks in order of time, a refusal that gate and files both tell of once."""
    kept: list[tuple[float, str, str]] = []
    for at, kind, words in sorted(marks):
        just_told = {one[1:] for one in kept if at - one[0] < SAME_S}
        if kind != "died" or (kind, words) not in just_told:
            kept.append((at, kind, words))
    return kept


def _take(span: Span, event: Mapping[str, Any], waits: dict[str, float]) -> None:
    at, who = float(event["t"]), event["agent"] or ""
    what = event["what"]
    if what == "wait":
        waits[who] = at
    elif what == "grant":
        waited = max(0.0, float(event.get("waited") or 0.0))
        begun = min(waits.pop(who, at), at - waited)
        if at - begun >= LEAST_S / 2:
            span.holds.append((begun, at))
        span.marks.append((at, "grant", f"granted after {minutes(waited)}"))
    elif what == "refused":
        span.marks.append((at, "died", f"refused: {event.get('cause', 'unknown')}"))
    elif what == "revived":
        span.marks.append((at, "revived", f"brought back, time {event.get('n', '?')}"))


def drawn(rows: Sequence[Span]) -> Markup | None:
    """Return the time line as SVG, None where nothing has a time."""
    shown = [row for row in rows if row.times()][:ROWS_MAX]
    times = [at for row in shown for at in row.times()]
    if not times:
        return None
    begun, ended = min(times), max(times)
    span = max(LEAST_S, ended - begun)

    def x(at: float) -> float:
        return LEFT + (at - begun) / span * (WIDTH - LEFT - 12.0)

    height = TOP + ROW * len(shown) + 8.0
    parts = [_axis(begun, span, x, height)]
    parts += [_row(row, TOP + ROW * number, x, ended) for number, row in enumerate(shown)]
    return tag(
        "svg",
        tag("title", "Time line: who was held, granted, refused and brought back"),
        *parts,
        viewBox=f"0 0 {place(WIDTH)} {place(height)}",
        role="img",
        class_="spans",
    )


def _axis(begun: float, span: float, x: Any, height: float) -> Markup:
    step = next((one for one in STEPS_S if span / one <= TICKS), STEPS_S[-1])
    first = begun - begun % step + step
    ticks: list[Markup] = []
    at = first
    while at <= begun + span and len(ticks) <= TICKS * 2:
        told = time.strftime("%H:%M:%S" if step < 60 else "%H:%M", time.localtime(at))  # noqa: PLR2004
        across = place(x(at))
        ticks.append(tag("line", x1=across, x2=across, y1=TOP - 6, y2=height - 4, class_="grid"))
        if x(at) < WIDTH - TICK:
            ticks.append(tag("text", told, x=across, y=12, class_="tick"))
        at += step
    return tag("g", *ticks)


def _row(row: Span, top: float, x: Any, last: float) -> Markup:
    middle = top + ROW / 2
    name = row.label if len(row.label) <= NAME_MAX else row.label[: NAME_MAX - 1] + "…"
    parts = [tag("text", name, x=place(LEFT - 10), y=place(middle + 4), class_="name")]
    if row.begun:
        ended = row.ended if row.ended and row.state in OVER else last
        life = f"{row.label}: {row.state}, {minutes(ended - row.begun)}"
        parts.append(_bar(x(row.begun), x(ended), top, f"life {row.state}", life))
    for begun, ended in row.holds:
        parts.append(_bar(x(begun), x(ended), top, "hold", f"held {minutes(ended - begun)}"))
    for at, kind, words in sorted(row.marks):
        across = place(x(at))
        parts.append(
            tag(
                "circle",
                tag("title", words),
                cx=across,
                cy=place(middle),
                r=RADIUS[kind],
                class_=kind,
            )
        )
    return join(parts)


def _bar(left: float, right: float, top: float, kind: str, words: str) -> Markup:
    return tag(
        "rect",
        tag("title", words),
        x=place(left),
        y=place(top + (ROW - BAR) / 2),
        width=place(max(2.0, right - left)),
        height=place(BAR),
        rx=2,
        class_=kind,
    )
