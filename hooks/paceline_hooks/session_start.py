"""SessionStart: where the session's transcript is, and whose limit it spends."""

from __future__ import annotations

from paceline import account, paths

from . import event as fields
from . import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def handle(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> None:
    """Append ``session.start``."""
    model = fields.text_of(event, "model")
    record.write(
        event,
        env,
        now,
        "session.start",
        transcript=fields.text_of(event, "transcript_path", fields.PATH_MAX),
        cwd=fields.text_of(event, "cwd", fields.PATH_MAX),
        source=fields.text_of(event, "source"),
        account=account.account_id(env, paths.state_dir(env)),
        **({"model": model} if model else {}),
    )
