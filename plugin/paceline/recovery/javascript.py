"""The little of JavaScript that a workflow's script asks for: its head, and values as literals."""

from __future__ import annotations

from paceline import jsonl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HEAD = "export const meta"
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_QUOTES = "\"'`"


def split_meta(script: str) -> tuple[str, str] | None:
    """Return the ``export const meta = {…}`` a script begins with, and the rest.

    None where it has no such beginning or the literal does not end.
    """
    start = script.find(_HEAD)
    brace = script.find("{", start)
    if start < 0 or brace < 0 or script[start + len(_HEAD) : brace].strip() not in ("=", ""):
        return None
    end = _end_of(script, brace)
    if end is None:
        return None
    rest = script[end:]
    return script[:end], rest.removeprefix(";")


def literal(value: Any) -> str:
    """Return an expression that evaluates to a JSON value.

    As ``JSON.parse`` of a string: a key such as ``__proto__`` stays a key, and nothing in the value
    can be read as code.
    """
    return f"JSON.parse({jsonl.dumps(jsonl.dumps(value))})"


def _end_of(script: str, at: int) -> int | None:
    """Return where the bracket at ``at`` is closed, strings and comments passed over."""
    open_ones: list[str] = []
    while at < len(script):
        char = script[at]
        if char in _QUOTES:
            at = _after_string(script, at)
            continue
        if script.startswith("//", at):
            at = _after(script, "\n", at)
            continue
        if script.startswith("/*", at):
            at = _after(script, "*/", at)
            continue
        if char in _CLOSING:
            open_ones.append(_CLOSING[char])
        elif char in _CLOSING.values():
            if not open_ones or open_ones.pop() != char:
                return None
            if not open_ones:
                return at + 1
        at += 1
    return None


def _after_string(script: str, at: int) -> int:
    quote = script[at]
    at += 1
    while at < len(script):
        if script[at] == "\\":
            at += 2
        elif script[at] == quote:
            return at + 1
        else:
            at += 1
    return at


def _after(script: str, words: str, at: int) -> int:
    end = script.find(words, at)
    return len(script) if end < 0 else end + len(words)
