"""Waiting, for as long as somebody waits for the answer.

A client that is killed leaves its hooks behind. One that goes on to wait keeps its ticket, is
granted tokens for an agent that is dead, and is in the way of those that live.
"""

from __future__ import annotations

import os
import time

LOOK_S = 1.0
_CLIENT = os.getppid()


def sleep(seconds: float) -> None:
    """Sleep, in pieces of a second at most.

    Raises:
        SystemExit: whoever started this process is gone (Windows does not tell).
    """
    until = time.monotonic() + seconds
    while True:
        if os.getppid() != _CLIENT:
            raise SystemExit
        left = until - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(LOOK_S, left))
