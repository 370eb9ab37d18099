"""What a transcript says of the requests that were answered: their usage and their model.

The client acts on a reply before it has written it down: on 2.1.240 the row came up to 0.3 s after
the hooks of the tools it asked for, with five Agent calls up to 1.3 s. So whoever needs a row that
must come waits a moment for it.
"""

from __future__ import annotations

import time

from paceline import refusals
from paceline.transcripts.lines import last_rows
from paceline.transcripts.usage import SYNTHETIC, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    _T = TypeVar("_T")

ROWS = 60
LAG_S = 1.0
LAUNCH_LAG_S = 3.0
"""Seconds a row is waited for at most; the second is for one that holds many calls."""
LOOK_S = 0.05


class Reply:
    """One answered request.

    Attributes:
        id: the message's.
        model: that answered.
        at: epoch seconds of its first row.
        used: tokens: ``input``, ``cache_creation``, ``cache_read``, ``output``.
    """

    __slots__ = ("_usage", "at", "id", "model")

    def __init__(self, ident: str, model: str, at: float) -> None:
        self.id = ident
        self.model = model
        self.at = at
        self._usage = Usage()

    def add(self, row: dict[str, object]) -> None:
        """Take one more row of it."""
        self._usage.add(row)

    @property
    def used(self) -> dict[str, int]:
        """Tokens by kind."""
        return dict(self._usage.tokens)


def read(path: str, now: float) -> list[Reply]:
    """Return the last replies in a transcript, oldest first."""
    found: dict[str, Reply] = {}
    for row in last_rows(path, ROWS):
        message = row.get("message")
        if row.get("type") != "assistant" or not isinstance(message, dict):
            continue
        ident, model = message.get("id"), message.get("model")
        if not isinstance(ident, str) or not isinstance(model, str) or model == SYNTHETIC:
            continue
        reply = found.setdefault(ident, Reply(ident, model, refusals.row_time(row, now)))
        reply.add(row)
    return list(found.values())


def awaited(
    find: Callable[[], str | None], since: float, now: float, wait: float = LAG_S
) -> list[Reply]:
    """Return the replies since a time, waiting a moment for the first one.

    Args:
        find: gives the transcript's path, None while there is none.
        since: epoch seconds.
        now: the same.
        wait: seconds at most; 0 where nothing is written down.
    """

    def look(path: str) -> list[Reply]:
        return [reply for reply in read(path, now) if reply.at >= since]

    return _soon(find, look, wait) or []


def refusal(
    find: Callable[[], str | None], since: float, now: float, wait: float = LAG_S
) -> refusals.Refusal | None:
    """Return the refusal a transcript ends with, waiting a moment for it; arguments as above.

    Its fields tell a reset to the second, where an event has the client's text alone.
    """

    def look(path: str) -> refusals.Refusal | None:
        return refusals.from_last_rows(last_rows(path, ROWS), since, now)

    return _soon(find, look, wait)


def _soon(find: Callable[[], str | None], look: Callable[[str], _T], wait: float) -> _T | None:
    """Return what ``look`` finds in the transcript, waiting a moment for anything."""
    until = time.monotonic() + wait
    while True:
        path = find()
        found = look(path) if path else None
        if found or time.monotonic() >= until:
            return found
        time.sleep(LOOK_S)


def asked_model(path: str) -> str:
    """Return the model of the last request in a transcript, answered or not, "" when none tells."""
    for row in reversed(last_rows(path, ROWS)):
        told = row.get("message") if row.get("type") == "assistant" else row.get("params")
        model = told.get("model") if isinstance(told, dict) else None
        if isinstance(model, str) and model and model != SYNTHETIC:
            return model
    return ""
