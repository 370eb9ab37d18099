"""The ``<task-notification>`` blocks of a prompt: ids and status, no text.

The client writes such a block when a background agent or a workflow ends. Its head (ids, status)
is the client's, what follows from ``<summary>`` on holds other people's words and is not read.
"""

from __future__ import annotations

from paceline import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OPENS, CLOSES = "<task-notification>", "</task-notification>"
HEAD_MAX = 4096
TASKS_MAX = 100

_TAGS = (("id", "task-id"), ("tool_use_id", "tool-use-id"), ("status", "status"))
_OTHERS = ("<summary>", "<result>", "<note>", "<diagnostics>", "<failures>")


def tasks_of(prompt: Any) -> list[dict[str, str]]:
    """Return ``[{"id", "tool_use_id", "status"}]`` of a prompt the client wrote, else nothing."""
    found: list[dict[str, str]] = []
    if not isinstance(prompt, str) or not prompt[:200].lstrip().startswith(OPENS):
        return found
    at = prompt.find(OPENS)
    while at >= 0 and len(found) < TASKS_MAX:
        start = at + len(OPENS)
        end = prompt.find(CLOSES, start)
        head = prompt[start : min(end if end >= 0 else len(prompt), start + HEAD_MAX)]
        task = _task(head)
        if task["id"]:
            found.append(task)
        at = prompt.find(OPENS, end) if end >= 0 else -1
    return found


def _task(head: str) -> dict[str, str]:
    cuts = [cut for cut in map(head.find, _OTHERS) if cut >= 0]
    head = head[: min(cuts, default=len(head))]
    task = {}
    for name, tag in _TAGS:
        value = head.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip()
        task[name] = value if paths.is_id(value) else ""
    return task
