"""Settings that cannot be used, and settings of others that silence Paceline."""

from __future__ import annotations

import sys
from pathlib import Path

from paceline import settings
from paceline_mcp.configured import configured, object_in, settings_file
from paceline_mcp.doctor.row import Level, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MANAGED = {
    "darwin": "/Library/Application Support/ClaudeCode",
    "win32": r"C:\Program Files\ClaudeCode",
}
MANAGED_ELSEWHERE = "/etc/claude-code"
SILENCERS = {
    "disableAllHooks": "turns off every hook and the gate",
    "allowManagedHooksOnly": "lets only an administrator's hooks and modules run",
    "allowManagedModsOnly": "keeps the gate from loading; the hooks pace alone",
    "disableSideloadFlags": "refuses --plugin-dir",
}
"""Keys of the client's settings, and what they do to Paceline when they are true."""


def settings_rows(env: Mapping[str, str], managed: Path | None = None) -> list[Row]:
    """Return a row for what a person set, and one for each file that silences a layer."""
    managed = managed or Path(MANAGED.get(sys.platform, MANAGED_ELSEWHERE))
    own = settings_file(env)
    files = [managed / "managed-settings.json"]
    files += sorted((managed / "managed-settings.d").glob("*.json"))
    rows = [_person(env)]
    for file in (*files, own):
        rows += _silenced(file)
    return rows


def _person(env: Mapping[str, str]) -> Row:
    env = {**configured(env), **env}
    wrong = settings.problems(env)
    if wrong:
        return Row("settings", Level.BAD, " ".join(wrong), "correct it, then: paceline doctor")
    told = settings.load(env)
    if told.mode != settings.PACE:
        what = f"mode is {told.mode}: nothing is held or brought back"
        return Row("settings", Level.NOTE, what, "set the mode to pace in /plugin, paceline")
    return Row("settings", Level.FINE, "all can be used")


def _silenced(file: Path) -> list[Row]:
    found = [key for key in SILENCERS if object_in(file).get(key) is True]
    rows = []
    for key in found:
        level = Level.NOTE if key in {"allowManagedModsOnly", "disableSideloadFlags"} else Level.BAD
        following = "ask who manages this machine" if "managed" in file.name else f"edit {file}"
        rows.append(Row("silenced", level, f"{key} in {file} {SILENCERS[key]}", following))
    return rows
