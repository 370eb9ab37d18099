"""SubagentStart: an agent begins; where no gate paces it, it waits here for its first request."""

from __future__ import annotations

from . import event as fields
from . import pacing, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def handle(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> None:
    """Append ``agent.start``, then hold."""
    record.write(event, env, now, "agent.start", type=fields.text_of(event, "agent_type"))
    pacing.before_first_request(event, env, now)
