"""A reply in the API's shapes: one JSON message, or the events of a stream."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paceline_bench.simapi.cache import Usage
    from paceline_bench.simapi.script import Reply

CHUNK = 200
"""Characters of one delta."""
FIRST_WORDS = 3
"""Events until a reply's first words are out, and its first block is not."""


def message(reply: Reply, usage: Usage, *, model: str, number: int) -> dict[str, Any]:
    """Return a whole Messages answer."""
    content: list[dict[str, Any]] = []
    if reply.text:
        content.append({"type": "text", "text": reply.text})
    for index, call in enumerate(reply.calls):
        content.append(
            {
                "type": "tool_use",
                "id": tool_id(number, index),
                "name": call.name,
                "input": call.input,
            }
        )
    return {
        **_start(model, number),
        "content": content,
        "stop_reason": stop_reason(reply),
        "usage": usage_json(usage, reply.output_tokens),
    }


def events(reply: Reply, usage: Usage, *, model: str, number: int) -> Iterator[tuple[bytes, float]]:
    """Yield the stream's events, each with the output tokens it carries."""
    start = {**_start(model, number), "usage": usage_json(usage, 1)}
    yield event({"type": "message_start", "message": start}), 0.0
    total = reply.output_tokens
    parts = list(_blocks(reply, number))
    length = sum(len(text) for _, _, text in parts) or 1
    for index, (block, delta, text) in enumerate(parts):
        yield (
            event({"type": "content_block_start", "index": index, "content_block": block}),
            0.0,
        )
        for at in range(0, len(text), CHUNK):
            piece = text[at : at + CHUNK]
            carried = total * len(piece) / length
            yield (
                event(
                    {
                        "type": "content_block_delta",
                        "index": index,
                        "delta": {"type": f"{delta}_delta", _FIELD[delta]: piece},
                    }
                ),
                carried,
            )
        yield event({"type": "content_block_stop", "index": index}), 0.0
    end = {"stop_reason": stop_reason(reply), "stop_sequence": None}
    last = {"type": "message_delta", "delta": end, "usage": usage_json(usage, total)}
    yield event(last), 0.0
    yield event({"type": "message_stop"}), 0.0


def stop_reason(reply: Reply) -> str:
    """Return ``tool_use`` or ``end_turn``."""
    return "tool_use" if reply.calls else "end_turn"


def tool_id(number: int, index: int) -> str:
    """Return the id of a tool call, unique within a server."""
    return f"toolu_bench{number:06d}x{index:03d}"


def usage_json(usage: Usage, output: int) -> dict[str, int]:
    """Return ``usage`` as the API reports it."""
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.creation,
        "cache_read_input_tokens": usage.read,
        "output_tokens": output,
    }


_FIELD = {"text": "text", "input_json": "partial_json"}


def _start(model: str, number: int) -> dict[str, Any]:
    return {
        "id": f"msg_bench{number:06d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _blocks(reply: Reply, number: int) -> Iterator[tuple[dict[str, Any], str, str]]:
    if reply.text:
        yield {"type": "text", "text": ""}, "text", reply.text
    for index, call in enumerate(reply.calls):
        block = {
            "type": "tool_use",
            "id": tool_id(number, index),
            "name": call.name,
            "input": {},
        }
        yield block, "input_json", json.dumps(call.input)


def event(data: dict[str, Any]) -> bytes:
    """Return a server-sent event."""
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()
