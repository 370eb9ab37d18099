"""PostToolUse: which agent or workflow a call became, and what any call brought back."""

from __future__ import annotations

from paceline.estimate import tool as estimator

from . import event as fields
from . import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
"""Tools whose answer here holds whole files, of which the model is shown a few lines."""


def handle(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> dict[str, Any] | None:
    """Append ``tool.after``; where a "completed" agent had died, say how to bring it back."""
    tool = fields.text_of(event, "tool_name")
    more: dict[str, Any] = {}
    shown = response = event.get("tool_response")
    if isinstance(response, dict):
        if tool in fields.AGENT_TOOLS:
            shown = response.get("content")
            more = _agent(response, now)
        elif tool == "Workflow":
            more = _workflow(response)
    if tool in _EDITS:
        tokens = estimator.estimate_call(tool, {}, "", env).tokens
    else:
        tokens = estimator.measure_result(tool, shown)
    call = fields.id_of(event, "tool_use_id")
    record.write(event, env, now, "tool.after", tool=tool, id=call, tokens=tokens, **more)
    if not more.get("child"):
        return None
    from . import loud

    return loud.after_agent(event, env, now, call=call, child=more["child"])


def _agent(response: Mapping[str, Any], now: float) -> dict[str, Any]:
    """Return child, status and model; and the refusal where the report is the API's error text.

    Clients before 2.1.199 end an agent that was refused as "completed" (seen on 2.1.139).
    """
    found: dict[str, Any] = {
        "child": fields.id_of(response, "agentId"),
        "status": fields.text_of(response, "status"),
        "model": fields.text_of(response, "resolvedModel"),
    }
    content = response.get("content")
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        text = content[0].get("text")
        if isinstance(text, str) and "API Error" in text[:80]:
            from paceline import refusals

            refusal = refusals.from_result_text(text, now)
            if refusal is not None:
                found.update(refusal.fields())
    return found


def _workflow(response: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "run": fields.id_of(response, "runId"),
        "dir": fields.text_of(response, "transcriptDir", fields.PATH_MAX),
        "status": fields.text_of(response, "status"),
        "task": fields.id_of(response, "taskId"),
    }
