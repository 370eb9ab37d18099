"""PostToolBatch: the exact text the model sees next; then, without a gate, the wait for it."""

from __future__ import annotations

from paceline.estimate import tool as estimator

from . import event as fields
from . import pacing, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

IDS_MAX = 400
"""Ids of one line at most: of the longest kind they still fit (``jsonl.LINE_MAX``)."""


def handle(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> None:
    """Append ``batch``, then hold."""
    calls = event.get("tool_calls")
    calls = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    record.write(
        event,
        env,
        now,
        "batch",
        ids=[fields.id_of(call, "tool_use_id") for call in calls[:IDS_MAX]],
        tokens=sum(_tokens(call) for call in calls),
    )
    pacing.before_continuation(event, env, now)


def _tokens(call: Mapping[str, Any]) -> int:
    return estimator.measure_result(fields.text_of(call, "tool_name"), call.get("tool_response"))
