"""PreToolUse: what the call will add to the next request, and who is launched with what.

Nothing is held here: every supported client has ``PostToolBatch``, which comes later and knows the
exact result.
"""

from __future__ import annotations

from paceline.estimate import tool as estimator

from . import event as fields
from . import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LABEL_MAX = 80
ADVISED_LEAST = 5000
"""Tokens a Read has at least for the budget to be looked at."""


def handle(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> dict[str, Any] | None:
    """Append ``tool.before``; before a Read that is large against the budget, say so."""
    tool = fields.text_of(event, "tool_name")
    given = fields.dict_of(event, "tool_input")
    estimate = estimator.estimate_call(tool, given, "", env)
    record.write(
        event,
        env,
        now,
        "tool.before",
        tool=tool,
        id=fields.id_of(event, "tool_use_id"),
        tokens=estimate.tokens,
        low=estimate.low,
        high=estimate.high,
        kind=estimate.kind,
        capped=estimate.capped,
        **(_launch(given) if tool in fields.AGENT_TOOLS else {}),
        **(_completion(given) if tool == "Workflow" else {}),
    )
    if tool != "Read" or estimate.tokens < ADVISED_LEAST:
        return None
    from . import advice

    return advice.before_read(event, env, estimate)


def _launch(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an agent about to be launched. Its prompt is only fingerprinted."""
    import hashlib  # costs a third of a bare start: only for an Agent call

    prompt = given.get("prompt")
    prompt = prompt if isinstance(prompt, str) else ""
    ticket = ""
    if "paceline-ticket:" in prompt:
        from paceline.transcripts import prompts

        ticket = prompts.ticket_in(prompt)
        prompt = prompts.without_ticket(prompt)
    return {
        "label": fields.text_of(given, "description", LABEL_MAX),
        "agent_type": fields.text_of(given, "subagent_type"),
        "model": fields.text_of(given, "model"),
        "prompt_sha": hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        "background": given.get("run_in_background") is True,
        **({"ticket": ticket} if ticket else {}),
    }


def _completion(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the id of the completion script of ours that a workflow is started with."""
    path = given.get("scriptPath")
    if not isinstance(path, str) or "tk_" not in path:
        return {}
    from paceline.transcripts.calls import completion_of

    script = completion_of(path)
    return {"script": script} if script else {}
