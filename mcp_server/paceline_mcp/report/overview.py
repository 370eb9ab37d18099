"""All that ``paceline status`` tells, as one JSON value. Pure: what it is made of is passed in."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from paceline import manifest as manifests
from paceline.estimate import learn
from paceline.ledger.belief import believed
from paceline_mcp.report.budget import budget

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paceline.ledger.values import Ledger
    from paceline.ledger.verdicts import Policy
    from paceline_mcp.doctor.row import Row

CENSUS = ("launched", "completed", "dropped", "running", "stopped")
NOTHING = {"spent": 0, "wasted": 0, "saved_estimate": 0, "agents": 0, "completed": 0}
IDLE = "claude, with the plugin on"


def overview(
    ledger: Ledger,
    policy: Policy,
    manifest: Mapping[str, Any],
    session: str,
    rows: Sequence[Row],
    now: float,
    *,
    mode: str,
) -> dict[str, Any]:
    """Return what stands now.

    Args:
        ledger: of the account in use; brought to ``now``.
        policy: of the settings.
        manifest: of every session with a sign of life today.
        session: the newest one's id, or "".
        rows: the doctor's rows of that session (its hooks, its gate, what failed open).
        now: epoch seconds.
        mode: ``pace``, ``observe`` or ``off``.
    """
    stands = budget(ledger, policy, now)
    told = _session(manifest, session)
    found = {
        "account": ledger.account,
        "mode": mode,
        "limits": believed(ledger),
        "buckets": stands["buckets"],
        "waiting": len(stands["waiters"]),
        "reserved": len(stands["reservations"]),
        "closed": stands["closed"],
        "session": told,
        "today": _today(manifest, now),
        "corrections": learn.rows(ledger.corrections),
        "layers": [row.as_json() for row in rows],
    }
    return {**found, "next": _next(found)}


def _session(manifest: Mapping[str, Any], session: str) -> dict[str, Any] | None:
    """Return the newest session: its verdict, and a line's worth of each run."""
    if not session:
        return None
    runs = [run for run in manifest["runs"] if run["session_id"] == session]
    seen = [one["seen"] for one in manifest["sessions"] if one["session_id"] == session]
    return {
        "session_id": session,
        "verdict": manifests.worst(run["verdict"] for run in runs),
        "seen": max((at for at in seen if at), default=None),
        "retryable": sum(bool(agent["retryable"]) for run in runs for agent in run["agents"]),
        **{name: sum(run[name] for run in runs) for name in CENSUS},
        "runs": [
            {
                **{name: run[name] for name in ("run_id", "kind", "name", "verdict", *CENSUS)},
                "revived": sum(agent["revivals"] for agent in run["agents"]),
                "requeued": sum(agent["requeued_as"] is not None for agent in run["agents"]),
                "wasted": run["wasted"],
                "saved_estimate": run["saved_estimate"],
            }
            for run in runs
        ],
    }


def _today(manifest: Mapping[str, Any], now: float) -> dict[str, Any]:
    """Return the tokens of the local day: spent and wasted as reported, saved as estimated."""
    day = time.strftime("%Y-%m-%d", time.localtime(now))
    rows = {row["key"]: row for row in manifests.accounts(manifest, "day")}
    row = rows.get(day, NOTHING)
    return {"day": day, **{name: row[name] for name in NOTHING}}


def _next(found: Mapping[str, Any]) -> str:
    """Return the next thing to type, "" when nothing is to do."""
    session = found["session"]
    bad = any(row["level"] == "bad" for row in found["layers"])
    if session and session["verdict"] == "degraded":
        if session["retryable"]:
            return "paceline requeue"
        return f"paceline manifest --session {session['session_id']}"
    if bad:
        return "paceline doctor"
    if session is None:
        return IDLE
    return "paceline top" if session["verdict"] == "running" else ""


def midnight(now: float) -> float:
    """Return when the local day of ``now`` began (epoch seconds)."""
    day = time.localtime(now)
    return time.mktime((day.tm_year, day.tm_mon, day.tm_mday, 0, 0, 0, 0, 0, -1))
