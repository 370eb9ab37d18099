"""An empty home for the client, and the few variables it gets: nothing of the person's own."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paceline_bench.client.spec import Fanout

API_KEY = "sk-ant-api03-made-up-for-loopback"
OAUTH_TOKEN = "sk-ant-oat01-made-up-for-loopback"  # made up: it only ever meets the loopback API

_WINDOWS = ("SYSTEMROOT", "COMSPEC", "PATHEXT", "WINDIR", "PROGRAMFILES")


def environment(spec: Fanout, home: Path, url: str) -> dict[str, str]:
    """Return the client's whole environment: an allow-list, then ``spec.env``."""
    env = {
        "HOME": str(home),
        "PATH": os.pathsep.join(spec.path or path_folders()),
        "TMPDIR": str(home / "tmp"),
        "LANG": "C.UTF-8",
        "ANTHROPIC_BASE_URL": url,
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS": "0",
        "PACELINE_STATE_DIR": str(spec.state_dir or home / "state"),
    }
    if spec.auth == "oauth":
        env["CLAUDE_CODE_OAUTH_TOKEN"] = OAUTH_TOKEN
    else:
        env["ANTHROPIC_API_KEY"] = API_KEY
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        env["IS_SANDBOX"] = "1"
    if sys.platform == "win32":
        env |= {name: os.environ[name] for name in _WINDOWS if name in os.environ}
        env |= {"USERPROFILE": str(home), "TEMP": str(home / "tmp"), "TMP": str(home / "tmp")}
    if spec.max_retries is not None:
        env["CLAUDE_CODE_MAX_RETRIES"] = str(spec.max_retries)
    if spec.kind == "workflow" and spec.width:
        env["CLAUDE_CODE_WORKFLOW_MAX_CONCURRENT_AGENTS"] = str(spec.width)
    if spec.kind == "agent":
        env["CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS"] = str(spec.width or max(20, spec.agents))
    return env | spec.env


def path_folders() -> tuple[str, ...]:
    """Return the folders a plugin needs on PATH: this interpreter's first, then uv's and sh's."""
    found = [str(Path(sys.executable).parent)]
    found += [
        str(Path(tool).parent) for name in ("uv", "sh", "git") if (tool := shutil.which(name))
    ]
    if sys.platform == "win32":
        found.append(str(Path(os.environ.get("SYSTEMROOT", "C:\\Windows")) / "System32"))
    else:
        found += ["/usr/bin", "/bin"]
    return tuple(dict.fromkeys(found))
