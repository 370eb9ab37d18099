"""The MCP server of one session: ``paceline-mcp``, over stdin and stdout.

Nothing but protocol goes to stdout; what a person should read goes to stderr. One process a
session, shared by all its agents. Ready in two seconds (``bench/``), which leaves no room for the
Anthropic SDK at import.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from mcp.server import MCPServer

import paceline
from paceline_mcp import tools
from paceline_mcp.office import Office, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping


def make(env: Mapping[str, str] | None = None) -> MCPServer[Office]:
    """Return a server for this environment (by default the process's)."""
    held: list[Office] = []

    @contextlib.asynccontextmanager
    async def lifespan(_: MCPServer[Office]) -> AsyncIterator[Office]:
        async with opened(env) as office:
            held[:] = [office]
            yield office

    server: MCPServer[Office] = MCPServer(
        "paceline",
        version=paceline.__version__,
        # No instructions: they would stand in the prompt of every agent (55 tokens each).
        lifespan=lifespan,
        log_level="WARNING",
    )
    tools.register(server, lambda: held[0])
    return server


def main() -> None:
    """Run the server until its client goes."""
    os.environ.setdefault("PYTHONUTF8", "1")
    make().run("stdio")


if __name__ == "__main__":
    main()
