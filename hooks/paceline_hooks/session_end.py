"""SessionEnd: no agent of this session runs any more."""

from __future__ import annotations

from . import event as fields
from . import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def handle(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> None:
    """Append ``session.end``."""
    record.write(event, env, now, "session.end", reason=fields.text_of(event, "reason"))
