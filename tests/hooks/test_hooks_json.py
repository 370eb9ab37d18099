"""hooks.json against the handlers and what the client asks of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from paceline_hooks import dispatch

HOOKS = Path(__file__).parents[2] / "hooks"
TABLE = json.loads((HOOKS / "hooks.json").read_text(encoding="utf-8"))
HANDLERS = {name: group["hooks"][0] for name, (group,) in TABLE["hooks"].items()}
LONG = {"SubagentStart": 3600, "PostToolBatch": 3600, "Stop": 600, "UserPromptSubmit": 600}


def test_every_registered_event_has_a_handler_and_every_handler_is_registered() -> None:
    assert set(HANDLERS) == set(dispatch.EVENTS)
    for name, module in dispatch.EVENTS.items():
        assert (HOOKS / "paceline_hooks" / f"{module}.py").is_file(), name


@pytest.mark.parametrize("name", sorted(HANDLERS))
def test_a_hook_starts_in_exec_form_without_site_packages(name: str) -> None:
    """No shell: spaces in the plugin's path need no quotes, and Windows needs no Git Bash."""
    hook = HANDLERS[name]
    assert hook["type"] == "command"
    assert "sh" not in hook["command"]
    assert hook["args"][-5:] == ["-I", "-S", "-X", "utf8", "${CLAUDE_PLUGIN_ROOT}/hooks/run.py"]
    assert "async" not in hook


@pytest.mark.parametrize("name", sorted(HANDLERS))
def test_only_a_hook_that_may_wait_has_long_to_run(name: str) -> None:
    assert HANDLERS[name]["timeout"] == LONG.get(name, 30)


def test_a_result_starts_a_hook_only_where_it_says_what_the_batch_does_not() -> None:
    """PostToolBatch (2.1.139 and later) brings the exact text of every other result."""
    assert TABLE["hooks"]["PostToolUse"][0]["matcher"] == "Agent|Task|Workflow"


def test_the_gates_own_calls_start_no_hook() -> None:
    """It asks before every request; other tools of the plugin are calls like any."""
    gate, other = (
        "mcp__plugin_paceline_paceline__gate",
        "mcp__plugin_paceline_paceline__budget_status",
    )
    for name in ("PreToolUse", "PostToolUseFailure"):
        matcher = TABLE["hooks"][name][0]["matcher"]
        assert not re.search(matcher, gate)
        assert all(re.search(matcher, tool) for tool in (other, "Read", "Agent", gate + "_x"))


def test_every_module_named_for_the_client_is_there() -> None:
    for module in TABLE.get("modules", []):
        assert module.startswith("./")
        assert (HOOKS / module).is_file()


def test_the_started_file_is_ten_lines_over_a_package() -> None:
    """A script is compiled anew at each start; a package is not."""
    assert len((HOOKS / "run.py").read_text(encoding="utf-8").splitlines()) <= 16
