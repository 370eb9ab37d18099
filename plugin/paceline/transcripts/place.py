"""Which file an agent's rows are written to (seen on clients 2.1.240 and 2.1.332)."""

from __future__ import annotations

import os

from paceline import paths


def of_agent(transcript: str, session: str, agent: str | None) -> str | None:
    """Return an agent's transcript, or the session's own for the main thread; None while none is.

    Args:
        transcript: path of the session's own transcript.
        session: the session's id.
        agent: the agent's id, "" or None for the main thread.
    """
    if not agent:
        return transcript or None
    if not transcript or not paths.is_id(agent) or not paths.is_id(session):
        return None
    home = os.path.join(os.path.dirname(transcript), session, "subagents")
    name = f"agent-{agent}.jsonl"
    plain = os.path.join(home, name)
    if os.path.exists(plain):
        return plain
    runs = os.path.join(home, "workflows")
    try:
        folders = os.listdir(runs)
    except OSError:
        return None
    for folder in folders:
        path = os.path.join(runs, folder, name)
        if os.path.exists(path):
            return path
    return None


def of_session(projects: str, session: str) -> str:
    """Return a session's transcript below the client's ``projects`` folder, or ""."""
    if not paths.is_id(session):
        return ""
    try:
        folders = os.listdir(projects)
    except OSError:
        return ""
    for folder in folders:
        path = os.path.join(projects, folder, f"{session}.jsonl")
        if os.path.exists(path):
            return path
    return ""
