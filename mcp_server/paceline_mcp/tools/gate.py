"""The gate's own tool.

A tool that the client does not list cannot be called by the plugin's module either (tried on
client 2.1.332), so it is listed; its description keeps Claude away from it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from mcp_types import CallToolResult, TextContent, ToolAnnotations

from paceline_mcp.broker.gate import Sent
from paceline_mcp.office import Office

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import MCPServer


def register(server: MCPServer[Office], current: Callable[[], Office]) -> None:
    """Add ``gate``."""

    @server.tool(
        description="Internal to Paceline's module. Never call it.",
        annotations=ToolAnnotations(title="Paceline gate", read_only_hint=False),
        structured_output=False,
    )
    async def gate(
        op: Literal["ask", "began", "done", "refused"],
        call: str = "",
        session: str = "",
        turn: str = "",
        id: str = "",  # noqa: A002 - the wire's name
        agent: str = "",
        model: str = "",
        index: int = 0,
        attempt: int = 0,
        usage: dict[str, Any] | None = None,
        sent: float = 0.0,
        said: str = "",
    ) -> CallToolResult:
        desk = current().gate
        desk.follow(session)
        if op == "ask":
            answer = await desk.ask(call, turn, agent, model, index, attempt)
        elif op == "began":
            answer = await desk.began(id)
        elif op == "done":
            answer = await desk.done(id, usage, model, agent)
        else:
            answer = await desk.refused(id, attempt, said, Sent("", agent, model, sent))
        text = json.dumps(answer, separators=(",", ":"))
        return CallToolResult(content=[TextContent(type="text", text=text)])
