"""``reserve_budget``, ``settle_budget``, ``budget_status`` and ``paceline://budget``."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import Context
from mcp_types import ToolAnnotations
from pydantic import Field

from paceline.errors import PacelineError
from paceline.ledger import admit, levels, prefix, settle
from paceline.ledger.verdicts import Drop, Grant, Usage, Wait
from paceline_mcp.caller import caller_of
from paceline_mcp.models import BucketRow, Reserved, Settled, Status
from paceline_mcp.office import Office

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import MCPServer

WAIT_MAX_S = 600.0
OWN_LEASE_S = 600.0


def register(server: MCPServer[Office], current: Callable[[], Office]) -> None:
    """Add the budget's tools and its resource."""

    @server.tool(
        description="Reserve input tokens before a script or tool of yours calls the API itself. "
        "Waits up to wait_seconds. Your own requests are paced already: do not reserve for them.",
        annotations=ToolAnnotations(
            title="Reserve budget", read_only_hint=False, destructive_hint=False
        ),
    )
    async def reserve_budget(
        input_tokens: Annotated[int, Field(ge=0, le=10_000_000)],
        ctx: Context[Office, Any],
        model: str = "",
        output_tokens: Annotated[int, Field(ge=0, le=1_000_000)] = 0,
        wait_seconds: Annotated[float, Field(ge=0, le=WAIT_MAX_S)] = 60.0,
    ) -> Reserved:
        office = current()
        agent = caller_of(ctx, office)
        amounts = {"input": float(input_tokens), "output": float(output_tokens)}
        if not output_tokens:
            del amounts["output"]
        asked = {
            "family": await asyncio.to_thread(_family, office, model),
            "session": office.session.id,
            "agent": agent,
            "cls": "new",
            "amounts": amounts,
            # Nobody renews it: a caller that forgets to settle has surely spent it by then.
            "lease": OWN_LEASE_S,
            "spent_if_lost": True,
        }
        ticket = f"b{uuid.uuid4().hex[:16]}"
        waiting = asyncio.create_task(office.desk.ask(ticket, asked))
        done, _ = await asyncio.wait({waiting}, timeout=wait_seconds or 0.05)
        if not done:
            wait_s = await asyncio.to_thread(_wait_of, office, ticket)
            waiting.cancel()
            return Reserved(
                granted=False,
                wait_s=wait_s,
                advice=f"Not yet: about {wait_s:.0f} s to go. Ask again with a longer wait.",
            )
        verdict = waiting.result()
        if isinstance(verdict, Grant):
            office.desk.ended(verdict.reservation)
            advice = verdict.warning or "Granted. Settle it with what the API reports."
            return Reserved(granted=True, reservation=verdict.reservation, advice=advice)
        if isinstance(verdict, Drop):
            wait = max(0.0, (verdict.resets_at or time.time()) - time.time())
            return Reserved(
                granted=False, wait_s=wait, advice="The plan's limit is used up; see budget_status."
            )
        return Reserved(
            granted=True,
            advice="The ledger cannot be used now, so nothing is paced: paceline doctor.",
        )

    @server.tool(
        description="Settle a reservation of reserve_budget with the usage the API reported.",
        annotations=ToolAnnotations(
            title="Settle budget", read_only_hint=False, destructive_hint=False
        ),
    )
    async def settle_budget(
        reservation: str,
        input_tokens: Annotated[int, Field(ge=0, le=10_000_000)],
        cache_creation_tokens: Annotated[int, Field(ge=0, le=10_000_000)] = 0,
        cache_read_tokens: Annotated[int, Field(ge=0, le=10_000_000)] = 0,
        output_tokens: Annotated[int, Field(ge=0, le=1_000_000)] = 0,
    ) -> Settled:
        office = current()
        usage = Usage(input_tokens, cache_creation_tokens, cache_read_tokens, output_tokens)
        try:
            ok = await office.desk.told(
                lambda led, now: settle.settle(led, reservation, usage, now, office.policy)
            )
        except PacelineError as err:
            return Settled(settled=False, advice=f"{err}. Run `paceline doctor`.")
        office.desk.ended(reservation)
        if ok:
            return Settled(settled=True, advice="Settled.")
        return Settled(
            settled=False, advice="No such reservation: it was settled or released before."
        )

    @server.tool(
        description="The account's token budget now: limits believed, levels, what is reserved.",
        annotations=ToolAnnotations(title="Budget status", read_only_hint=True),
    )
    async def budget_status(ctx: Context[Office, Any]) -> Status:
        office = current()
        return await asyncio.to_thread(status_of, office, caller_of(ctx, office))

    @server.resource("paceline://budget", mime_type="application/json")
    async def budget() -> str:
        """Return the same as JSON text."""
        return (await asyncio.to_thread(status_of, current(), "")).model_dump_json()


def _family(office: Office, model: str) -> str:
    return prefix.family_told(office.store.snapshot(), model)


def _wait_of(office: Office, ticket: str) -> float:
    """Return the seconds until a waiting ticket may go, as the ledger's snapshot tells it."""
    ledger = office.store.snapshot()
    now = time.time()
    if ticket not in ledger.tickets:
        return 1.0
    verdict = admit.tick(ledger, [ticket], now, office.policy).get(ticket)
    return max(0.0, verdict.at - now) if isinstance(verdict, Wait) else 1.0


def status_of(office: Office, agent: str) -> Status:
    """Return the status as the ledger's snapshot tells it."""
    ledger = office.store.snapshot()
    now = time.time()
    rows = []
    for name, family in sorted(ledger.families.items()):
        for dimension, bucket in sorted(family.buckets.items()):
            rate = levels.refilled(family, dimension, now, office.policy)
            rows.append(
                BucketRow(
                    family=name,
                    dimension=dimension,
                    limit=round(rate.per_s * 60) if rate else None,
                    capacity=round(rate.capacity) if rate else None,
                    level=round(bucket.level),
                    source=bucket.source or "learned",
                )
            )
    breakers = [f.breaker for f in ledger.families.values() if f.breaker.until > now]
    quota = [b.until for b in breakers if b.cause == "quota"]
    if quota:
        advice = "The plan's limit is used up: start nothing new before it resets."
    elif not rows:
        advice = "No limit is known yet: it is learned from the first refusal."
    else:
        advice = "Fan out freely: requests are paced to the limit by themselves."
    return Status(
        account=ledger.account,
        buckets=rows,
        reserved=len(ledger.reservations),
        waiting=len(ledger.tickets),
        closed_until=max(quota, default=None),
        gate=bool(office.gate.seen),
        agent=agent,
        advice=advice,
    )
