"""Which Python runs the hooks, and whether it is one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

from paceline_mcp.doctor.row import Level, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "python3"
"""The command that hooks.json names."""

SECONDS = 10
STUB_EXITS = frozenset({49, 9009})
"""How the stand-in of the Microsoft Store ends where no Python is installed behind it."""

WINDOWS_NEXT = "install Python so that `python3` starts it (docs/install.md), then: paceline doctor"
NEXT = "install Python 3.11 or later so that `python3` starts it, then: paceline doctor"


def interpreter_row(env: Mapping[str, str]) -> Row:
    """Start what the client would start for a hook, as it would start it."""
    following = WINDOWS_NEXT if sys.platform == "win32" else NEXT
    found = shutil.which(NAME, path=env.get("PATH", os.defpath))
    if found is None:
        return Row("hooks' python", Level.BAD, f"no `{NAME}` on PATH: no hook can run", following)
    if is_batch_file(found, sys.platform):
        what = f"{found} is a batch file, which no hook is started through"
        return Row("hooks' python", Level.BAD, what, following)
    show = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
    try:
        done = subprocess.run(
            [found, "-I", "-S", "-c", show],
            capture_output=True,
            timeout=SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as err:
        what = f"{found} does not start ({type(err).__name__}): no hook can run"
        return Row("hooks' python", Level.BAD, what, following)
    version = done.stdout.decode("ascii", "replace").strip()
    return judged(found, done.returncode, version, following)


def is_batch_file(found: str, system: str) -> bool:
    """Whether a command is one that only a shell can start: hooks are started without (Windows)."""
    return system == "win32" and found.lower().endswith((".bat", ".cmd"))


def judged(found: str, code: int, version: str, following: str) -> Row:
    """Return the row for an interpreter that ended with ``code`` after printing ``version``."""
    name = "hooks' python"
    number = re.fullmatch(r"(\d+)\.(\d+)\.\d+", version)
    if code in STUB_EXITS or (code == 0 and not version):
        what = f"{found} is a stand-in without a Python behind it: no hook can run"
        return Row(name, Level.BAD, what, following)
    if code != 0 or number is None:
        return Row(name, Level.BAD, f"{found} ends with {code}: no hook can run", following)
    if (int(number[1]), int(number[2])) < (3, 11):
        what = f"{found} is Python {version}; Paceline needs 3.11 or later"
        return Row(name, Level.BAD, what, following)
    return Row(name, Level.FINE, f"{found} is Python {version}")
