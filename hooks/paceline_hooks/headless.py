"""Whether a session has nobody at a keyboard: what it does not do now it will never do."""

from __future__ import annotations

from . import event as fields
from .pacing import HEADLESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

ROWS = 20


def is_so(event: Mapping[str, Any], env: Mapping[str, str]) -> bool:
    """Say whether the session of this event was started without a terminal.

    The client writes its entry into each row of a transcript (2.1.240, 2.1.332), and into the
    environment of what it starts.
    """
    told = env.get("CLAUDE_CODE_ENTRYPOINT", "")
    if told:
        return told.startswith(HEADLESS)
    from paceline.transcripts.lines import last_rows

    path = fields.text_of(event, "transcript_path", fields.PATH_MAX)
    for row in reversed(last_rows(path, ROWS) if path else []):
        entry = row.get("entrypoint")
        if isinstance(entry, str):
            return entry.startswith(HEADLESS)
    return False
