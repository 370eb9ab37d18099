"""What a request weighs: its blocks in cache order, each with tokens and a running key.

One token is four bytes of UTF-8, rounded up per block: fixed, so a run can be checked by hand.
Real tokenizers give more tokens to the same bytes, each text its own; another number of bytes a
token stands in for that, so that an estimate has something to be wrong about.
The order is the API's: tools, system, messages. A ``cache_control`` mark is a breakpoint and no
part of the content; a string is the same content as one text block. A tool with
``defer_loading`` is not part of the prefix: its definition stands where a ``tool_reference``
brings it in.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

BYTES_PER_TOKEN = 4.0
IMAGE_TOKENS = 1500
HOUR = 3600.0
FIVE_MINUTES = 300.0
_BILLING = "x-anthropic-billing-header:"


@dataclass(frozen=True, slots=True)
class Mark:
    """A boundary after a block.

    Attributes:
        key: names everything up to here.
        total: tokens up to here.
        ttl: seconds a cache entry written here lives, 0.0 where there is no breakpoint.
    """

    key: str
    total: int
    ttl: float


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request's input: one mark a block, in order."""

    marks: tuple[Mark, ...]

    @property
    def total(self) -> int:
        """All input tokens, cached or not."""
        return self.marks[-1].total if self.marks else 0


def text_tokens(text: str, per: float = BYTES_PER_TOKEN) -> int:
    """Return the tokens of a text: its bytes by ``per``, rounded up; none for no text."""
    return math.ceil(len(text.encode("utf-8", "replace")) / per)


def read_prompt(body: dict[str, Any], per: float = BYTES_PER_TOKEN) -> Prompt:
    """Return the prompt of a Messages request. A block of no known shape counts as its JSON."""
    running = hashlib.sha256(_scope(body).encode("utf-8"))
    marks: list[Mark] = []
    total = 0
    deferred = {str(tool.get("name")): tool for tool in _tools(body) if _is_deferred(tool)}
    for place, block in _blocks(body):
        content, ttl = _strip(block)
        content = _brought_in(content, deferred)
        if place == "system" and str(content.get("text", "")).startswith(_BILLING):
            continue
        total += block_tokens(content, per)
        running.update(_plain(place, content).encode("utf-8", "replace"))
        marks.append(Mark(running.copy().hexdigest()[:32], total, ttl))
    return Prompt(tuple(marks))


def block_tokens(block: dict[str, Any], per: float = BYTES_PER_TOKEN) -> int:
    """Return the tokens of one content block or tool definition."""
    kind = block.get("type")
    if kind == "text":
        return text_tokens(str(block.get("text", "")), per)
    if kind in ("image", "document"):
        return IMAGE_TOKENS
    if kind == "tool_result":
        content = block.get("content")
        if isinstance(content, list):
            return sum(block_tokens(part, per) for part in content if isinstance(part, dict))
        return text_tokens(content if isinstance(content, str) else "", per)
    if kind == "tool_use":
        return text_tokens(str(block.get("name", "")) + _json(block.get("input")), per)
    return text_tokens(_json(block), per)


def as_blocks(content: Any) -> list[dict[str, Any]]:
    """Return message content as a list of blocks; a string is one text block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list):
        return [part for part in content if isinstance(part, dict)]
    return []


def _blocks(body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    found = [("tool", tool) for tool in _tools(body) if not _is_deferred(tool)]
    found += [("system", block) for block in as_blocks(body.get("system"))]
    for message in body.get("messages") or []:
        if isinstance(message, dict):
            role = str(message.get("role"))
            found += [(role, block) for block in as_blocks(message.get("content"))]
    return found


def _tools(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [tool for tool in body.get("tools") or [] if isinstance(tool, dict)]


def _is_deferred(tool: dict[str, Any]) -> bool:
    return tool.get("defer_loading") is True


def _brought_in(block: dict[str, Any], deferred: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a tool result with the definitions its references stand for."""
    parts = block.get("content")
    if not deferred or not isinstance(parts, list):
        return block
    named = [
        deferred.get(str(part.get("tool_name")), part)
        if isinstance(part, dict) and part.get("type") == "tool_reference"
        else part
        for part in parts
    ]
    return {**block, "content": named}


def _scope(body: dict[str, Any]) -> str:
    """Return what besides content a cache entry belongs to: model, thinking and effort."""
    return _json([body.get("model"), body.get("thinking"), body.get("output_config")])


def _strip(block: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """Return the block without its cache marks, and the time to live they ask for."""
    mark = block.get("cache_control")
    bare = {name: value for name, value in block.items() if name != "cache_control"}
    if isinstance(bare.get("content"), list):
        inner = [
            _strip(part) if isinstance(part, dict) else (part, 0.0) for part in bare["content"]
        ]
        bare["content"] = [part for part, _ in inner]
        if mark is None and any(ttl for _, ttl in inner):
            return bare, max(ttl for _, ttl in inner)
    if not isinstance(mark, dict):
        return bare, 0.0
    return bare, HOUR if mark.get("ttl") == "1h" else FIVE_MINUTES


def _plain(place: str, block: dict[str, Any]) -> str:
    if block.get("type") == "tool_result" and isinstance(block.get("content"), str):
        block = {**block, "content": as_blocks(block["content"])}
    return f"\x00{place}\x00{_json(block)}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
