"""StopFailure: a request was refused for good, of an agent, of the main thread or of a helper."""

from __future__ import annotations

from paceline import refusals

from . import event as fields
from . import pacing, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def handle(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> None:
    """Append ``agent.failed`` with its cause; where the hooks pace, tell the ledger."""
    refusal = refusals.from_stop_failure(event, now)
    kind = fields.text_of(event, "agent_type")
    record.write(event, env, now, "agent.failed", type=kind, **refusal.fields())
    pacing.after_refusal(event, env, now, refusal)
