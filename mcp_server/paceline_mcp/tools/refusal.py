"""``report_rate_limit``: an agent or a script tells of a refusal it met itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import Context
from mcp_types import ToolAnnotations
from pydantic import Field

from paceline import refusals
from paceline.errors import PacelineError
from paceline.ledger import prefix, refuse
from paceline_mcp.broker.gate import as_ledger
from paceline_mcp.caller import caller_of
from paceline_mcp.models import Reported
from paceline_mcp.office import Office

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import MCPServer


def register(server: MCPServer[Office], current: Callable[[], Office]) -> None:
    """Add ``report_rate_limit``."""

    @server.tool(
        description="Report a refusal (429, 529, quota) that a script or tool of yours met when it "
        "called the API. Tells how long to wait.",
        annotations=ToolAnnotations(
            title="Report a rate limit",
            read_only_hint=False,
            destructive_hint=False,
            idempotent_hint=True,
        ),
    )
    async def report_rate_limit(
        ctx: Context[Office, Any],
        status: Annotated[int, Field(ge=100, le=599)] = 429,
        headers: dict[str, str] | None = None,
        body: Annotated[str, Field(max_length=20_000)] = "",
        model: str = "",
        reservation: str = "",
    ) -> Reported:
        office = current()
        now = time.time()
        found = refusals.from_response(status, headers or {}, body, now)
        if found is None:
            return Reported(
                cause="none",
                retryable=False,
                advice="That response is no refusal: nothing to wait for.",
            )
        office.session.append(
            "request.refused", caller_of(ctx, office), now, by="tool", **found.fields()
        )
        try:
            answer = await office.desk.told(
                lambda led, at: refuse.refuse(
                    led,
                    prefix.family_told(led, model),
                    as_ledger(found, 0),
                    at,
                    office.policy,
                    reservation_id=reservation,
                )
            )
        except PacelineError as err:
            return Reported(
                cause=found.cause,
                retryable=found.retryable,
                advice=f"{err}. Run `paceline doctor`.",
            )
        wait = max(0.0, answer.not_before - time.time()) if answer.again else 0.0
        return Reported(
            cause=found.cause,
            retryable=answer.again,
            resets_at=found.resets_at,
            limit=found.limit,
            wait_s=round(wait, 1),
            advice=f"Wait {wait:.0f} s, then send it again."
            if answer.again
            else "Do not send it again: waiting will not help. Tell the person.",
        )
