"""Signals that ask this program to end: the first stops the client, the second kills it."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from paceline_mcp.cli.output import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
"""SIGHUP too: the client has a session of its own, and must not outlive a closed terminal."""


class Stops:
    """How often this program was asked to end.

    Attributes:
        asked: that number.
        signal: the first signal's number, 0 before one came.
        told: set when one came; what waits, waits on it.
    """

    def __init__(self) -> None:
        self.asked = 0
        self.signal = 0
        self.told = threading.Event()
        self._on_stop: Callable[[int], None] = _nothing

    @property
    def exit_code(self) -> int:
        """130 for Ctrl-C, else 128 and the signal's number."""
        return INTERRUPTED if self.signal in {0, signal.SIGINT} else 128 + self.signal

    def send_to(self, on_stop: Callable[[int], None] | None) -> None:
        """Have ``on_stop(how often)`` called at each signal from now on; None for nobody."""
        self._on_stop = on_stop or _nothing

    def take(self, number: int, _frame: Any = None) -> None:
        """Take a signal in (the handler)."""
        self.asked += 1
        self.signal = self.signal or number
        self.told.set()
        self._on_stop(self.asked)


def _nothing(_: int) -> None:
    return


@contextmanager
def caught() -> Iterator[Stops]:
    """Catch the signals of ``NAMES`` until the block ends; only the main thread can."""
    stops = Stops()
    before = {}
    try:
        for name in NAMES:
            number = getattr(signal, name, None)
            # What was ignored from outside (nohup) stays ignored.
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, stops.take)
        yield stops
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
