"""A picture of a simulation: tokens against the limit, requests and refusals, agents done.

Needs ``drawsvg`` (the extra ``plot``), which is imported only here.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import drawsvg  # type: ignore[import-untyped]  # it ships no types

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paceline_bench.simulate.outcome import Outcome
    from paceline_bench.simulate.scenario import Scenario

WIDTH, LEFT, RIGHT = 960, 76, 24
HEADER, FOOTER, GAP = 92, 48, 54
SAMPLES = 360
WINDOW_S = 60.0
STEPS_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600)
BARS = 90
INK, FAINT, GRID = "#1f2937", "#6b7280", "#e5e7eb"
COLOURS = ("#2563eb", "#d97706", "#059669", "#7c3aed")
REFUSED = "#dc2626"
FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True, slots=True)
class _Panel:
    """One chart: its place, and the values at its upper edge and at the right."""

    drawing: drawsvg.Drawing
    top: float
    height: float
    most: float
    span: float

    def x(self, seconds: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * seconds / self.span

    def y(self, value: float) -> float:
        return self.top + self.height * (1 - min(value, self.most) / self.most)

    def line(self, points: Sequence[tuple[float, float]], colour: str, **style: Any) -> None:
        flat = [edge for at, value in points for edge in (self.x(at), self.y(value))]
        if len(flat) >= 4:
            style = {"stroke_width": 2, "stroke_linejoin": "round", **style}
            self.drawing.append(drawsvg.Lines(*flat, fill="none", stroke=colour, **style))

    def area(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        closed = [(points[0][0], 0.0), *points, (points[-1][0], 0.0)]
        flat = [edge for at, value in closed for edge in (self.x(at), self.y(value))]
        self.drawing.append(drawsvg.Lines(*flat, fill=colour, fill_opacity=0.14, stroke="none"))

    def text(self, text: str, x: float, y: float, size: float = 12, **style: Any) -> None:
        style = {"fill": FAINT, "font_family": FONT, **style}
        self.drawing.append(drawsvg.Text(text, size, x, y, **style))

    def frame(self, title: str, shown: Callable[[float], str], rows: int = 4) -> None:
        """Draw the title, the grid of about so many rows, and both axes."""
        self.text(title, LEFT, self.top - 10, 13, fill=INK, font_weight="600")
        for value in _ticks(self.most, rows):
            y = self.y(value)
            self.drawing.append(drawsvg.Line(LEFT, y, WIDTH - RIGHT, y, stroke=GRID))
            self.text(shown(value), LEFT - 8, y + 4, 11, text_anchor="end")
        base = self.top + self.height
        self.drawing.append(drawsvg.Line(LEFT, base, WIDTH - RIGHT, base, stroke=FAINT))
        for seconds in _times(self.span):
            x = self.x(seconds)
            self.drawing.append(drawsvg.Line(x, base, x, base + 4, stroke=FAINT))
            self.text(_clock(seconds, self.span), x, base + 17, 11, text_anchor="middle")


def draw(outcomes: Sequence[Outcome], scenario: Scenario) -> str:
    """Return an SVG of one or more runs through the same scenario, the first one filled."""
    span = max([*(_span(outcome) for outcome in outcomes), 1.0]) * 1.01
    heights = [230, *(84 for _ in outcomes), 150]
    tops = [HEADER + sum(heights[:number]) + GAP * number for number in range(len(heights))]
    height = tops[-1] + heights[-1] + FOOTER
    drawing = drawsvg.Drawing(WIDTH, height)
    drawing.append_title("paceline simulate")
    drawing.append(drawsvg.Rectangle(0, 0, WIDTH, height, fill="white"))
    _tokens(drawing, tops[0], heights[0], span, outcomes, scenario)
    for number, outcome in enumerate(outcomes, 1):
        colour = COLOURS[(number - 1) % len(COLOURS)]
        _requests(drawing, tops[number], heights[number], span, outcome, colour)
    _done(drawing, tops[-1], heights[-1], span, outcomes, scenario)
    _header(drawing, outcomes, scenario)
    return str(drawing.as_svg())


def _header(drawing: drawsvg.Drawing, outcomes: Sequence[Outcome], scenario: Scenario) -> None:
    panel = _Panel(drawing, 0, 1, 1, 1)
    sessions = f" in {len(scenario.sessions)} sessions" if len(scenario.sessions) > 1 else ""
    reads = f"{scenario.reads.low:,.0f}" if scenario.reads.kind == "constant" else scenario.reads
    told = {"set": "known", "text": "named by refusals", "hidden": "hidden"}[scenario.told]
    panel.text(
        f"{scenario.agents:,} agents{sessions}, {scenario.requests} requests each, "
        f"reads {reads}; {scenario.api.itpm:,} input tokens a minute, {told}",
        LEFT,
        24,
        15,
        fill=INK,
        font_weight="600",
    )
    x = float(LEFT)
    for outcome, colour in zip(outcomes, COLOURS, strict=False):
        counts = outcome.counts
        told = (
            f"{outcome.pacing}: {counts.delivered:,} of {counts.launched:,} delivered, "
            f"{counts.refusals:,} refusals"
        )
        drawing.append(drawsvg.Line(x, 41, x + 22, 41, stroke=colour, stroke_width=3))
        panel.text(told, x + 28, 45, 12, fill=INK)
        x += 44 + 6.6 * len(told)


def _tokens(
    drawing: drawsvg.Drawing,
    top: float,
    height: float,
    span: float,
    outcomes: Sequence[Outcome],
    scenario: Scenario,
) -> None:
    curves = [_last_minute(outcome, span) for outcome in outcomes]
    steps = scenario.left_for_us()
    limit = max(itpm for _, itpm in steps)
    most = max([limit * 1.25, *(value for curve in curves for _, value in curve)])
    panel = _Panel(drawing, top, height, min(most, limit * 2.4) * 1.05, span)
    limit_is = "the limit less what other tenants take" if scenario.tenants else "the limit"
    panel.frame(f"input tokens taken in the last minute; dashed: {limit_is}", _short)
    for number, curve in reversed(list(enumerate(curves))):
        if not number:
            panel.area(curve, COLOURS[0])
        panel.line(curve, COLOURS[number % len(COLOURS)])
    edges = [*(at for at, _ in steps[1:]), span]
    points: list[tuple[float, float]] = []
    for (since, itpm), until in zip(steps, edges, strict=True):
        if since < span:
            points += [(since, float(itpm)), (min(until, span), float(itpm))]
    panel.line(points, INK, stroke_dasharray="6 4", stroke_width=1.5)


def _requests(
    drawing: drawsvg.Drawing, top: float, height: float, span: float, outcome: Outcome, colour: str
) -> None:
    step = next((s for s in STEPS_S if span / s <= BARS), STEPS_S[-1])
    bins = math.ceil(span / step)
    went, refused = [0] * bins, [0] * bins
    for record in outcome.records:
        at = min(bins - 1, int((record.t - outcome.start) // step))
        (refused if record.outcome == "refused" else went)[at] += 1
    most = max(taken + lost for taken, lost in zip(went, refused, strict=True))
    panel = _Panel(drawing, top, height, max(1, most) * 1.08, span)
    title = f"{outcome.pacing}: requests in {step} s, taken and refused (red)"
    panel.frame(title, lambda value: f"{value:,.0f}", rows=3)
    wide = max(0.8, panel.x(step) - panel.x(0) - 1)
    for at, (taken, lost) in enumerate(zip(went, refused, strict=True)):
        x, middle, edge = panel.x(at * step) + 0.5, panel.y(taken), panel.y(taken + lost)
        bar = drawsvg.Rectangle(x, middle, wide, panel.y(0) - middle, fill=colour)
        drawing.append(bar)
        drawing.append(drawsvg.Rectangle(x, edge, wide, middle - edge, fill=REFUSED))


def _done(
    drawing: drawsvg.Drawing,
    top: float,
    height: float,
    span: float,
    outcomes: Sequence[Outcome],
    scenario: Scenario,
) -> None:
    panel = _Panel(drawing, top, height, scenario.agents * 1.08, span)
    panel.frame("agents that delivered", lambda value: f"{value:,.0f}")
    every = [(0.0, float(scenario.agents)), (span, float(scenario.agents))]
    panel.line(every, FAINT, stroke_dasharray="2 4", stroke_width=1)
    for number, outcome in reversed(list(enumerate(outcomes))):
        colour = COLOURS[number % len(COLOURS)]
        points = [(0.0, 0.0)]
        for n, at in enumerate(sorted(outcome.done), 1):
            points += [(at, n - 1.0), (at, float(n))]
        end = min(span, _span(outcome))
        panel.line([*points, (end, points[-1][1])], colour)
        panel.drawing.append(drawsvg.Circle(panel.x(end), panel.y(points[-1][1]), 3.5, fill=colour))
    unit = "minutes" if span >= 180 else "seconds"
    panel.text(unit, WIDTH - RIGHT, top + height + 34, 11, text_anchor="end")


def _last_minute(outcome: Outcome, span: float) -> list[tuple[float, float]]:
    taken = [r for r in outcome.records if r.outcome != "refused"]
    times = [record.t - outcome.start for record in taken]
    sums = [0.0, *accumulate(float(record.cost) for record in taken)]
    points = []
    for n in range(SAMPLES + 1):
        at = span * n / SAMPLES
        points.append(
            (at, sums[bisect_right(times, at)] - sums[bisect_right(times, at - WINDOW_S)])
        )
    return points


def _span(outcome: Outcome) -> float:
    return max((record.end - outcome.start for record in outcome.records), default=0.0)


def _ticks(most: float, about: int) -> list[float]:
    """Return round values from 0 up to ``most``, about so many."""
    rough = most / about
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * n for n in (1, 2, 2.5, 5, 10) if size * n >= rough)
    if step < 1:
        step = 1.0
    return [step * n for n in range(int(most / step) + 1)]


def _times(span: float) -> list[float]:
    step = next((s for s in STEPS_S if span / s <= 14), math.ceil(span / 14 / 3600) * 3600)
    return [float(step * n) for n in range(int(span / step) + 1)]


def _clock(seconds: float, span: float) -> str:
    return f"{seconds / 60:g}" if span >= 180 else f"{seconds:g}"


def _short(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value / 1e3:g} k" if value >= 1e3 else f"{value:g}"
