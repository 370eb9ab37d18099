"""``plan_fanout``: what a fan-out will cost, before it is launched."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Annotated

from mcp_types import ToolAnnotations
from pydantic import Field

from paceline.estimate import fanout
from paceline.estimate.plan import AGENTS_MAX
from paceline.estimate.plan import plan_fanout as planned
from paceline.recovery.words import count
from paceline_mcp.models import Plan
from paceline_mcp.office import Office

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import MCPServer

    from paceline.estimate.plan import Limits
    from paceline.estimate.plan import Plan as Found

PATHS_MAX = 2000
AGENTS_SHOWN = 12


def register(server: MCPServer[Office], current: Callable[[], Office]) -> None:
    """Add ``plan_fanout``."""

    @server.tool(
        description="Expected tokens of a fan-out over files: by agent with a range, least time at "
        "the limit, a width, files too large to read whole. Call it before a large one.",
        annotations=ToolAnnotations(title="Plan a fan-out", read_only_hint=True),
    )
    async def plan_fanout(
        paths: Annotated[list[str], Field(max_length=PATHS_MAX, description="files, globs")],
        agents: Annotated[int | None, Field(ge=1, le=AGENTS_MAX)] = None,
        script: Annotated[str | None, Field(description="a workflow script's path")] = None,
        model: str = "",
    ) -> Plan:
        return await asyncio.to_thread(plan_of, current(), paths, agents, script, model)


def plan_of(
    office: Office, paths: list[str], agents: int | None, script: str | None, model: str
) -> Plan:
    """Return the plan of a fan-out over ``paths``, relative to the project."""
    base = office.env.get("CLAUDE_PROJECT_DIR") or os.getcwd()
    files = fanout.expand(paths, base)
    if script is not None:
        named, seen = fanout.from_script(script, base)
        files = list(dict.fromkeys([*files, *named]))
        agents = agents or seen or None
    limits = fanout.limits_of(office.store.snapshot(), model)
    found = planned(fanout.estimates(files, model, office.env), agents, limits)
    told = fanout.as_json(found, limits)
    told["agents"] = [
        {**agent, "files": len(agent["files"])} for agent in told["agents"][:AGENTS_SHOWN]
    ]
    return Plan(plan=told, advice=advice_of(found, limits))


def advice_of(found: Found, limits: Limits) -> str:
    """Return one line on what to do."""
    if found.unreadable and not any(agent.files for agent in found.agents):
        return "None of these paths holds anything to read: check them, then plan again."
    if found.too_large:
        return (
            f"Too large to read whole: {count(len(found.too_large), 'file')}. Search them, then "
            "read line ranges."
        )
    if found.least_s is None or limits.itpm is None:
        return "No limit is known yet; launch all of them, they are paced by themselves."
    return (
        f"About {found.tokens:,} tokens, at least {found.least_s:,.0f} s at the limit; launch all "
        "of them, they are paced by themselves."
    )
