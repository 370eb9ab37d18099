"""The doctor: one module a thing it looks at; each returns rows and changes nothing."""

from __future__ import annotations

import os

from paceline_mcp.doctor.state import state_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from paceline_mcp.doctor.row import Row


def examine(env: Mapping[str, str] | None = None) -> list[Row]:
    """Return every row, in the order a person should read them."""
    env = os.environ if env is None else env
    return [state_row(env)]
