"""The mark that the server's packages are being installed. Standard library only.

The launcher leaves ``<state>/arriving`` while it installs, so that hooks know the gate and the
ledger's lock are seconds away rather than missing.
"""

from __future__ import annotations

import os
import time

from paceline import paths

FRESH_S = 120.0
"""Seconds a mark counts: an installation that was killed leaves it behind."""


def begin(state: str) -> None:
    """Leave the mark. ``OSError`` where the state cannot be written."""
    paths.make_private(state)
    with open(_mark(state), "wb"):
        pass
    os.utime(_mark(state))


def end(state: str) -> None:
    """Take the mark away, whoever left it."""
    try:  # noqa: SIM105 - contextlib costs more than this file
        os.unlink(_mark(state))
    except OSError:
        pass


def going_on(state: str) -> bool:
    """Whether an installation began within the last two minutes and has not ended."""
    try:
        return abs(time.time() - os.stat(_mark(state)).st_mtime) <= FRESH_S
    except OSError:
        return False


def _mark(state: str) -> str:
    return os.path.join(state, "arriving")
