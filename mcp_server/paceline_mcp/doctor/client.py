"""Which client is installed, and which of Paceline's layers it can carry."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from paceline_mcp.doctor.row import Level, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SECONDS = 20
HOOKS_FROM = (2, 1, 139)
GATE_FROM = (2, 1, 287)
UPDATE = "claude update"


def client_row(env: Mapping[str, str]) -> Row:
    """Ask ``claude --version``."""
    found = shutil.which("claude", path=env.get("PATH", os.defpath))
    if found is None:
        what = "no `claude` on PATH; a client elsewhere works as well"
        return Row("client", Level.NOTE, what)
    try:
        done = subprocess.run(
            [found, "--version"],
            capture_output=True,
            timeout=SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env=dict(env),
        )
    except (OSError, subprocess.TimeoutExpired) as err:
        what = f"{found} does not start ({type(err).__name__})"
        return Row("client", Level.BAD, what, "claude --version")
    return judged(found, done.stdout.decode("utf-8", "replace"))


def judged(found: str, said: str) -> Row:
    """Return the row for a client whose ``--version`` printed ``said``."""
    version = re.search(r"(\d+)\.(\d+)\.(\d+)", said)
    if version is None:
        return Row("client", Level.BAD, f"{found} tells no version", "claude --version")
    number = tuple(map(int, version.groups()))
    what = f"{version[0]} at {found}"
    if number < HOOKS_FROM:
        oldest = ".".join(map(str, HOOKS_FROM))
        return Row(
            "client", Level.BAD, f"{what}: too old, {oldest} is the first that works", UPDATE
        )
    if number < GATE_FROM:
        return Row("client", Level.NOTE, f"{what}: no gate there, the hooks pace alone", UPDATE)
    return Row("client", Level.FINE, f"{what}: carries the gate and the hooks")
