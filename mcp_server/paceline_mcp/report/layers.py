"""Which parts of Paceline were seen alive in a session."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from paceline import paths
from paceline_mcp.doctor.ledger import ledger_row
from paceline_mcp.doctor.row import Level, Row
from paceline_mcp.doctor.session import session_rows
from paceline_mcp.doctor.state import state_row

if TYPE_CHECKING:
    from collections.abc import Mapping

UNSEEN = "no hook ran there: its files alone tell what became of its agents"


def layers(env: Mapping[str, str], state: str, session: str, now: float) -> list[Row]:
    """Return the doctor's rows about hooks, gate and faults, and of a state it cannot use."""
    unusable = [row for row in (state_row(env), ledger_row(env)) if row.level is not Level.FINE]
    rows = [*unusable, *session_rows(env, now)[1:]]
    if session and not os.path.exists(paths.events_file(state, session)):
        about = [row for row in rows if row.name in {"faults", "reports"}]
        return [*unusable, Row("hooks", Level.NOTE, UNSEEN, "paceline doctor"), *about]
    return rows
