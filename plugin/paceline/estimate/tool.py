"""Any tool call before it runs. On a hook's fast path. What came back: ``result``."""

from __future__ import annotations

import os

from paceline.estimate.read import estimate_read
from paceline.estimate.result import measure_result
from paceline.estimate.value import Estimate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["estimate_call", "measure_result"]

# tool: (kind, tokens, low, high) of its result before anything was learned.
_PRIORS = {
    "Grep": ("search", 500, 20, 6_000),
    "Glob": ("search", 400, 20, 2_500),
    "LS": ("search", 300, 20, 2_500),
    "ToolSearch": ("search", 800, 50, 4_000),
    "Bash": ("shell", 600, 15, 12_000),
    "PowerShell": ("shell", 600, 15, 12_000),
    "BashOutput": ("shell", 600, 15, 12_000),
    "TaskOutput": ("shell", 600, 15, 12_000),
    "Monitor": ("shell", 300, 15, 3_000),
    "WebFetch": ("web", 1_000, 100, 4_000),
    "WebSearch": ("web", 1_500, 300, 6_000),
    "Agent": ("agent", 1_000, 100, 6_000),
    "Task": ("agent", 1_000, 100, 6_000),
    "SendMessage": ("agent", 200, 30, 3_000),
    "Workflow": ("agent", 300, 100, 800),
    "Skill": ("skill", 1_500, 100, 8_000),
    "Edit": ("edit", 60, 30, 600),
    "MultiEdit": ("edit", 60, 30, 900),
    "Write": ("edit", 50, 30, 300),
    "NotebookEdit": ("edit", 80, 30, 600),
}
_MCP = ("mcp", 800, 15, 25_000)
_OTHER = ("other", 100, 10, 1_000)

# What the client lets through (facts in docs/estimator.md): variable, its default, tokens by unit.
_CAPS = {
    "Bash": ("BASH_MAX_OUTPUT_LENGTH", 30_000, 0.4),
    "PowerShell": ("BASH_MAX_OUTPUT_LENGTH", 30_000, 0.4),
    "TaskOutput": ("TASK_MAX_OUTPUT_LENGTH", 30_000, 0.4),
    "Agent": ("TASK_MAX_OUTPUT_LENGTH", 30_000, 0.4),
}
_MCP_CAP = ("MAX_MCP_OUTPUT_TOKENS", 25_000, 1.0)
_GREP_LINE = 25
_CAP_DIGITS = 7


def estimate_call(
    tool_name: str,
    tool_input: Mapping[str, Any],
    model: str = "",
    env: Mapping[str, str] | None = None,
    learned: Mapping[str, float] | None = None,
) -> Estimate:
    """Return what a call's result will add to the next request. Never raises.

    Args:
        tool_name: as in the hook's input.
        tool_input: as in the hook's input; a field of a wrong type counts as absent.
        model: id or alias of the agent's model.
        env: the client's environment, by default this process's.
        learned: factor by kind (``learn.factors``), 1.0 where it is silent.
    """
    fields = tool_input if isinstance(tool_input, dict) else {}
    if tool_name == "Read":
        found = estimate_read(
            fields.get("file_path", ""),
            fields.get("offset"),
            fields.get("limit"),
            pages=_string(fields, "pages") or None,
            model=model,
            env=env,
            allow_large=fields.get("allow_large") is True,
        )
    else:
        found = _prior(tool_name, fields, os.environ if env is None else env)
    return corrected(found, tool_name, learned)


def corrected(found: Estimate, tool_name: str, learned: Mapping[str, float] | None) -> Estimate:
    """Return the estimate times the factor learned for this tool or for its kind."""
    if not learned or found.reason not in ("", "prior"):
        return found
    factor = learned.get(tool_name, learned.get(found.kind, 1.0))
    found.tokens = round(found.tokens * factor)
    found.low = min(round(found.low * factor), found.tokens)
    found.high = max(round(found.high * factor), found.tokens)
    return found


def _prior(tool_name: str, fields: Mapping[str, Any], env: Mapping[str, str]) -> Estimate:
    mcp = tool_name.startswith("mcp__")
    kind, cost, low, high = _MCP if mcp else _PRIORS.get(tool_name, _OTHER)
    cap = _MCP_CAP if mcp else _CAPS.get(tool_name)
    if cap:
        high = int(_number(env.get(cap[0], ""), cap[1]) * cap[2])
    if tool_name == "Grep" and fields.get("output_mode") == "content":
        lines = fields.get("head_limit")
        high = 12_000
        cost = _GREP_LINE * min(lines, 250) if isinstance(lines, int) and lines > 0 else 1_500
    if fields.get("run_in_background") is True:
        cost, low, high = min(cost, 150), min(low, 50), 400
    return Estimate(tool_name, kind, cost, min(low, cost), max(high, cost), reason="prior")


def _number(told: str, default: int) -> int:
    fine = told.isascii() and told.isdigit() and len(told) <= _CAP_DIGITS
    return int(told) if fine and int(told) else default


def _string(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
