"""The doctor: one module a thing it looks at; each returns rows and changes nothing."""

from __future__ import annotations

import os

from paceline_mcp.doctor.client import client_row
from paceline_mcp.doctor.interpreter import interpreter_row
from paceline_mcp.doctor.ledger import ledger_row
from paceline_mcp.doctor.limits import limit_rows
from paceline_mcp.doctor.server import server_row
from paceline_mcp.doctor.session import session_rows
from paceline_mcp.doctor.settings import settings_rows
from paceline_mcp.doctor.state import state_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from paceline_mcp.doctor.row import Row


def examine(env: Mapping[str, str] | None = None) -> list[Row]:
    """Return every row, in the order a person should read them."""
    env = os.environ if env is None else env
    return [
        state_row(env),
        interpreter_row(env),
        client_row(env),
        server_row(env),
        *settings_rows(env),
        *session_rows(env),
        ledger_row(env),
        *limit_rows(env),
    ]
