"""Which agent calls a tool: the call's ``claudecode/toolUseId``, joined with the PreToolUse record.

The client does not send the agent (measured by others, and on client 2.1.332); the id of the tool
call stands in the request's ``_meta`` and in the event log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from paceline_mcp.office import Office

META = "claudecode/toolUseId"


def caller_of(ctx: Context[Office, Any], office: Office) -> str:
    """Return the id of the agent that calls, "" for the main thread or when it is not known."""
    meta = ctx.request_context.meta
    tool_use = dict(meta).get(META) if meta else None
    if not isinstance(tool_use, str):
        return ""
    office.session.refresh()
    return office.session.calls.get(tool_use, "")
