"""What a hook loads at start: a budget without a clock (docs/start-up.md)."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from paceline import paths
from paceline.ledger import belief
from paceline.ledger.store import FileStore
from process.hook_process import BOUND, command, environment, event

if TYPE_CHECKING:
    from pathlib import Path

EXPENSIVE = {
    "_hashlib",
    "asyncio",
    "concurrent",
    "contextlib",
    "dataclasses",
    "datetime",
    "enum",
    "filelock",
    "hashlib",
    "importlib",
    "inspect",
    "json",
    "logging",
    "pathlib",
    "pydantic",
    "random",
    "re",
    "shutil",
    "site",
    "socket",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "typing",
    "urllib",
    "uuid",
    "zoneinfo",
}
AGENT = {"agent_id": "a6fc8f83dfc56c1e0", "agent_type": "general-purpose"}
READ = {"tool_name": "Read", "tool_use_id": "t1"}
FAST: dict[str, dict[str, Any]] = {
    "PreToolUse": {**AGENT, **READ, "tool_input": {"file_path": __file__}},
    "PostToolUse": {**AGENT, **READ, "tool_response": {"file": {"content": "x\n" * 50}}},
    "PostToolBatch": {**AGENT, "tool_calls": [{**READ, "tool_response": "1\tx\n" * 50}]},
    "SubagentStart": AGENT,
    "SubagentStop": {**AGENT, "last_assistant_message": "done"},
    "UserPromptSubmit": {"prompt": "hello"},
    "Stop": {},
    "SessionEnd": {"reason": "other"},
}
MOST = 50
"""Modules of the dearest hook, the interpreter's own included. Lower it when you can."""


def loaded(name: str, fields: dict[str, Any], state: Path, **more: str) -> set[str]:
    """Return the modules a hook's process loads for one event."""
    start = command()
    start[1:1] = ["-X", "importtime"]
    done = subprocess.run(
        start,
        input=event(name, **fields),
        capture_output=True,
        env=environment(state, **more),
        timeout=BOUND,
        check=True,
    )
    rows = [row for row in done.stderr.decode().splitlines() if row.startswith("import time:")]
    return {row.rsplit("|", 1)[1].strip() for row in rows[1:]}


@pytest.mark.parametrize("name", sorted(FAST))
def test_a_fast_hook_loads_nothing_expensive(name: str, tmp_path: Path) -> None:
    found = loaded(name, FAST[name], tmp_path)
    assert f"paceline_hooks.{_module(name)}" in found, "the list is not what it seems"
    assert not {module.partition(".")[0] for module in found} & EXPENSIVE
    assert len(found) <= MOST, sorted(found)


def test_a_large_read_does_not_load_the_ledger_where_the_budget_is_ample(tmp_path: Path) -> None:
    store = FileStore(paths.ledger_dir(str(tmp_path)), "default")
    store.transact(lambda ledger, at: belief.tell(ledger, "all", "input", 9e6, at, source="set"))
    store.transact(lambda ledger, at: ledger.family("opus-5"))
    file = tmp_path / "large.py"
    file.write_text("a line of ordinary words and (some, signs)\n" * 1500, encoding="utf-8")
    event = {**AGENT, **READ, "tool_input": {"file_path": str(file)}}
    found = loaded("PreToolUse", event, tmp_path, PACELINE_MODE="pace", HOME=str(tmp_path))
    assert "paceline_hooks.advice" in found, "the read is not large"
    assert not {module for module in found if module.startswith("paceline.ledger")}


def test_the_list_would_show_an_expensive_module(tmp_path: Path) -> None:
    """The negative control: starting an agent takes a fingerprint, which loads hashlib."""
    given = {"tool_name": "Agent", "tool_use_id": "t1", "tool_input": {"prompt": "x"}}
    assert "hashlib" in loaded("PreToolUse", given, tmp_path)


def _module(name: str) -> str:
    return "".join("_" + char.lower() if char.isupper() else char for char in name).lstrip("_")
