"""Whether the plugin is in a command, and what is set for the client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from paceline_mcp.headless import plugin
from paceline_mcp.headless.command import read
from paceline_mcp.headless.variables import for_client

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def enabled(tmp_path: Path, *words: str) -> bool:
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "home")}
    return plugin.enabled(read(["claude", "-p", *words]), env, str(tmp_path))


ON = {"enabledPlugins": {"paceline@paceline": True, "other@x": True}}
OFF = {"enabledPlugins": {"paceline@paceline": False}}


def test_without_a_sign_there_is_none(tmp_path: Path) -> None:
    assert not enabled(tmp_path)
    write(tmp_path / "home" / "settings.json", "{not json")
    write(tmp_path / ".claude" / "settings.json", {"enabledPlugins": ["paceline"]})
    assert not enabled(tmp_path)


@pytest.mark.parametrize(
    "place", ["home/settings.json", ".claude/settings.json", ".claude/settings.local.json"]
)
def test_an_enabled_plugin_is_seen_in_each_settings_file(tmp_path: Path, place: str) -> None:
    write(tmp_path / place, ON)
    assert enabled(tmp_path)
    assert not enabled(tmp_path, "--bare")
    assert not enabled(tmp_path, "--safe-mode")


def test_the_nearer_file_counts(tmp_path: Path) -> None:
    write(tmp_path / "home" / "settings.json", ON)
    write(tmp_path / ".claude" / "settings.json", OFF)
    assert not enabled(tmp_path)
    write(tmp_path / "more.json", ON)
    assert enabled(tmp_path, "--settings", "more.json")


def test_a_folder_given_on_the_command_line_is_looked_into(tmp_path: Path) -> None:
    write(tmp_path / "one" / ".claude-plugin" / "plugin.json", {"name": "paceline"})
    write(tmp_path / "two" / ".claude-plugin" / "plugin.json", {"name": "else"})
    assert enabled(tmp_path, "--plugin-dir", "one")
    assert enabled(tmp_path, f"--plugin-dir={tmp_path / 'one'}")
    assert enabled(tmp_path, "--plugin-dir", str(tmp_path))
    assert not enabled(tmp_path, "--plugin-dir", "two")
    assert not enabled(tmp_path, "--plugin-dir", "missing")


def test_the_checkout_is_the_plugin(tmp_path: Path) -> None:
    assert enabled(tmp_path, "--plugin-dir", plugin.folder_to_add())


def test_what_a_person_set_is_left_as_it_is() -> None:
    mine = {"CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS": "5", "CLAUDE_CODE_MAX_RETRIES": "1", "A": "b"}
    assert for_client(mine, "/s", paced=False) == {**mine, "PACELINE_STATE_DIR": "/s"}


def test_an_unpaced_client_tries_longer_and_waits_for_its_background_agents() -> None:
    told = for_client({"CLAUDE_CODE_MAX_RETRIES": ""}, "/s", paced=False)
    assert told["CLAUDE_CODE_MAX_RETRIES"] == "15"
    assert told["CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS"] == "0"
    watchdog = {"CLAUDE_CODE_RETRY_WATCHDOG": "1"}
    assert "CLAUDE_CODE_MAX_RETRIES" not in for_client(watchdog, "/s", paced=False)


def test_a_paced_clients_retries_are_the_gates_business() -> None:
    assert "CLAUDE_CODE_MAX_RETRIES" not in for_client({}, "/s", paced=True)
