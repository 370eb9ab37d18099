"""Processes that share a ledger's file: told what to do a line at a time, and always reaped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

ROOT = Path(__file__).parents[2]
BOUND = 100
"""Seconds after which a test kills what it started: far above what it needs."""

PRELUDE = """
import json, os, random, sys, time
from paceline.errors import PacelineError, StateError
from paceline.ledger import admit, belief, refuse, settle
from paceline.ledger.store import FileStore
from paceline.ledger.verdicts import Drop, Grant, Policy, Usage, Wait
told = json.loads(sys.argv[1])
EXACT = Policy(headroom=0.0)
store = FileStore(told["folder"], "a1b2c3")
def say(value):
    print(json.dumps(value), flush=True)
def heard():
    line = sys.stdin.readline()
    if not line:
        os._exit(0)
    return json.loads(line)
def ask(ledger, ticket, now, cost, **more):
    admit.enqueue(ledger, ticket=ticket, now=now, **{
        "family": "opus-5", "session": "s", "agent": ticket, "cls": "continuation",
        "amounts": {"input": cost}, **more})
"""


class Process:
    """A Python process that runs ``script`` after ``PRELUDE``. Use as a context manager."""

    def __init__(self, script: str, folder: Path, **told: Any) -> None:
        kept = ("SYSTEMROOT", "TEMP", "TMP", "PATH")
        env = {name: os.environ[name] for name in kept if name in os.environ}
        env["PYTHONPATH"] = str(ROOT / "plugin")
        self.popen = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + script, json.dumps({"folder": str(folder), **told})],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env=env,
        )

    def __enter__(self) -> Process:  # noqa: PYI034 - Self is not needed
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def tell(self, value: Any) -> None:
        """Send a line."""
        assert self.popen.stdin is not None
        self.popen.stdin.write(json.dumps(value) + "\n")
        self.popen.stdin.flush()

    def hear(self) -> Any:
        """Return its next line; the test's own timeout bounds the wait."""
        assert self.popen.stdout is not None
        line = self.popen.stdout.readline()
        assert line, f"the process ended with {self.popen.wait(BOUND)}"
        return json.loads(line)

    def kill(self) -> None:
        """End it at once, wherever it is, and reap it."""
        self.popen.kill()
        self.popen.wait(BOUND)
        for pipe in (self.popen.stdin, self.popen.stdout):
            assert pipe is not None
            pipe.close()


class Processes(list[Process]):
    """Several of them, reaped together. Use as a context manager."""

    def __enter__(self) -> Processes:  # noqa: PYI034 - Self is not needed
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self:
            process.popen.kill()
        for process in self:
            process.kill()

    def tell(self, value: Any) -> None:
        """Send a line to all."""
        for process in self:
            process.tell(value)

    def hear(self) -> list[Any]:
        """Return the next line of each."""
        return [process.hear() for process in self]


def processes(
    count: int, script: str, folder: Path, told: Iterable[dict[str, Any]] = ()
) -> Processes:
    """Start so many."""
    given = list(told) or [{}] * count
    return Processes(Process(script, folder, **{"number": n, **given[n]}) for n in range(count))
