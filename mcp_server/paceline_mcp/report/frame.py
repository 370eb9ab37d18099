"""One frame of ``paceline top``: its value, and how it is drawn. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paceline.ledger.values import MAIN
from paceline.recovery.words import minutes
from paceline_mcp.cli.output import plain
from paceline_mcp.report.budget import budget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import RenderableType
    from rich.text import Text

    from paceline.ledger.values import Ledger
    from paceline.ledger.verdicts import Policy

ROWS_MAX = 24
BAR = 20
UNITS = {"requests": "requests", "input": "input", "output": "output"}
ORDER = ("waiting", "in flight", "parked", "held", "running", "queued", "dropped", "stopped")
"""States from the top of the table down; who delivered is only counted."""
STYLES = {"waiting": "yellow", "in flight": "green", "parked": "magenta", "dropped": "red"}


def frame(
    ledger: Ledger,
    policy: Policy,
    manifest: Mapping[str, Any],
    counters: Mapping[str, Any],
    session: str,
    now: float,
) -> dict[str, Any]:
    """Return what one frame shows.

    Args:
        ledger: of the account in use; brought to ``now``.
        policy: of the settings.
        manifest: of the session alone.
        counters: of the session (:class:`paceline_mcp.report.counters.Counters`).
        session: its id, or "".
        now: epoch seconds.
    """
    stands = budget(ledger, policy, now)
    return {
        "at": now,
        "account": ledger.account,
        "session_id": session or None,
        "verdict": manifest["verdict"] if manifest["runs"] else None,
        "census": manifest["census"],
        "buckets": stands["buckets"],
        "closed": stands["closed"],
        "waiting": len(stands["waiters"]),
        "reserved": len(stands["reservations"]),
        "counters": dict(counters),
        "agents": _agents(stands, manifest, session),
    }


def _agents(
    stands: Mapping[str, Any], manifest: Mapping[str, Any], session: str
) -> list[dict[str, Any]]:
    """Return who waits, who is in flight and who else is at work, in that order."""
    known = {
        agent["agent_id"]: agent
        for run in manifest["runs"]
        for agent in run["agents"]
        if agent["agent_id"]
    }
    found = [
        _row(one, known, session, state, one[seconds])
        for rows, state, seconds in (
            ("waiters", "waiting", "waited_s"),
            ("reservations", "in flight", "age_s"),
        )
        for one in stands[rows]
    ]
    seen = {row["agent"] for row in found if row["session"] == session}
    found += [
        {
            "agent": ident,
            "label": agent["label"],
            "session": session,
            "state": agent["state"],
            "seconds": agent["held_s"],
            "tokens": None,
            "cause": agent["cause"],
        }
        for ident, agent in known.items()
        if ident not in seen and agent["state"] != "completed"
    ]
    rank = {state: at for at, state in enumerate(ORDER)}
    return sorted(found, key=lambda row: (rank.get(row["state"], len(rank)), -row["seconds"]))


def _row(
    one: Mapping[str, Any],
    known: Mapping[str, Mapping[str, Any]],
    session: str,
    state: str,
    seconds: float,
) -> dict[str, Any]:
    agent = known.get(one["agent"]) if one["session"] == session else None
    label = agent["label"] if agent else None
    return {
        "agent": one["agent"],
        "label": label or (None if one["agent"] else _nameless(one["class"])),
        "session": one["session"],
        "state": state,
        "seconds": seconds,
        "tokens": one["tokens"],
        "cause": None,
    }


def _nameless(cls: str) -> str:
    """Name who asks without an agent's id; a script does with ``paceline ledger reserve``."""
    return "main thread" if cls == MAIN else "a script"


def drawn(told: Mapping[str, Any]) -> RenderableType:
    """Return a frame as rich draws it; whatever its texts hold is plain text there."""
    from rich.console import Group

    return Group(_head(told), *_bars(told), *_closed(told), _table(told))


def _head(told: Mapping[str, Any]) -> Text:
    from rich.text import Text

    census, counts = told["census"], told["counters"]
    line = Text(f"account {plain(told['account'])}", style="bold")
    if told["session_id"]:
        line.append(f"  session {plain(told['session_id'])}  ", style="default not bold")
        line.append(told["verdict"] or "no agents yet", style=VERDICT.get(told["verdict"], ""))
    line.append(
        f"\n{census['completed']} of {census['launched']} delivered, {census['dropped']} dropped, "
        f"{census['running']} at work; {told['waiting']} waiting, {told['reserved']} in flight\n"
        f"{counts['grants']} granted after {minutes(counts['held_s'])} of waiting in all, "
        f"{counts['refusals']} refused, {counts['revivals']} revived, "
        f"{counts['last_minute']:,} input tokens in the last minute",
        style="default not bold",
    )
    return line


VERDICT = {"complete": "green", "running": "yellow", "degraded": "red"}


def _bars(told: Mapping[str, Any]) -> list[RenderableType]:
    from rich.table import Table
    from rich.text import Text

    if not told["buckets"]:
        return [Text("no limit is known yet: nothing is paced", style="dim")]
    table = Table.grid(padding=(0, 1))
    for row in told["buckets"]:
        part = min(1.0, max(0.0, row["level"] / row["capacity"] if row["capacity"] else 0.0))
        full = round(part * BAR)
        bar = Text("█" * full, style="green" if part > 0.25 else "yellow")  # noqa: PLR2004
        bar.append("░" * (BAR - full), style="dim")
        table.add_row(
            Text(plain(row["family"])),
            UNITS[row["dimension"]],
            bar,
            Text(f"{row['level']:,.0f} of {row['capacity']:,.0f}", justify="right"),
            Text(f"{row['per_minute']:,.0f}/min, {plain(row['source'])}", style="dim"),
        )
    return [table]


def _closed(told: Mapping[str, Any]) -> list[RenderableType]:
    from rich.text import Text

    return [
        Text(
            f"{plain(shut['family'])} is closed ({shut['cause']}) for "
            f"{minutes(shut['until'] - told['at'])} more",
            style="bold red",
        )
        for shut in told["closed"]
    ]


def _table(told: Mapping[str, Any]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table("agent", "label", "state", "for", "tokens", box=None, pad_edge=False)
    for row in told["agents"][:ROWS_MAX]:
        state = f"{row['state']}, {row['cause']}" if row["cause"] else row["state"]
        table.add_row(
            Text(plain(row["agent"] or "-")),
            Text(plain(row["label"] or "")),
            Text(state, style=STYLES.get(row["state"], "")),
            Text(minutes(row["seconds"]) if row["seconds"] else "", justify="right"),
            Text(f"{row['tokens']:,}" if row["tokens"] is not None else "", justify="right"),
        )
    left = len(told["agents"]) - ROWS_MAX
    if left > 0:
        table.add_row("", Text(f"and {left} more", style="dim"), "", "", "")
    return table if told["agents"] else Text("nobody waits", style="dim")
