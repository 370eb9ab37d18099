"""Tokens spent, wasted and saved, by run, session or day. Pure.

Spent and wasted were reported by the API (:mod:`paceline.transcripts.usage`): wasted is what agents
that died had paid and nobody went on from. Saved is an estimate: what a revived or continued agent
had already paid when it died, and would have paid again had it been started anew.
"""

from __future__ import annotations

import time

from paceline.transcripts import usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

RUN, SESSION, DAY = "run", "session", "day"
GROUPS = (RUN, SESSION, DAY)


def accounts(manifest: Mapping[str, Any], by: str) -> list[dict[str, Any]]:
    """Return one row a run, session or (local) day.

    ``{"key", "agents", "completed", "tokens", "spent", "wasted", "saved_estimate"}``: counts of
    tokens; ``spent`` leaves cache reads out. A session's own main thread is counted where the
    manifest was built with ``main_tokens``, and only by session.

    Args:
        manifest: as :func:`paceline.manifest.build_manifest` gives it.
        by: ``run``, ``session`` or ``day``.
    """
    rows: dict[str, dict[str, Any]] = {}
    for run in manifest["runs"]:
        for agent in run["agents"]:
            row = rows.setdefault(_key(run, agent, by), _empty())
            row["agents"] += 1
            row["completed"] += agent["state"] == "completed"
            row["tokens"] = usage.total(row["tokens"], agent["tokens"])
            row["wasted"] += agent["wasted"]
            row["saved_estimate"] += agent["saved_estimate"]
    if by == SESSION:
        for session in manifest["sessions"]:
            if session["main_tokens"]:
                row = rows.setdefault(session["session_id"], _empty())
                row["tokens"] = usage.total(row["tokens"], session["main_tokens"])
    return [
        {"key": key, **row, "spent": usage.charged(row["tokens"])}
        for key, row in sorted(rows.items())
    ]


def _key(run: Mapping[str, Any], agent: Mapping[str, Any], by: str) -> str:
    if by == RUN:
        return str(run["run_id"])
    if by == SESSION:
        return str(run["session_id"])
    at = agent["ended_at"] or agent["launched_at"] or run["started_at"] or 0.0
    return time.strftime("%Y-%m-%d", time.localtime(at))


def _empty() -> dict[str, Any]:
    return {
        "agents": 0,
        "completed": 0,
        "tokens": usage.none(),
        "wasted": 0,
        "saved_estimate": 0,
    }
