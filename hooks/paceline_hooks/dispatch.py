"""From an event on stdin to its handler, and the boundary behind which nothing may fail."""

from __future__ import annotations

import os
import time

from paceline import jsonl, settings

from . import stdin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

EVENTS = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "user_prompt_submit",
    "PreToolUse": "pre_tool_use",
    "PostToolUse": "post_tool_use",
    "PostToolUseFailure": "post_tool_use_failure",
    "PostToolBatch": "post_tool_batch",
    "SubagentStart": "subagent_start",
    "SubagentStop": "subagent_stop",
    "StopFailure": "stop_failure",
    "Stop": "stop",
    "SessionEnd": "session_end",
}
"""Event and the module that handles it: ``handle(event, env, now)`` returns the output or None."""


def main() -> None:
    """Handle the event on stdin, print its output if it has one, and end the process with 0."""
    try:
        output = answer(stdin.read(), os.environ, time.time())
        if output is not None:
            data = jsonl.dumps(output).encode("ascii") + b"\n"
            while data:
                data = data[os.write(1, data) :]
    except BaseException:  # noqa: BLE001, S110 - a hook never fails a tool, whatever happens to it
        pass
    finally:
        os._exit(0)  # at once: stdin's reader may still be waiting


def answer(data: bytes, env: Mapping[str, str], now: float) -> dict[str, Any] | None:
    """Return the output for the event in ``data``, or None. Never raises an ``Exception``.

    Args:
        data: what came on stdin.
        env: the hook's environment.
        now: epoch seconds.
    """
    event: dict[str, Any] = {}
    name = ""
    try:
        if settings.mode(env) == settings.OFF:
            return None
        found = jsonl.loads(data) if data.strip() else None
        if not isinstance(found, dict):
            _fault(event, env, now, "stdin", "not an event" if data.strip() else "empty")
            return None
        event = found
        name = str(event.get("hook_event_name"))
        module = EVENTS.get(name)
        if module is None:
            _fault(event, env, now, "dispatch", "unknown event")
            return None
        handler = __import__(f"{__package__}.{module}", fromlist=("handle",)).handle
        output: dict[str, Any] | None = handler(event, env, now)
    except Exception as err:  # noqa: BLE001 - the boundary
        from . import faults

        _fault(event, env, now, name or "stdin", faults.reason(err))
        return None
    return output


def _fault(
    event: dict[str, Any], env: Mapping[str, str], now: float, where: str, what: str
) -> None:
    from . import faults

    try:  # noqa: SIM105 - contextlib costs more than all of this
        faults.tell(event, env, now, f"hook.{where}", what)
    except Exception:  # noqa: BLE001, S110 - nobody is left to tell
        pass
