"""Whether a gate paces this session's requests, so that the hooks need not."""

from __future__ import annotations

import os

from paceline import paths

FRESH_S = 20.0
"""Seconds a sign of life counts; a living gate renews it every 5."""


def gate_alive(state: str, session: str, now: float) -> bool:
    """Say whether the session's gate gave a sign of life (``<session>/gate``) within 20 seconds."""
    try:
        at = os.stat(os.path.join(paths.session_dir(state, session), "gate")).st_mtime
    except (OSError, ValueError):
        return False
    return abs(now - at) <= FRESH_S
