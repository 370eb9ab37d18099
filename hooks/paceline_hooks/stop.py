"""Stop: the main thread is done, or so it thinks."""

from __future__ import annotations

from . import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def handle(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> None:
    """Append ``stop``."""
    active = event.get("stop_hook_active") is True
    record.write(event, env, now, "stop", active=active, blocked=False)
