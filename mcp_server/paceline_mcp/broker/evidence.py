"""Why a request failed: the error row that the client wrote to the transcript.

The gate sees only that its request came to nothing; the row stands in the transcript of the agent
(or of the session, for the main thread) by then, or a moment later (measured on client 2.1.332).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from paceline import jsonl, paths, refusals

if TYPE_CHECKING:
    from paceline.refusals import Refusal

TAIL = 64 * 1024
PATIENCE_S = 2.0
POLL_S = 0.05
SLACK_S = 0.25


def transcript_of(transcript: str, session: str, agent: str) -> str | None:
    """Return the file that an agent's rows are written to, or None while there is none.

    Args:
        transcript: path of the session's own transcript.
        session: the session's id.
        agent: the agent's id, "" for the main thread.
    """
    if not agent:
        return transcript or None
    if not transcript or not paths.is_id(agent) or not paths.is_id(session):
        return None
    home = Path(transcript).parent / session / "subagents"
    plain = home / f"agent-{agent}.jsonl"
    if plain.exists():
        return str(plain)
    return next((str(p) for p in home.glob(f"workflows/*/agent-{agent}.jsonl")), None)


def find_transcript(session: str, config: str) -> str:
    """Return the session's transcript below the client's folder, or "" when there is none yet."""
    if not paths.is_id(session):
        return ""
    found = Path(config, "projects").glob(f"*/{session}.jsonl")
    return next((str(path) for path in found), "")


def last_rows(path: str, size: int = TAIL) -> list[dict[str, Any]]:
    """Return the objects in the last ``size`` bytes of a transcript, oldest first."""
    try:
        with Path(path).open("rb") as file:
            file.seek(0, os.SEEK_END)
            at = max(0, file.tell() - size)
            file.seek(at)
            data = file.read()
    except OSError:
        return []
    if at:
        data = data[data.find(b"\n") + 1 :]
    return list(jsonl.objects(data))


def refusal_in(rows: list[dict[str, Any]], since: float, now: float) -> Refusal | None:
    """Return the newest refusal among ``rows`` that is not older than ``since``."""
    for row in reversed(rows):
        if row.get("isApiErrorMessage") and refusals.row_time(row, now) >= since - SLACK_S:
            return refusals.from_row(row, now)
        if row.get("type") in {"assistant", "user"}:
            return None
    return None


async def refusal_of(path: str | None, since: float, now: float) -> Refusal | None:
    """Wait for the error row of a request that went at ``since``; None when none comes."""
    if path is None:
        return None
    with anyio.move_on_after(PATIENCE_S):
        while True:
            found = refusal_in(last_rows(path), since, now)
            if found is not None:
                return found
            await anyio.sleep(POLL_S)
    return None
