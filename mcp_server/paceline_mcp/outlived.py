"""Removes what outlived its session: logs of sessions that the client itself has forgotten.

The client removes a transcript some weeks after its session (``cleanupPeriodDays``, 30). A log
without it tells nothing that anybody could still use, and nobody else would ever remove it.
"""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from paceline import jsonl, paths

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "paceline-outlived"
DAYS = 30
AT_ONCE = 200
"""Folders and reports that one server removes at most: nobody should notice it."""
LINES = 8 * 1024
"""Bytes at a log's beginning in which its session's transcript is named."""


def remove_soon(state: str, now: float) -> None:
    """Remove it beside the server's work; a process that ends first leaves the rest."""
    threading.Thread(target=remove, args=(state, now), name=NAME, daemon=True).start()


def remove(state: str, now: float) -> int:
    """Remove what nobody wrote to for ``DAYS`` and what no transcript is left of; return how much.

    Args:
        state: the state directory.
        now: epoch seconds.
    """
    before = now - DAYS * 86400.0
    gone = 0
    for place in (*_sessions(Path(state, "sessions"), before), *_reports(Path(state), before)):
        if gone == AT_ONCE:
            break
        if place.is_dir():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)
        gone += 1
    return gone


def _sessions(folder: Path, before: float) -> Iterator[Path]:
    for place in _in(folder):
        if paths.is_id(place.name) and _written(place) < before and not _transcript_left(place):
            yield place


def _reports(state: Path, before: float) -> Iterator[Path]:
    for place in _in(state / "reports"):
        if place.suffix == ".txt" and _written(place) < before:
            yield place


def _in(folder: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(folder) if not entry.is_symlink()]
    except OSError:
        return []


def _written(place: Path) -> float:
    """Return when a file, or anything right in a folder, was last written to."""
    found = [place, *_in(place)] if place.is_dir() else [place]
    try:
        return max(one.stat().st_mtime for one in found)
    except OSError:
        return float("inf")  # somebody is at it


def _transcript_left(place: Path) -> bool:
    try:
        with (place / "events.jsonl").open("rb") as log:
            lines = list(jsonl.objects(log.read(LINES)))
    except OSError:
        return False
    told = (line.get("transcript") for line in lines if line.get("e") == "session.start")
    return any(isinstance(one, str) and "\0" not in one and os.path.exists(one) for one in told)
