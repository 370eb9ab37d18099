"""The processes below a process, to end them all when one will not end by itself."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

PS_SECONDS = 5.0


def below(pid: int) -> list[int]:
    """Return the ids of every process below ``pid``, children before grandchildren (POSIX)."""
    children: dict[int, list[int]] = {}
    for one, parent in _parents():
        children.setdefault(parent, []).append(one)
    found: list[int] = []
    todo = [pid]
    while todo:
        for child in children.get(todo.pop(), ()):
            if child not in found:
                found.append(child)
                todo.append(child)
    return found


def kill(pid: int) -> None:
    """End a process, its group and all below it, at once. Gone ones are no error."""
    if sys.platform == "win32":
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(  # noqa: S603 - a list of arguments, no shell
                ["taskkill", "/T", "/F", "/PID", str(pid)],  # noqa: S607 - part of Windows
                capture_output=True,
                check=False,
                timeout=PS_SECONDS,
            )
        return
    lower = below(pid)  # before the parent goes: orphans have another parent
    kill_group(pid)
    for one in (pid, *lower):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(one, signal.SIGKILL)


def kill_group(pid: int) -> None:
    """End what is left of the process group that ``pid`` led (POSIX)."""
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def _parents() -> list[tuple[int, int]]:
    proc = Path("/proc")
    if sys.platform == "linux" and (proc / "self" / "stat").exists():
        return [pair for pair in map(_of_stat, proc.glob("[0-9]*/stat")) if pair]
    try:
        done = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid="],  # noqa: S607 - where a POSIX system keeps it
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=PS_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    pairs = [line.split() for line in done.stdout.splitlines()]
    return [(int(a), int(b)) for a, b in (p for p in pairs if len(p) == 2)]  # noqa: PLR2004


def _of_stat(stat: Path) -> tuple[int, int] | None:
    try:
        told = stat.read_bytes()
    except OSError:
        return None
    # The name in parentheses may hold anything: the fields after the last one count.
    fields = told[told.rfind(b")") + 1 :].split()
    return (int(stat.parent.name), int(fields[1])) if len(fields) > 1 else None
