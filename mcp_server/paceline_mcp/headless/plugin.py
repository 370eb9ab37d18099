"""Whether the plugin is in a command's session, from its flags and the settings files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.errors import UsageError
from paceline_mcp.configured import object_in, settings_file
from paceline_mcp.doctor.settings import MANAGED, MANAGED_ELSEWHERE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paceline_mcp.headless.command import Command

NAME = "paceline"
MANIFEST = (".claude-plugin", "plugin.json")


def checkout() -> Path | None:
    """Return the checkout this command runs from, None when it was installed on its own."""
    for folder in Path(__file__).resolve().parents:
        if folder.joinpath(*MANIFEST).is_file():
            return folder
    return None


def folder_to_add() -> str:
    """Return what ``--plugin`` gives to the client's ``--plugin-dir``.

    Raises:
        UsageError: this is no checkout.
    """
    root = checkout()
    if root is None:
        raise UsageError(
            "--plugin needs a checkout of Paceline; next: claude plugin install paceline@paceline"
        )
    return str(root)


def enabled(command: Command, env: Mapping[str, str], cwd: str) -> bool:
    """Whether a session of this command loads the plugin, as far as files tell."""
    if command.has("--bare"):
        return False
    if any(_is_ours(Path(cwd, folder)) for folder in command.values("--plugin-dir")):
        return True
    if command.has("--safe-mode"):
        return False
    told: dict[str, bool] = {}
    for file in _settings(command, env, cwd):
        told |= _enabled(file)
    return any(told.values())


def _is_ours(folder: Path) -> bool:
    """Whether a folder is the plugin, or a folder of plugins with it among them."""
    found = [folder.joinpath(*MANIFEST), *folder.glob("/".join(("*", *MANIFEST)))]
    return any(object_in(file).get("name") == NAME for file in found)


def _settings(command: Command, env: Mapping[str, str], cwd: str) -> list[Path]:
    """Return the settings files of a session, the ones that count most last."""
    project = Path(cwd, ".claude")
    files = [settings_file(env)]
    files += [project / "settings.json", project / "settings.local.json"]
    files += [Path(cwd, told) for told in command.values("--settings") if not told.startswith("{")]
    managed = Path(MANAGED.get(sys.platform, MANAGED_ELSEWHERE))
    return [*files, managed / "managed-settings.json"]


def _enabled(file: Path) -> dict[str, bool]:
    told = object_in(file).get("enabledPlugins")
    if not isinstance(told, dict):
        return {}
    return {
        name: value is not False
        for name, value in told.items()
        if isinstance(name, str) and name.split("@", 1)[0] == NAME
    }
