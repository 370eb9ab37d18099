"""The client's process: what it prints goes through as it comes, it is stopped or killed, reaped.

It gets a process group (POSIX: a session) of its own, so that Ctrl-C reaches this program alone and
is passed on once: two at the same time would be the client's signal to give up at once.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from paceline.errors import UsageError
from paceline_mcp.cli.output import plain
from paceline_mcp.headless import tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

POLL_S = 0.2
"""How long a signal may go unseen where a wait cannot be interrupted (Windows)."""
CHUNK = 64 * 1024
DRAIN_S = 5.0
"""How long output is waited for after the client's end: a process it left may hold the pipe."""


class Child:
    """One process of the client, started at once.

    Args:
        words: its command line.
        env: its environment.
        text: what it reads on stdin: None for what this program reads, else bytes.
        listener: gets every piece of its stdout; None lets it write to this program's own.

    Raises:
        UsageError: the program cannot be started.
    """

    def __init__(
        self,
        words: Sequence[str],
        env: Mapping[str, str],
        *,
        text: bytes | None,
        listener: Callable[[bytes], None] | None,
    ) -> None:
        windows = sys.platform == "win32"
        sys.stdout.flush()
        sys.stderr.flush()
        program = shutil.which(words[0], path=env.get("PATH")) or words[0]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the person's own command, no shell
                [program, *words[1:]],
                env=dict(env),
                stdin=None if text is None else subprocess.PIPE if text else subprocess.DEVNULL,
                stdout=None if listener is None else subprocess.PIPE,
                start_new_session=not windows,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) if windows else 0,
            )
        except (OSError, ValueError) as err:
            raise UsageError(
                f"{plain(words[0])} cannot be started ({getattr(err, 'strerror', None) or err}); "
                "next: give the path of claude"
            ) from err
        self._threads: list[threading.Thread] = []
        if text:
            self._in_thread(self._feed, text)
        if listener is not None:
            self._in_thread(self._pass_on, listener)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def wait(self) -> int:
        """Return its exit code (negative for a signal) when it has ended and is reaped."""
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = self._process.wait(POLL_S)
                break
        tree.kill_group(self._process.pid)
        for thread in self._threads:
            thread.join(DRAIN_S)
        return code

    def interrupt(self) -> None:
        """Ask it to stop, as Ctrl-C would."""
        if self._process.poll() is not None:
            return
        with contextlib.suppress(OSError, ValueError):
            if sys.platform == "win32":
                self._process.send_signal(signal.CTRL_BREAK_EVENT)
            else:
                self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """End it and all it started, at once."""
        if self._process.poll() is None:
            tree.kill(self._process.pid)

    def _in_thread(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _feed(self, text: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError), self._process.stdin as stdin:
            stdin.write(text)

    def _pass_on(self, listener: Callable[[bytes], None]) -> None:
        """Pass its stdout on, piece by piece; a reader that went away ends the client's writing."""
        assert self._process.stdout is not None
        source = self._process.stdout.fileno()
        with self._process.stdout:
            while data := os.read(source, CHUNK):
                listener(data)
                if not _written(data):
                    return


def _written(data: bytes) -> bool:
    """Write to this program's own stdout; False when nobody reads it any more."""
    try:
        target = sys.stdout.fileno()
        while data:
            data = data[os.write(target, data) :]
    except (OSError, ValueError):
        return False
    return True
