"""SubagentStop: an agent ended with a report, as far as the client knows.

Helpers of the client stop with an empty type and nobody's id, and a stop may come twice or never:
the line says what was seen, the manifest decides.
"""

from __future__ import annotations

from . import event as fields
from . import pacing, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def handle(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> None:
    """Append ``agent.stop``, then settle its last request where the hooks pace."""
    record.write(
        event,
        env,
        now,
        "agent.stop",
        type=fields.text_of(event, "agent_type"),
        transcript=fields.text_of(event, "agent_transcript_path", fields.PATH_MAX),
        empty=not event.get("last_assistant_message"),
    )
    pacing.after_last_request(event, env, now)
