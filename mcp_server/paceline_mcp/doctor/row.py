"""One line of the doctor's table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Level(Enum):
    """How a row stands. Only ``BAD`` makes the doctor's exit code 3."""

    FINE = "ok"
    NOTE = "note"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Row:
    """What was looked at, what was found, and the next thing to type ("" when nothing is)."""

    name: str
    level: Level
    found: str
    next: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return ``{"name","level","found","next"}``; ``next`` is null when nothing is to do."""
        return {
            "name": self.name,
            "level": self.level.value,
            "found": self.found,
            "next": self.next or None,
        }
