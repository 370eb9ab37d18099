"""An asyncio event loop on virtual time: what waits is done waiting as soon as all others wait too.

Libraries that wait with ``asyncio.sleep`` or ``loop.call_at`` run on it unchanged, and their hours
take moments.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, Any, TypeVar

from paceline_bench.simulate.timeline import START

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

STEP_S = 1e-6
"""Seconds a turn of the loop takes at least: a library that wakes a rounding error too early and
looks again would otherwise look for ever. A double of ``START`` tells such steps apart."""


class _Jump(selectors.SelectSelector):
    """Waits for nothing: time jumps to when the loop would have been woken."""

    jump: Callable[[float], None]

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found and timeout is None:
            raise RuntimeError("everybody waits for ever")
        self.jump(STEP_S if found else max(timeout or 0.0, STEP_S))
        return found


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose clock starts at ``START`` and goes from one thing to do to the next."""

    def __init__(self) -> None:
        """Make a loop at ``START``."""
        selector = _Jump()
        selector.jump = self._jump
        self._now = START
        super().__init__(selector)
        self._clock_resolution = STEP_S

    def time(self) -> float:
        """Return the virtual time, in seconds."""
        return self._now

    def _jump(self, seconds: float) -> None:
        self._now += seconds


class LoopClock:
    """A simulation's clock on an asyncio loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._stopped = asyncio.Event()

    @property
    def now(self) -> float:
        """The time, in seconds."""
        return self._loop.time()

    def at(self, when: float, call: Callable[..., None], *args: Any) -> None:
        """Call ``call(*args)`` at ``when``, or at once when that has passed."""
        self._loop.call_at(when, self._call, call, args)

    def _call(self, call: Callable[..., None], args: tuple[Any, ...]) -> None:
        if not self._stopped.is_set():
            call(*args)

    def stop(self) -> None:
        """Let nothing further happen."""
        self._stopped.set()

    async def stopped(self) -> None:
        """Wait until somebody stops it."""
        await self._stopped.wait()


def run(main: Callable[[LoopClock], Coroutine[Any, Any, T]]) -> T:
    """Return what ``main(clock)`` returns, run on a virtual loop of its own."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(_with_clock(main))


async def _with_clock(main: Callable[[LoopClock], Coroutine[Any, Any, T]]) -> T:
    return await main(LoopClock(asyncio.get_running_loop()))
