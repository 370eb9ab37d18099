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
    """Append ``stop``; block it while refused agents can be brought back and nobody has tried.

    A person is told in a line of what is lost and stays so for now, once.
    """
    active = event.get("stop_hook_active") is True
    try:
        told = loud.at_stop(event, env, now)
    except Exception:
        record.write(event, env, now, "stop", active=active, blocked=False)
        raise
    if told is None:
        record.write(event, env, now, "stop", active=active, blocked=False)
        return None
    record.write(
        event,
        env,
        now,
        "stop",
        active=active,
        blocked=bool(told.reason),
        of=told.keys[:OF_MAX],
        **({} if told.reason else {"said": True}),
    )
    if told.reason:
        return {"decision": "block", "reason": told.reason}
    return {"systemMessage": told.person}
