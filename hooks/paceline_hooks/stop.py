"""Stop: the main thread is done, or so it thinks; work that was lost sends it back."""

from __future__ import annotations

from . import loud, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


OF_MAX = 400
"""Pieces of work named in one line."""


def handle(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> dict[str, Any] | None:
    """Append ``stop``; block it while refused agents can be brought back and nobody has tried."""
    active = event.get("stop_hook_active") is True
    try:
        told = loud.at_stop(event, env, now)
    except Exception:
        record.write(event, env, now, "stop", active=active, blocked=False)
        raise
    more = {"of": told[1][:OF_MAX]} if told else {}
    record.write(event, env, now, "stop", active=active, blocked=told is not None, **more)
    return {"decision": "block", "reason": told[0]} if told else None
