"""``paceline status`` for a person: what an overview says, in lines that fit a terminal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from paceline.recovery.words import count, minutes
from paceline_mcp.cli.output import plain
from paceline_mcp.doctor.limits import WHY
from paceline_mcp.report.run import counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PER_MINUTE = {"requests": "requests", "input": "input tokens", "output": "output tokens"}
RUNS_MAX = 12
NAME = 10
"""Width of the first column."""


def lines(told: Mapping[str, Any], now: float) -> Iterator[str]:
    """Yield the lines of a status."""
    mode = "" if told["mode"] == "pace" else f", mode {told['mode']}: nothing is held"
    yield _line("account", f"{plain(told['account'])}{mode}")
    yield from _limits(told, now)
    for shut in told["closed"]:
        yield _line("closed", _closed(shut, now))
    yield _line("requests", f"{told['waiting']} waiting, {told['reserved']} under way")
    yield from _session(told["session"], now)
    yield _line("today", _today(told["today"]))
    yield from _corrections(told["corrections"])
    for row in told["layers"]:
        yield _line(row["name"].split(",")[0], plain(row["found"]))
    if told["next"]:
        yield _line("next", told["next"])


def _line(name: str, text: str) -> str:
    return f"{name:<{NAME}}  {text}"


def _limits(told: Mapping[str, Any], now: float) -> Iterator[str]:
    if not told["limits"]:
        yield _line("limits", "none known yet; learned from the first refusal")
    for row in told["limits"]:
        why = WHY.get(str(row["source"]), str(row["source"]))
        what = f"{row['limit']:,.0f} {PER_MINUTE[row['dimension']]} a minute"
        ago = f", {minutes(now - row['at'])} ago" if row["at"] else ""
        yield _line("limits", f"{plain(row['family'])}: {what}, {why}{ago}")
    for row in told["buckets"]:
        part = 100.0 * row["level"] / row["capacity"] if row["capacity"] else 0.0
        debt = " (debt: it is paid back before anything goes)" if row["level"] < 0 else ""
        yield _line(
            "level",
            f"{plain(row['family'])}: {row['level']:,.0f} of {row['capacity']:,.0f} "
            f"{PER_MINUTE[row['dimension']]} now, {part:.0f} %{debt}",
        )


def _closed(shut: Mapping[str, Any], now: float) -> str:
    what = f"{shut['cause']}, window {plain(shut['window'])}" if shut["window"] else shut["cause"]
    at = time.strftime("%a %H:%M", time.localtime(shut["until"]))
    kind = "resets" if shut["told"] else "is tried again"
    return f"{plain(shut['family'])} ({what}): {kind} {at}, in {minutes(shut['until'] - now)}"


def _session(session: Mapping[str, Any] | None, now: float) -> Iterator[str]:
    if session is None:
        yield _line("session", "none yet")
        return
    seen = f", last sign of life {minutes(now - session['seen'])} ago" if session["seen"] else ""
    verdict = session["verdict"] if session["runs"] else "no agents were launched"
    yield _line("session", f"{plain(session['session_id'])}: {verdict}{seen}")
    for run in session["runs"][-RUNS_MAX:]:
        yield _line("", _run(run))
    if len(session["runs"]) > RUNS_MAX:
        yield _line("", f"and {len(session['runs']) - RUNS_MAX} earlier runs")


def _run(run: Mapping[str, Any]) -> str:
    parts = counts(run)
    parts += [f"{run[name]} {name}" for name in ("revived", "requeued") if run[name]]
    parts += [f"{run['wasted']:,} tokens wasted"] if run["wasted"] else []
    name = plain(run["name"] or run["run_id"])
    return f"{name} ({run['kind']}): {run['verdict']}; {', '.join(parts)}"


def _today(today: Mapping[str, Any]) -> str:
    if not today["agents"]:
        return "no agents"
    return (
        f"{count(today['agents'], 'agent')}, {today['spent']:,} tokens spent, "
        f"{today['wasted']:,} wasted, about {today['saved_estimate']:,} saved (an estimate)"
    )


def _corrections(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line a family: what its estimates are taken times, by kind."""
    for family in dict.fromkeys(row["family"] for row in rows):
        mine = [row for row in rows if row["family"] == family and row["factor"] != 1.0]
        told = ", ".join(f"{plain(row['kind'])} times {row['factor']:.2f}" for row in mine)
        samples = sum(row["samples"] for row in rows if row["family"] == family)
        learned = f"{told or 'nothing to correct'}, learned from {count(samples, 'request')}"
        yield _line("estimates", f"{plain(family)}: {learned}")
    if rows:
        yield _line("", "to forget that: paceline status --reset-learning")
