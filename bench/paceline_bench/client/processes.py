"""Starting the client so that nothing of it outlives the run."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

MARK = "PACELINE_BENCH_RUN"
"""A variable every process of one run inherits; by it the leftovers are found (Linux)."""


def start(
    command: list[str],
    *,
    cwd: Path,
    env: dict[str, str],
    stdin: IO[bytes],
    out: IO[bytes],
    err: IO[bytes],
) -> subprocess.Popen[bytes]:
    """Start a command as the leader of a process group of its own."""
    windows = sys.platform == "win32"
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=out,
        stderr=err,
        start_new_session=not windows,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) if windows else 0,
    )


def end(process: subprocess.Popen[bytes], mark: str) -> None:
    """Kill the process, its group and every leftover that carries the mark; reap the process."""
    if sys.platform == "win32":
        if process.poll() is None:
            subprocess.run(
                ["taskkill", "/T", "/F", "/PID", str(process.pid)],
                capture_output=True,
                check=False,
            )
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        for pid in marked(mark):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)


def leftovers(mark: str, patience: float = 5.0) -> int:
    """Return how many marked processes are still there ``patience`` seconds after the client."""
    until = time.monotonic() + patience
    while (found := marked(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    return len(found)


def marked(mark: str) -> list[int]:
    """Return the ids of the processes that carry the mark in their environment.

    Read from ``/proc``; where there is none the list is empty and the process group must do.
    """
    found = []
    needle = f"{MARK}={mark}".encode()
    with contextlib.suppress(OSError):
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and int(folder.name) != os.getpid():
                with contextlib.suppress(OSError):
                    if needle in (folder / "environ").read_bytes().split(b"\0"):
                        found.append(int(folder.name))
    return found
