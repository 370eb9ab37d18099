"""PostToolUseFailure: a call that brought back an error, or an agent that died."""

from __future__ import annotations

from paceline.estimate import tool as estimator

from . import event as fields
from . import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def handle(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> dict[str, Any] | None:
    """Append ``tool.failed``, of an Agent call with why; say how to bring it back."""
    tool = fields.text_of(event, "tool_name")
    more: dict[str, Any] = {}
    if tool in fields.AGENT_TOOLS:
        from paceline import refusals

        refusal = refusals.from_tool_failure(event, now)
        more = refusal.fields() if refusal is not None else {}
    record.write(
        event,
        env,
        now,
        "tool.failed",
        tool=tool,
        id=fields.id_of(event, "tool_use_id"),
        tokens=estimator.measure_result(tool, event.get("error")),
        interrupted=event.get("is_interrupt") is True,
        **more,
    )
    if not more.get("retryable"):
        return None
    from . import loud

    call = fields.id_of(event, "tool_use_id")
    return loud.after_agent(event, env, now, call=call, child="")
