"""Whose end a notification tells of, and whether the log has it yet."""

from __future__ import annotations

from typing import Any

import pytest

from paceline_hooks import closed

ALONE, OTHER = "a1111111111111111", "a2222222222222222"
TASK = "w5jdqwrqp"


def line(kind: str, agent: str, **more: Any) -> dict[str, Any]:
    return {"t": 1.0, "e": kind, "agent": agent, **more}


def begins(agent: str, kind: str = "general-purpose") -> dict[str, Any]:
    return line("agent.start", agent, type=kind)


IN_WORKFLOW = "workflow-subagent"


@pytest.mark.parametrize(
    ("lines", "ended", "waits"),
    [
        ([], [TASK], False),
        ([begins(ALONE)], [ALONE], True),
        ([begins(ALONE), line("agent.stop", ALONE)], [ALONE], False),
        ([begins(ALONE), line("agent.failed", ALONE)], [ALONE], False),
        ([begins(ALONE), line("agent.failed", ALONE), begins(ALONE)], [ALONE], True),
        ([begins(ALONE), begins(OTHER), line("agent.stop", ALONE)], [ALONE], False),
        ([begins(ALONE)], [TASK], False),
        ([begins(ALONE, IN_WORKFLOW)], [TASK], True),
        ([begins(ALONE, IN_WORKFLOW), line("agent.failed", ALONE)], [TASK], False),
        ([begins(ALONE, IN_WORKFLOW), begins(OTHER), line("agent.stop", OTHER)], [OTHER], False),
    ],
)
def test_an_end_that_was_told_but_is_not_in_the_log_is_waited_for(
    lines: list[dict[str, Any]], ended: list[str], *, waits: bool
) -> None:
    """[§6 quota] The hooks of both run beside each other, and nothing says which comes first."""
    assert closed.under_way(lines, ended) is waits
