"""Whether the ledger of the account in use can be read: without it nobody is paced."""

from __future__ import annotations

from paceline import jsonl
from paceline.ledger.document import VERSION, from_json
from paceline_mcp.doctor.row import Level, Row
from paceline_mcp.report.newest import ledger_in_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "ledger"


def ledger_row(env: Mapping[str, str]) -> Row:
    """Read it as a request would, and leave it as it is."""
    path = ledger_in_use(env).path
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return Row(NAME, Level.FINE, "none yet; the first request begins one")
    except OSError as err:
        what = f"{path} cannot be read ({err.strerror or err}); nothing is paced"
        return Row(NAME, Level.BAD, what, "move it away or set PACELINE_STATE_DIR")
    try:
        value = jsonl.loads(data)
        version = value.get("v") if isinstance(value, dict) else None
        if isinstance(version, int) and version > VERSION:
            what = f"{path} is of a newer Paceline; nothing is paced"
            return Row(NAME, Level.BAD, what, "claude plugin update paceline@paceline")
        from_json(value)
    except ValueError:
        what = f"{path} is damaged; the next request sets it aside and begins a new one"
        return Row(NAME, Level.NOTE, what)
    return Row(NAME, Level.FINE, f"{path} can be read")
