"""The tools, one module a subject, and the table that registers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline_mcp.tools import budget, fanout, gate, refusal, runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import MCPServer

    from paceline_mcp.office import Office

SUBJECTS = (gate, budget, refusal, fanout, runs)


def register(server: MCPServer[Office], current: Callable[[], Office]) -> None:
    """Add every tool and resource to the server; ``current`` gives the open office."""
    for subject in SUBJECTS:
        subject.register(server, current)
