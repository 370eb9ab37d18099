"""The prompt an agent was given: its fingerprint, its first words, its whole text."""

from __future__ import annotations

from paceline import paths
from paceline.refusals import clean

from . import lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TICKET = "paceline-ticket:"
"""Stands on a line of a relaunched agent's prompt, with the ticket's id behind it."""

PREVIEW_MAX = 120
"""Characters of a prompt that are shown."""

_FRAME = "[Workflow harness"
_FRAME_END = "The computed task text follows:\n"
_INDENT = "  "


def sha(prompt: str) -> str:
    """Return the fingerprint of a prompt: 16 hex of its SHA-256, as in ``tool.before``."""
    import hashlib

    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def preview(prompt: str) -> str:
    """Return the first words of a prompt, fit for a line of a terminal."""
    return clean(prompt, PREVIEW_MAX)


def ticket_in(prompt: str) -> str:
    """Return the id of the ticket a prompt carries, or ""."""
    at = prompt.find(TICKET)
    if at < 0:
        return ""
    words = prompt[at + len(TICKET) : at + len(TICKET) + 80].split()
    ident = words[0].strip("`\"'.,") if words else ""
    return ident if paths.is_id(ident) else ""


def without_ticket(prompt: str) -> str:
    """Return a relaunched agent's prompt as it was first given."""
    if TICKET not in prompt:
        return prompt
    return "\n".join(line for line in prompt.split("\n") if TICKET not in line).strip()


def unframed(content: str) -> str:
    """Return a workflow agent's prompt without the frame newer clients put around it.

    Client 2.1.332 begins the row with a paragraph of its own and indents each line of the prompt by
    two spaces; 2.1.240 writes the prompt as it is.
    """
    if not content.startswith(_FRAME):
        return content
    end = content.find(_FRAME_END)
    if end < 0:
        return content
    body = content[end + len(_FRAME_END) :]
    return "\n".join(line.removeprefix(_INDENT) for line in body.split("\n"))


def of_row(row: Mapping[str, Any]) -> str:
    """Return the text of a ``user`` row, without its frame; "" where it has none."""
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        content = "\n".join(
            block["text"]
            for block in content
            if isinstance(block, dict) and isinstance(block.get("text"), str)
        )
    return unframed(content) if isinstance(content, str) else ""


def full(path: str) -> str | None:
    """Return the whole prompt of an agent from its transcript, or None where it cannot be had."""
    for line, whole in lines.lines(path):
        if b'"user"' in line:
            row = lines.parse(line) if whole else None
            if row is not None and row.get("type") == "user":
                return of_row(row) or None
            if not whole:
                return None
    return None
