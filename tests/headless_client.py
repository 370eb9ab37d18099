"""A program that stands where the client stands: it plays one step of a plan at each start.

Run as ``python headless_client.py claude …``. ``PLAN`` names a JSON file with a list of steps, the
last one repeated; what it was started with is appended to the file ``CALLS``, a JSON line a start.
A step is ``{"out", "err", "files", "wait", "spawn", "stubborn", "code"}``, all optional: text to
print, files to write below the projects folder (``{session}`` stands for the session's id),
whether to work until a signal comes, whether to leave a process below it that ends with nothing
but a kill, whether to ignore SIGINT, and the exit code.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

STUBBORN = (
    "import signal, threading; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "print('up', flush=True); threading.Event().wait(120)"
)


def session_of(argv: list[str]) -> str:
    for flag in ("--session-id", "--resume"):
        if flag in argv:
            return argv[argv.index(flag) + 1]
    return os.environ.get("SESSION", "")


def play(step: dict[str, Any], session: str) -> int:
    projects = Path(os.environ["CLAUDE_CONFIG_DIR"], "projects")
    for name, text in step.get("files", {}).items():
        path = projects / name.replace("{session}", session)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    stop = threading.Event()
    handler = signal.SIG_IGN if step.get("stubborn") else lambda *_: stop.set()
    signal.signal(signal.SIGINT, handler)
    if step.get("spawn"):
        child = subprocess.Popen(
            [sys.executable, "-c", STUBBORN],
            stdout=subprocess.PIPE,
            start_new_session=os.name == "posix",  # as the client starts a shell command
        )
        assert child.stdout is not None
        child.stdout.readline()
        Path(os.environ["CALLS"]).with_suffix(".below").write_text(str(child.pid), encoding="ascii")
    sys.stdout.buffer.write(step.get("out", "").replace("{session}", session).encode())
    sys.stdout.flush()
    sys.stderr.write(step.get("err", ""))
    sys.stderr.flush()
    if step.get("wait"):
        stop.wait(60)
        sys.stdout.buffer.write(b"stopped\n" if stop.is_set() else b"too late\n")
    return int(step.get("code", 0))


def main() -> int:
    argv = sys.argv[1:]
    calls = Path(os.environ["CALLS"])
    before = calls.read_text(encoding="utf-8").count("\n") if calls.exists() else 0
    plan = json.loads(Path(os.environ["PLAN"]).read_text(encoding="utf-8"))
    stdin = "" if sys.stdin.isatty() else sys.stdin.read()
    names = (
        "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS",
        "CLAUDE_CODE_MAX_RETRIES",
        "PACELINE_STATE_DIR",
    )
    told = {"argv": argv, "stdin": stdin, "env": {name: os.environ.get(name) for name in names}}
    with calls.open("a", encoding="utf-8") as file:
        file.write(json.dumps(told) + "\n")
    return play(plan[min(before, len(plan) - 1)], session_of(argv))


if __name__ == "__main__":
    sys.exit(main())
