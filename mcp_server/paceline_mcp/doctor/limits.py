"""Which limit is believed for the account in use, and why."""

from __future__ import annotations

import time

from paceline.ledger.belief import believed
from paceline_mcp.doctor.row import Level, Row
from paceline_mcp.report.newest import ledger_in_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

WHY = {
    "set": "set by `paceline limits set`",
    "header": "told by a response header",
    "text": "told in the text of a refusal",
    "probe": "found by `paceline limits probe`",
    "tier": "guessed from the account's tier",
    "learned": "learned from what was refused",
}
LEARN = "nothing, it is learned; or tell it: paceline limits set --model all --itpm N"


def limit_rows(env: Mapping[str, str]) -> list[Row]:
    """Return one row a believed limit, or one that says none is known."""
    store = ledger_in_use(env)
    ledger = store.snapshot()
    rows = []
    for row in believed(ledger):
        why = WHY.get(str(row["source"]), str(row["source"]))
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["at"]))
        what = f"{row['family']} {row['dimension']}: {row['limit']:,.0f} a minute, {why} at {at}"
        rows.append(Row("limits", Level.FINE, what))
    return rows or [Row("limits", Level.NOTE, f"none known yet for account {store.account}", LEARN)]
