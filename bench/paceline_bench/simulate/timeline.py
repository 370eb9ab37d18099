"""A virtual clock: what happens next happens at once, however far away it is."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

START = 1_000_000.0
"""Epoch seconds of every simulation's start. Not 0, which means "never" in a ledger, and small
enough that a double still tells nanoseconds apart."""


class Clock(Protocol):
    """What a simulation needs of time."""

    @property
    def now(self) -> float:
        """The time, in seconds."""
        raise NotImplementedError

    def at(self, when: float, call: Callable[..., None], *args: Any) -> None:
        """Call ``call(*args)`` at ``when``, or at once when that has passed."""

    def stop(self) -> None:
        """Let nothing further happen."""


class Timeline:
    """A queue of calls in the order of their times; those of one time in the order asked for."""

    def __init__(self, start: float = START) -> None:
        self.now = start
        self._queue: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._asked = 0
        self._stopped = False

    def at(self, when: float, call: Callable[..., None], *args: Any) -> None:
        """Call ``call(*args)`` at ``when``, or at once when that has passed."""
        self._asked += 1
        heappush(self._queue, (max(when, self.now), self._asked, call, args))

    def stop(self) -> None:
        """Let nothing further happen."""
        self._stopped = True

    def run(self) -> None:
        """Let everything happen until nothing is left or somebody stops it."""
        queue = self._queue
        while queue and not self._stopped:
            when, _, call, args = heappop(queue)
            self.now = when
            call(*args)
