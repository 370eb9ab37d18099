"""Start a hook as the client does: exec form, no shell, its own environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BOUND = 60
"""Seconds a hook's process may take before a test kills it: far above what it needs."""


def command(root: Path = ROOT, python: str = sys.executable) -> list[str]:
    """Return what the client starts: hooks.json's arguments behind ``python``."""
    table = json.loads((root / "hooks" / "hooks.json").read_text(encoding="utf-8"))
    args = table["hooks"]["Stop"][0]["hooks"][0]["args"][-5:]
    return [python, *(arg.replace("${CLAUDE_PLUGIN_ROOT}", str(root)) for arg in args)]


def environment(state: Path, **more: str) -> dict[str, str]:
    """Return a hook's environment: recording only, unless ``more`` says otherwise."""
    kept = ("SYSTEMROOT", "TEMP", "TMP", "PATH")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    return {**env, "PACELINE_STATE_DIR": str(state), "PACELINE_MODE": "observe", **more}


def run(data: bytes, state: Path, root: Path = ROOT, **more: str) -> tuple[int, bytes, bytes]:
    """Return exit status, stdout and stderr of one hook."""
    done = subprocess.run(
        command(root),
        input=data,
        capture_output=True,
        env=environment(state, **more),
        timeout=BOUND,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def event(name: str, **fields: Any) -> bytes:
    """Return the JSON of an event of session ``s1``."""
    return json.dumps({"session_id": "s1", "hook_event_name": name, **fields}).encode()
