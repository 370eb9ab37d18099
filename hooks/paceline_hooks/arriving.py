"""A first session: its first agents start while the server's packages are being installed.

Unpaced, and with nobody to bring them back, an agent refused now would be lost. One that starts
while the launcher installs waits for it, before its first request.
"""

from __future__ import annotations

import os
import time

from paceline import arriving

from . import event as fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

WAIT_S = 60.0
"""Seconds an agent waits at most; an installation takes 3 to 12, a client gives a server 30."""
SERVER_S = 15.0
"""Seconds from installed to answering, at most."""
LOOK_S = 0.1
GATE_FROM = (2, 1, 287)
ROWS = 20


def waited(state: str) -> bool:
    """Wait while the packages are being installed; whether there was anything to wait for."""
    if not arriving.going_on(state):
        return False
    until = time.monotonic() + WAIT_S
    while arriving.going_on(state) and time.monotonic() < until:
        time.sleep(LOOK_S)
    until = min(until, time.monotonic() + SERVER_S)
    while not os.path.exists(os.path.join(state, "site")) and time.monotonic() < until:
        time.sleep(LOOK_S)
    return True


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
