"""Which agent calls a tool: the call's ``claudecode/toolUseId``, joined with the PreToolUse record.

The client does not send the agent (measured by others, and on client 2.1.332); the id of the tool
call stands in the request's ``_meta`` and in the event log. Nor does it send the session, which is
another one after ``/clear``: a call that stands in another log just written tells it.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from paceline import paths

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from paceline_mcp.office import Office

META = "claudecode/toolUseId"
JUST_S = 60.0
"""Seconds since a log was written in which a call is looked for."""
TAIL = 1 << 18
"""Bytes at its end that are looked at."""


def caller_of(ctx: Context[Office, Any], office: Office) -> str:
    """Return the id of the agent that calls, "" for the main thread or when it is not known."""
    meta = ctx.request_context.meta
    tool_use = dict(meta).get(META) if meta else None
    if not isinstance(tool_use, str):
        return ""
    office.session.refresh()
    if tool_use not in office.session.calls:
        other = session_of(tool_use, office.state, time.time())
        if other:
            office.gate.follow(other)
            office.session.refresh()
    return office.session.calls.get(tool_use, "")


def session_of(tool_use: str, state: str, now: float) -> str:
    """Return the session in whose log a call of the last minute stands, "" when it stands in none.

    Args:
        tool_use: the call's id.
        state: the state directory.
        now: epoch seconds.
    """
    if not paths.is_id(tool_use):
        return ""
    mark = f'"id":"{tool_use}"'.encode("ascii")
    try:
        folders = [entry.name for entry in os.scandir(os.path.join(state, "sessions"))]
    except OSError:
        return ""
    for session in filter(paths.is_id, folders):
        try:
            with open(paths.events_file(state, session), "rb") as file:
                found = os.fstat(file.fileno())
                if now - found.st_mtime > JUST_S:
                    continue
                file.seek(max(0, found.st_size - TAIL))
                if mark in file.read(TAIL):
                    return session
        except OSError:
            continue
    return ""
