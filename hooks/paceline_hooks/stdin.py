"""Read all of stdin, but never wait for it for ever."""

from __future__ import annotations

import _thread
import os

IDLE_S = 2.0
"""Seconds without a byte after which the reading ends."""
TOTAL_S = 10.0
"""Seconds after which it ends in any case."""
MOST = 64 * 1024 * 1024
"""Bytes that are taken; a tool's answer has been seen at 20 MB."""


def read(fd: int = 0, idle: float = IDLE_S, total: float = TOTAL_S) -> bytes:
    """Return what came on ``fd`` until its end, or until nothing came for ``idle`` seconds.

    A thread reads, since a pipe cannot be polled on Windows; ``_thread`` is there without an
    import's price. It may still be waiting afterwards: the process must end with ``os._exit``.
    """
    parts: list[bytes] = []
    done = _thread.allocate_lock()
    done.acquire()

    def pump() -> None:
        left = MOST
        try:
            while left > 0:
                part = os.read(fd, min(left, 1 << 20))
                if not part:
                    break
                parts.append(part)
                left -= len(part)
        except OSError:
            pass  # closed before we came: as if empty
        finally:
            done.release()

    _thread.start_new_thread(pump, ())
    seen, waited = 0, 0.0
    while not done.acquire(timeout=idle):
        waited += idle
        if len(parts) == seen or waited >= total:
            break
        seen = len(parts)
    return b"".join(parts)
