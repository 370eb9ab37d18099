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
_ENDS = (
    "agent terminated early",
    "api error",
    "you've hit your",
    "you\u2019ve hit your",
    "you're out of",
    "you\u2019re out of",
    "claude ai usage limit",
)
"""How a report begins that may be a refusal: nothing is imported to look at any other."""
_HEAD = 40


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

    # Where the report itself is the refusal, the agent's own failure need not be in the log yet.
    child = "" if more.get("retryable") else more["child"]
    return loud.after_agent(event, env, now, call=call, child=child)


def _agent(response: Mapping[str, Any], now: float) -> dict[str, Any]:
    """Return child, status and model; and the refusal where the report is the API's error text.

    Clients call an agent "completed" that had said something before it was refused: the client's
    note of its death is the first text then, what it had said follows (2.1.240, 2.1.332). Before
    2.1.199 the error text alone was the whole report (2.1.139).
    """
    found: dict[str, Any] = {
        "child": fields.id_of(response, "agentId"),
        "status": fields.text_of(response, "status"),
        "model": fields.text_of(response, "resolvedModel"),
    }
    content = response.get("content")
    first = content[0] if isinstance(content, list) and content else None
    text = first.get("text") if isinstance(first, dict) else None
    if isinstance(text, str) and text[:_HEAD].lstrip().lower().startswith(_ENDS):
        from paceline.transcripts.calls import death_in

        refusal = death_in(content, now)
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
