"""A first session: its first agents start while the server's packages are being installed.

Unpaced, and with nobody to bring them back, an agent refused now would be lost. One that starts
while the launcher installs waits for it, before its first request. The client starts the launcher
beside the session, so an agent may even come before it: one of a session's first seconds looks for
it a while.
"""

from __future__ import annotations

import os
import time

from paceline import arriving, jsonl

from . import event as fields
from . import rest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

WAIT_S = 60.0
"""Seconds an agent waits at most; an installation takes 3 to 12, a client gives a server 30."""
SERVER_S = 15.0
"""Seconds from installed to answering, at most."""
EXPECT_S = 8.0
"""Seconds from a session's start within which a launcher has begun, also on a busy machine."""
LOOK_S = 0.1
FIRST_MAX = 64 * 1024
GATE_FROM = (2, 1, 287)
ROWS = 20


def waited(state: str, log: str) -> bool:
    """Wait while the packages are being installed; whether there was anything to wait for.

    Args:
        state: the state directory.
        log: the session's event log.
    """
    _expect(state, log)
    if not arriving.going_on(state):
        return False
    until = time.monotonic() + WAIT_S
    while arriving.going_on(state) and time.monotonic() < until:
        rest.sleep(LOOK_S)
    until = min(until, time.monotonic() + SERVER_S)
    while not _served(state) and time.monotonic() < until:
        rest.sleep(LOOK_S)
    return True


def _expect(state: str, log: str) -> None:
    """Give the launcher of a new session the time to begin."""
    until = time.monotonic() + to_expect(state, log, time.time())
    while time.monotonic() < until and not (_served(state) or arriving.going_on(state)):
        rest.sleep(LOOK_S)


def to_expect(state: str, log: str, now: float) -> float:
    """Return for how many seconds a launcher may yet begin; 0 where one did, or a server ran."""
    if _served(state) or arriving.going_on(state):
        return 0.0
    return min(max(0.0, _begun(log) + EXPECT_S - now), EXPECT_S)


def _served(state: str) -> bool:
    """Whether a server left word where the ledger's lock is."""
    return os.path.exists(os.path.join(state, "site"))


def _begun(log: str) -> float:
    """Return when a session started first (epoch seconds), 0 when its log does not tell."""
    try:
        with open(log, "rb") as file:
            first = jsonl.loads(file.readline(FIRST_MAX))
        return float(first["t"]) if first["e"] == "session.start" else 0.0
    except (OSError, ValueError, TypeError, KeyError):
        return 0.0


def brings_gate(event: Mapping[str, Any]) -> bool:
    """Whether the client of this session has a gate, which will pace the request itself.

    It has not spoken yet, so there is no sign of life; the client writes its version into each row
    of the session's transcript.
    """
    from paceline.transcripts.lines import last_rows

    path = fields.text_of(event, "transcript_path", fields.PATH_MAX)
    for row in reversed(last_rows(path, ROWS) if path else []):
        parts = str(row.get("version", "")).split(".")
        if len(parts) == len(GATE_FROM) and all(part.isdecimal() for part in parts):
            return tuple(map(int, parts)) >= GATE_FROM
    return False
