"""Whose end a notification tells of, and whether the log has it yet."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from hook_session import SESSION
from paceline_hooks import closed

if TYPE_CHECKING:
    from hook_session import Hooks

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


@pytest.mark.parametrize("at", [1e12, -1.0, "soon", None])
def test_a_refusal_of_no_known_time_holds_nobody(hooks: Hooks, at: Any) -> None:
    """[P7] The window is open as far as the ledger knows: a damaged line is no reason to wait."""
    hooks.env |= {"PACELINE_MODE": "pace", "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}
    hooks.now = now = time.time()
    hooks.send("UserPromptSubmit", prompt="hello")
    log = hooks.state / "sessions" / SESSION / "events.jsonl"
    with log.open("a", encoding="utf-8") as file:
        refused = line("agent.failed", ALONE, cause="quota") | {"t": at}
        file.write(json.dumps(refused, separators=(",", ":")) + "\n")
    event = {"session_id": SESSION, "transcript_path": ""}
    assert closed.wait(event, hooks.env, now) == now
