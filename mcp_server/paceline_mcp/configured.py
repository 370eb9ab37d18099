"""What a person set under ``/plugin``: the client keeps it in its settings file.

Hooks and server get it from the client; the command line has to look itself, or it would look into
another state directory than theirs.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline import jsonl
from paceline.transcripts import find

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

PLUGIN = "paceline"


def adopt(env: MutableMapping[str, str]) -> None:
    """Put what is set under ``/plugin`` into ``env``, as hooks get it; what is there stays."""
    for name, value in configured(env).items():
        with contextlib.suppress(ValueError):  # what no environment can hold
            env.setdefault(name, value)


def configured(env: Mapping[str, str]) -> dict[str, str]:
    """Return what is set under ``/plugin``: ``CLAUDE_PLUGIN_OPTION_*`` and its text."""
    plugins = object_in(settings_file(env)).get("pluginConfigs")
    told: dict[str, str] = {}
    for name, config in plugins.items() if isinstance(plugins, dict) else ():
        options = config.get("options") if isinstance(config, dict) else None
        if name.split("@", 1)[0] == PLUGIN and isinstance(options, dict):
            told |= {f"CLAUDE_PLUGIN_OPTION_{key.upper()}": _text(options[key]) for key in options}
    return told


def settings_file(env: Mapping[str, str]) -> Path:
    """Return the client's settings file of this person."""
    return Path(find.config_dir(env), "settings.json")


def object_in(file: Path) -> dict[str, Any]:
    """Return the object a settings file holds, or an empty one where it holds none."""
    try:
        value = jsonl.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
