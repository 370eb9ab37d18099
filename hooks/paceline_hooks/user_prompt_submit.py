"""UserPromptSubmit: what the client says of background work. What a person types stays unread."""

from __future__ import annotations

from . import notes, pacing, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def handle(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> dict[str, Any] | None:
    """Append ``prompt``; where background work ended and lost agents, say so."""
    tasks = notes.tasks_of(event.get("prompt"))
    record.write(event, env, now, "prompt", tasks=tasks)
    if not tasks:
        return None
    from . import loud

    now = pacing.before_main(event, env, now, [task["id"] for task in tasks])
    return loud.after_notification(event, env, now, tasks)
