"""What all commands print alike: exit codes, JSON, text that is safe on a terminal."""

from __future__ import annotations

import sys
import unicodedata

from paceline import jsonl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rich.console import Console

TABLE_WIDTH = 80
"""Columns below which a table is not squeezed: the terminal wraps its lines, nothing is cut."""
PIPE_WIDTH = 10_000
"""Columns where nobody looks at lines: a path or an id is never cut there."""

FINE, ERROR, USAGE, DEGRADED, RUNNING, INTERRUPTED = 0, 1, 2, 3, 4, 130
EXITS = {"complete": FINE, "degraded": DEGRADED, "running": RUNNING}
"""How a command that tells a verdict exits."""


def console() -> Console:
    """Return the console for tables and lines on stdout; text in it is plain text."""
    from rich.console import Console

    shown = Console(highlight=False, markup=False, emoji=False)
    shown.width = max(TABLE_WIDTH, shown.width) if shown.is_terminal else PIPE_WIDTH
    return shown


def print_json(value: Any) -> None:
    """Print one JSON value as ASCII on one line. ``ValueError`` on what JSON cannot hold."""
    sys.stdout.write(jsonl.dumps(value) + "\n")


def plain(text: str) -> str:
    """Return ``text`` without control and format characters; a line break becomes a space.

    Names and error texts come from outside; printed raw they could move the cursor or set a title.
    """
    spaced = " ".join(text.split())
    return "".join(char for char in spaced if unicodedata.category(char)[0] != "C")
