"""Append a line to the session's event log (docs/events.md)."""

from __future__ import annotations

import os

from paceline import jsonl, paths

from . import event as fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def write(
    event: Mapping[str, Any], env: Mapping[str, str], now: float, what: str, /, **more: Any
) -> None:
    """Append one line about ``event``.

    Args:
        event: the hook's input.
        env: the hook's environment.
        now: epoch seconds.
        what: the line's ``e``.
        more: its further fields.

    Raises:
        FieldError: the event has no usable session or agent id.
        OSError: the log cannot be written.
    """
    session = fields.session_of(event, env)
    if session is None:
        msg = "session_id"
        raise fields.FieldError(msg)
    line = {"t": round(now, 3), "e": what, "agent": fields.agent_of(event), **more}
    append(paths.state_dir(env), session, line)


def append(state: str, session: str, line: dict[str, Any]) -> None:
    """Append ``line`` to the log of ``session``, making its folder when it is the first one."""
    path = paths.events_file(state, session)
    try:
        jsonl.append(path, line)
    except FileNotFoundError:
        # One by one: what makedirs makes on the way would be open to everybody.
        for folder in (state, os.path.join(state, "sessions"), os.path.dirname(path)):
            paths.make_private(folder)
        jsonl.append(path, line)
