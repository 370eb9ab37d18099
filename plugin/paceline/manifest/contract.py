"""The manifest as JSON: the outside contract, whose names are kept stable. Pure."""

from __future__ import annotations

from paceline.transcripts import usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .model import Entry, Run, Session

WORST = ("complete", "running", "degraded")
"""Verdicts from good to bad; the manifest's own is the worst of its runs."""

UNVERIFIED = "what did not deliver is unverified, never refuted"


def manifest(sessions: Sequence[Session]) -> dict[str, Any]:
    """Return the manifest of some sessions.

    ``{"runs", "sessions", "verdict", "census"}``: runs oldest first, each with its agents; what is
    told of each session; the worst verdict and the counts over all runs. Times are epoch seconds,
    tokens are counts, ids and causes are as in docs/events.md. Texts are one line, without control
    characters.
    """
    runs = sorted(
        (run for session in sessions for run in session.runs),
        key=lambda run: (run.started_at or 0.0, run.run),
    )
    told = [_run(run) for run in runs]
    return {
        "runs": told,
        "sessions": [_session(session) for session in sessions],
        "verdict": worst(run["verdict"] for run in told),
        "census": _sum(told),
    }


def worst(verdicts: Any) -> str:
    """Return the worst of some verdicts; ``complete`` of none."""
    return max(verdicts, key=WORST.index, default="complete")


def _run(run: Run) -> dict[str, Any]:
    verdict = run.verdict()
    census = run.census()
    tokens = usage.total(*(entry.tokens for entry in run.entries)) if run.entries else usage.none()
    return {
        "run_id": run.run,
        "session_id": run.session,
        "kind": run.kind,
        "name": run.name or None,
        "verdict": verdict,
        "note": _note(verdict, census),
        **census,
        "tokens": tokens,
        "wasted": sum(entry.wasted for entry in run.entries),
        "saved_estimate": sum(entry.saved for entry in run.entries),
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "agents": [_entry(entry) for entry in run.entries],
    }


def _note(verdict: str, census: dict[str, int]) -> str | None:
    if verdict != "degraded":
        return None
    missing = census["launched"] - census["completed"]
    return f"{missing} of {census['launched']} did not deliver: {UNVERIFIED}"


def _entry(entry: Entry) -> dict[str, Any]:
    standing = entry.standing
    refusal = standing.refusal
    last = entry.attempts[-1] if entry.attempts else None
    rows = last.rows if last else None
    return {
        "agent_id": entry.agent_id,
        "label": entry.label or None,
        "agent_type": entry.agent_type or None,
        "model": entry.model or None,
        "state": standing.state,
        "cause": standing.cause,
        "retryable": bool(refusal and refusal.retryable) if standing.cause else None,
        "resets_at": refusal.resets_at if refusal else None,
        "attempts": max(1, len(entry.attempts)) + entry.continued,
        "revivals": entry.revivals,
        "requeued_as": entry.requeued_as,
        "tokens": entry.tokens,
        "wasted": entry.wasted,
        "saved_estimate": entry.saved,
        "transcript": last.transcript or None if last else None,
        "prompt_preview": entry.preview or None,
        # Beyond the contract's first cut:
        "key": entry.key,
        "phase": entry.phase or None,
        "parent": entry.parent or None,
        "replaces": entry.replaces,
        "tickets": [{"ticket": one.ticket, "how": one.how, "t": one.at} for one in entry.tickets],
        "earlier_tickets": entry.earlier_tickets,
        "why": standing.why or None,
        "text": refusal.text or None if refusal and standing.cause else None,
        "window": refusal.window if refusal else None,
        "approximate": bool(refusal and refusal.approximate),
        "deaths": [{"t": at, "cause": death.cause} for at, death in entry.deaths[-20:]],
        "silent_retries": max(0, rows.attempts - rows.answered - len(rows.errors)) if rows else 0,
        "tool_uses": rows.tool_uses if rows else entry.told_tool_uses,
        "edits": sum(one.rows.effects.edits for one in entry.attempts if one.rows),
        "published": sum(one.rows.effects.published for one in entry.attempts if one.rows),
        "partial": rows.partial or None if rows and standing.cause else None,
        "held_s": round(entry.held, 3),
        "prompt_sha": entry.prompt_sha or None,
        "launched_at": entry.launched_at,
        "ended_at": entry.ended_at,
    }


def _session(session: Session) -> dict[str, Any]:
    runs = [{**run.census(), "verdict": run.verdict()} for run in session.runs]
    return {
        "session_id": session.session,
        "account": session.account or None,
        "verdict": worst(run["verdict"] for run in runs),
        "runs": len(runs),
        **_sum(runs),
        "main_tokens": session.main_tokens,
        "main_refusals": len(session.main_errors),
        "incidents": [
            {"cause": cause, "first": first, "last": last, "count": count}
            for cause, first, last, count in session.incidents
        ],
        "unknown_texts": session.unknown,
        "ignored": session.ignored,
        "timeline": session.timeline,
        "seen": session.seen or None,
    }


def _sum(runs: Sequence[dict[str, Any]]) -> dict[str, int]:
    names = ("launched", "completed", "dropped", "running", "stopped")
    return {name: sum(run[name] for run in runs) for name in names}
