"""The fields of a hook's input, taken for what they are: somebody else's JSON."""

from __future__ import annotations

from paceline import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PATH_MAX = 4096
WORD_MAX = 128
AGENT_TOOLS = frozenset({"Agent", "Task"})
"""The tool that launches an agent, by its name of today and its former one."""


class FieldError(ValueError):
    """A field that must be an id is none. The text names the field, never its value."""


def session_of(event: Mapping[str, Any], env: Mapping[str, str]) -> str | None:
    """Return the session's id from the event, else from the environment, or None."""
    for found in (event.get("session_id"), env.get("CLAUDE_CODE_SESSION_ID")):
        if isinstance(found, str) and paths.is_id(found):
            return found
    return None


def agent_of(event: Mapping[str, Any]) -> str | None:
    """Return the agent's id, or None for the main thread.

    Raises:
        FieldError: there is an agent, but its id is none: nobody may be charged for it.
    """
    found = event.get("agent_id")
    if found is None or found == "":
        return None
    if not isinstance(found, str) or not paths.is_id(found):
        msg = "agent_id"
        raise FieldError(msg)
    return found


def id_of(event: Mapping[str, Any], name: str) -> str:
    """Return a field that is an id, ``""`` where it is none."""
    found = event.get(name)
    return found if isinstance(found, str) and paths.is_id(found) else ""


def text_of(event: Mapping[str, Any], name: str, most: int = WORD_MAX) -> str:
    """Return a text field without control characters, cut at ``most`` characters, or ``""``."""
    found = event.get(name)
    if not isinstance(found, str):
        return ""
    found = found[:most]
    return found if found.isprintable() else "".join(filter(str.isprintable, found))


def dict_of(event: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a field that is an object, else an empty one."""
    found = event.get(name)
    return found if isinstance(found, dict) else {}
