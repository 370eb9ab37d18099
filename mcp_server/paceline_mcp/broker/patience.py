"""How long the client waits for a tool's answer: a person may have made it short."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMITS_MS = ("MCP_TOOL_TIMEOUT", "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT")
"""The client hands its environment on to its servers (2.1.332)."""
SHARE = 0.5
LEAST_S = 0.1


def longest(env: Mapping[str, str]) -> float:
    """Return for how many seconds an answer may be kept back, infinite where nothing limits it."""
    told = [env.get(name, "").strip() for name in LIMITS_MS]
    limits = [int(value) / 1000.0 for value in told if value.isdecimal() and int(value) > 0]
    return max(LEAST_S, SHARE * min(limits)) if limits else float("inf")
