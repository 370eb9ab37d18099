"""The session's id, read off what the client prints while it passes through.

With ``--output-format stream-json`` every line names the session, the first one says ``init``; with
``json`` the one value at the end does. Anything else tells nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paceline import jsonl, paths

if TYPE_CHECKING:
    from collections.abc import Iterable

LINE_MAX = 1 << 20
"""Bytes of a line that is looked at; the lines that name the session first are short."""
VALUE_MAX = 32 << 20


class Listener:
    """Takes bytes in as they come, in any pieces.

    Args:
        whole: the output is one JSON value, not one a line.

    Attributes:
        session: the id, "" while unknown. The first one that is told stays.
    """

    def __init__(self, *, whole: bool) -> None:
        self.session = ""
        self._whole = whole
        self._held = bytearray()
        self._skip = False

    def take(self, data: bytes) -> None:
        """Take a piece of the output in."""
        if self.session:
            return
        if self._whole:
            if len(self._held) < VALUE_MAX:
                self._held += data
            return
        for piece in data.splitlines(keepends=True):
            if not self._skip:
                self._held += piece
            if len(self._held) > LINE_MAX:
                self._skip = True
                self._held.clear()
            if piece.endswith(b"\n"):
                if not self._skip:
                    self._look(bytes(self._held))
                self._held.clear()
                self._skip = False
                if self.session:
                    return

    def end(self) -> str:
        """Say that nothing more comes; return the id, "" where none was told."""
        if not self.session and self._held:
            self._look(bytes(self._held))
        self._held.clear()
        return self.session

    def _look(self, data: bytes) -> None:
        try:
            value = jsonl.loads(data)
        except ValueError:
            return
        self.session = next(iter(_told(value if isinstance(value, list) else [value])), "")


def _told(values: Iterable[Any]) -> list[str]:
    found = (value.get("session_id") for value in values if isinstance(value, dict))
    return [one for one in found if isinstance(one, str) and paths.is_id(one)]
