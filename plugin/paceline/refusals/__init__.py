"""What the API refused, and why: one classifier for gate, hooks and files.

``from_response`` reads a response, ``from_row`` a transcript's error row, ``from_stop_failure``
and ``from_tool_failure`` a hook's event, ``from_rate_limit_event`` a line of stream-json; all build
:class:`Facts` and ask :func:`classify`.
"""

from __future__ import annotations

from .facts import Facts, Window
from .refusal import CAUSES, RETRYABLE, Refusal, clean
from .rules import classify
from .sources import (
    from_death_note,
    from_last_rows,
    from_rate_limit_event,
    from_response,
    from_result_text,
    from_row,
    from_stop_failure,
    from_tool_failure,
    row_time,
)

__all__ = [
    "CAUSES",
    "RETRYABLE",
    "Facts",
    "Refusal",
    "Window",
    "classify",
    "clean",
    "from_death_note",
    "from_last_rows",
    "from_rate_limit_event",
    "from_response",
    "from_result_text",
    "from_row",
    "from_stop_failure",
    "from_tool_failure",
    "row_time",
]
