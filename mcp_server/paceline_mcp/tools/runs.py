"""``run_manifest``, ``requeue_dropped`` and ``paceline://manifest/{session}``."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Annotated, Any

from mcp_types import ToolAnnotations
from pydantic import Field

from paceline import manifest, paths, recovery
from paceline.transcripts import find
from paceline_mcp.models import Manifest, Tickets
from paceline_mcp.office import Office

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import MCPServer

ADVICE = {
    "complete": "Every launched agent delivered.",
    "running": "Some agents still work: ask again when they are done.",
    "degraded": "Some agents did not deliver; their part is unverified, not refuted. "
    "Call requeue_dropped.",
}
NO_RUNS = "This session has launched no agents."
AGENTS_SHOWN = 60
"""Agents of one run told at most, those in trouble first: a tool's answer is context."""
TOLD = ("agent_id", "label", "state", "cause", "retryable", "resets_at")
IN_TROUBLE = ("dropped", "parked", "held", "running", "queued", "stopped")


def register(server: MCPServer[Office], current: Callable[[], Office]) -> None:
    """Add the tools of runs and the manifest's resource."""

    @server.tool(
        description="Which agents of this session's fan-outs delivered, run, or were dropped and "
        "why. Call it before you report on a fan-out.",
        annotations=ToolAnnotations(title="Run manifest", read_only_hint=True),
    )
    async def run_manifest(
        *,
        run: str | None = None,
        all_agents: Annotated[
            bool, Field(description="list those that delivered too; else only the others")
        ] = False,
    ) -> Manifest:
        built = await asyncio.to_thread(built_for, current(), current().session.id, run)
        runs = [shown(one, all_agents=all_agents) for one in built["runs"]]
        verdict = manifest.worst(one["verdict"] for one in built["runs"])
        return Manifest(runs=runs, verdict=verdict, advice=ADVICE[verdict] if runs else NO_RUNS)

    @server.tool(
        description="What to run again of the agents that a limit dropped, and how. Idempotent: "
        "asking twice starts nothing twice.",
        annotations=ToolAnnotations(
            title="Requeue dropped agents",
            read_only_hint=False,
            destructive_hint=False,
            idempotent_hint=True,
        ),
    )
    async def requeue_dropped(
        run: str | None = None,
        *,
        others: Annotated[
            bool, Field(description="also those no limit dropped; only when the user asks for them")
        ] = False,
    ) -> Tickets:
        office = current()
        given = await asyncio.to_thread(
            recovery.requeue,
            find.projects_dir(office.env),
            office.state,
            office.session.id,
            run,
            time.time(),
            attempts=office.settings.requeue_attempts,
            others=others,
        )
        return Tickets(
            tickets=given["tickets"],
            scripts=[script_shown(one) for one in given["scripts"]],
            advice=given["advice"] or "Nothing to bring back.",
        )

    @server.resource("paceline://manifest/{session}", mime_type="application/json")
    async def manifest_of(session: str) -> str:
        """Return the whole manifest of a session as JSON text."""
        if not paths.is_id(session):
            return json.dumps({"runs": []})
        return json.dumps(await asyncio.to_thread(built_for, current(), session, None))


def built_for(office: Office, session: str, run: str | None) -> dict[str, Any]:
    """Return a session's manifest, from its events and the client's files."""
    return manifest.build_manifest(
        find.projects_dir(office.env), office.state, session, run, time.time()
    )


def shown(run: dict[str, Any], *, all_agents: bool) -> dict[str, Any]:
    """Return a run as a tool tells it: the census whole, of the agents those in trouble first."""
    agents = [a for a in run["agents"] if all_agents or a["state"] in IN_TROUBLE]
    agents.sort(key=lambda a: a["state"] not in IN_TROUBLE)
    short = [
        {field: agent[field] for field in TOLD if field in agent} for agent in agents[:AGENTS_SHOWN]
    ]
    census = {k: v for k, v in run.items() if isinstance(v, str | int | float | None)}
    return {**census, "agents": short, "agents_left_out": len(agents) - len(short)}


def script_shown(script: dict[str, Any]) -> dict[str, Any]:
    """Return a script without its text, which is in the file and may be long."""
    return {k: v for k, v in script.items() if k != "script"}
