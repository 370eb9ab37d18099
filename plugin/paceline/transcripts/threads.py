"""The main thread's transcript: which agents it launched, and what the client told it of them.

Most of a long transcript is of no interest here, so a line is looked at as bytes first; only rows
that name a launch, a result of one, a stop, a notification or an error are decoded.
"""

from __future__ import annotations

from paceline import refusals

from . import lines
from .calls import Calls
from .usage import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from paceline.refusals import Refusal

_LAUNCHES = (b'"Agent"', b'"Task"', b'"Workflow"')
_RESULTS = (b'"agentId"', b'"runId"', b'"task_id"')
_PASSED_OVER = (b'{"type":"attachment"', b'{"type":"api-request', b'{"type":"file-history')
_PLAIN_MAX = 64 * 1024
_EDGE = 700
"""Bytes of a row's beginning and end that tell its kind."""


class Thread:
    """What the main thread's transcript tells.

    Attributes:
        calls: the launches and their outcomes.
        errors: the thread's own refusals, with their times.
        usage: its own tokens; counted only when asked for.
        bytes: size of what was read.
    """

    def __init__(self) -> None:
        self.calls = Calls()
        self.errors: list[tuple[float, Refusal]] = []
        self.usage = Usage()
        self.bytes = 0


def read_thread(path: str, now: float, *, usage: bool = False) -> Thread:
    """Return what a main transcript tells; nothing where it cannot be read.

    Args:
        path: of the transcript.
        now: epoch seconds, for rows that tell no time.
        usage: count its tokens too, which means decoding every assistant row.
    """
    thread = Thread()
    for line, whole in lines.lines(path):
        thread.bytes += len(line)
        if whole and _wanted(line, usage=usage):
            _add(thread, line, now, usage=usage)
    return thread


def _wanted(line: bytes, *, usage: bool) -> bool:
    """Say whether a line needs decoding. Every look at it costs, so its kind is found first."""
    if line.startswith(_PASSED_OVER):
        return False
    edges = line[:_EDGE] + line[-_EDGE:]
    if b'"assistant"' in edges:
        return (
            usage
            or b'"isApiErrorMessage"' in line
            or (b'"tool_use"' in line and any(name in line for name in _LAUNCHES))
        )
    if b'"user"' in edges and b'"tool_result"' in line:
        if any(name in line for name in _RESULTS):
            return True
        return len(line) < _PLAIN_MAX and (b'"is_error"' in line or b"API Error" in line)
    return b"<task-notification>" in line


def _add(thread: Thread, line: bytes, now: float, *, usage: bool) -> None:
    row = lines.parse(line)
    if row is None or row.get("isSidechain") is True:
        return
    kind = row.get("type")
    at = refusals.row_time(row, now)
    if kind == "assistant":
        refusal = refusals.from_row(row, now)
        if refusal is not None:
            thread.errors.append((at, refusal))
            return
        thread.calls.add_assistant(row, at)
        if usage:
            thread.usage.add(row)
    elif kind == "user":
        thread.calls.add_user(row, at)
    elif kind == "queue-operation" and isinstance(row.get("content"), str):
        thread.calls.add_notice(row["content"], at)
