"""Whether the state directory can be used."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from paceline import paths
from paceline_mcp.doctor.row import Level, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def state_row(env: Mapping[str, str]) -> Row:
    """Write, replace and remove one file there, as the ledger does."""
    folder = paths.state_dir(env)
    try:
        paths.make_private(folder)
        handle, name = tempfile.mkstemp(prefix=".doctor-", dir=folder)
        os.close(handle)
        Path(name).replace(name + "-moved").unlink()
    except OSError as err:
        return Row(
            "state",
            Level.BAD,
            f"{folder} cannot be written ({err.strerror or err}); nothing is paced or recorded",
            "set PACELINE_STATE_DIR to a folder you own, then: paceline doctor",
        )
    return Row("state", Level.FINE, f"{folder} can be written")
