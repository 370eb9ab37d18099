"""Which layers were seen alive in the newest session, and what failed open."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

from paceline import jsonl, paths
from paceline_mcp.doctor.row import Level, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

GATE_FRESH_S = 20.0
TAIL_BYTES = 8 * 1024 * 1024
RECENT_S = 24 * 3600.0
SHOWN = 5
BY_HOOKS = frozenset(
    {"session.start", "prompt", "tool.before", "tool.after", "tool.failed", "batch"}
    | {"agent.start", "agent.stop", "agent.failed", "stop"}
)


def session_rows(env: Mapping[str, str], now: float | None = None) -> list[Row]:
    """Return rows for the hooks, the gate and the faults of the session written to last."""
    now = time.time() if now is None else now
    state = Path(paths.state_dir(env))
    logs = sorted(state.glob("sessions/*/events.jsonl"), key=_written)
    if not logs:
        what = "no session yet; start one with the plugin and come back"
        return [Row("last session", Level.NOTE, what, "claude"), *fault_rows(state, [], now)]
    log = logs[-1]
    lines = _tail(log)
    ago = _ago(now - _written(log))
    name = log.parent.name
    return [
        Row("last session", Level.FINE, f"{name}, written to {ago} ago"),
        _hooks(lines),
        _gate(lines, log.parent, now),
        *fault_rows(state, logs[-SHOWN:], now),
    ]


def _hooks(lines: list[dict[str, Any]]) -> Row:
    seen = Counter(line["e"] for line in lines if line.get("e") in BY_HOOKS)
    if not seen:
        what = "left no trace in that session"
        return Row("hooks", Level.BAD, what, "claude --debug, then look for hook errors")
    counts = f"{_count(sum(seen.values()), 'event')} of {_count(len(seen), 'kind')}"
    return Row("hooks", Level.FINE, f"alive: {counts}")


def _gate(lines: list[dict[str, Any]], folder: Path, now: float) -> Row:
    granted = Counter(str(line.get("by")) for line in lines if line.get("e") == "request.grant")
    grants = ", ".join(f"{count} by the {by}" for by, count in granted.most_common()) or "none"
    if (folder / "gate").exists() and now - _written(folder / "gate") <= GATE_FRESH_S:
        return Row("gate, server", Level.FINE, f"alive now; requests let go: {grants}")
    if granted["gate"]:
        return Row("gate, server", Level.FINE, f"were alive; requests let go: {grants}")
    what = f"not seen there; requests let go: {grants}"
    following = "/plugin in a session: is the server paceline connected? Then: paceline doctor"
    return Row("gate, server", Level.NOTE, what, following)


def fault_rows(state: Path, logs: list[Path], now: float) -> list[Row]:
    """Return one row for all that failed open in the last day, by place and words."""
    found: Counter[str] = Counter()
    for file in (*logs, state / "faults.jsonl"):
        for line in _tail(file):
            at = line.get("t")
            recent = isinstance(at, int | float) and now - at <= RECENT_S
            if line.get("e") == "fault" and recent:
                found[f"{line.get('where')}: {line.get('what')}"] += 1
    reports = [f for f in (state / "reports").glob("*.txt") if now - _written(f) <= RECENT_S]
    rows = []
    if found:
        told = "; ".join(what[:160] for what, _ in found.most_common(SHOWN))
        what = f"{_count(len(found), 'thing')} failed open in the last day: {told}"
        rows.append(Row("faults", Level.NOTE, what, "read the rows above; they name the cause"))
    if reports:
        newest = max(reports, key=_written)
        what = f"{_count(len(reports), 'bug')} left a report, the newest is {newest}"
        rows.append(Row("reports", Level.NOTE, what, "send it to the project"))
    return rows or [Row("faults", Level.FINE, "none in the last day")]


def _tail(file: Path) -> list[dict[str, Any]]:
    """Return the objects in the end of a log; a line cut by where it begins is passed over."""
    try:
        with file.open("rb") as log:
            log.seek(max(0, log.seek(0, 2) - TAIL_BYTES))
            return list(jsonl.objects(log.read()))
    except OSError:
        return []


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _written(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _ago(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
