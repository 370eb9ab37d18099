"""Tell once that something failed open. Only imported when something did."""

from __future__ import annotations

import os

from paceline import jsonl, paths

from . import event as fields
from . import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LOOKED_AT = 4 * 1024 * 1024
"""Bytes at the end of a log that are searched for the same fault."""


def tell(
    event: Mapping[str, Any], env: Mapping[str, str], now: float, where: str, what: str
) -> None:
    """Append a ``fault`` line, unless the log has the same one already.

    Without a session it goes to ``<state>/faults.jsonl``. Where nothing can be written a line on
    stderr is all there is: the client keeps it in its debug log.
    """
    state = paths.state_dir(env)
    session = fields.session_of(event, env)
    try:
        agent = fields.agent_of(event)
    except fields.FieldError:
        agent = None
    line = {"t": round(now, 3), "e": "fault", "agent": agent, "where": where, "what": what}
    try:
        if session is None:
            path = os.path.join(state, "faults.jsonl")
            paths.make_private(state)
            if not _told(path, where, what):
                jsonl.append(path, line)
        elif not _told(paths.events_file(state, session), where, what):
            record.append(state, session, line)
    except (OSError, ValueError) as err:
        _say(f"paceline: {where}: {what}; not written down: {reason(err)}. Type: paceline doctor")


def _told(path: str, where: str, what: str) -> bool:
    """Say whether the log at ``path`` has this fault."""
    mark = jsonl.dumps({"where": where, "what": what})[1:-1].encode("ascii")
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - LOOKED_AT))
            return mark in file.read(LOOKED_AT)
    except OSError:
        return False


def reason(err: BaseException) -> str:
    """Return what went wrong and where in our code, without a word of what was being handled."""
    what = type(err).__name__
    if isinstance(err, OSError) and err.strerror:
        what += f": {err.strerror}"
    elif isinstance(err, fields.FieldError):
        what += f": {err}"
    step = err.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    if step is not None:
        what += f" ({os.path.basename(step.tb_frame.f_code.co_filename)}:{step.tb_lineno})"
    return what


def _say(text: str) -> None:
    try:  # noqa: SIM105 - contextlib costs more than this file
        os.write(2, text.encode("ascii", "backslashreplace") + b"\n")
    except OSError:
        pass
