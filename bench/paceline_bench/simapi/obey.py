"""A scripted main thread that does what Paceline's text asks for: role ``obey``.

It starts the fan-out like ``main`` and then follows orders in the order in which they stand. An
order is a line of a list under a line that begins, or continues a hook's name, with ``Paceline:``,
or any line of ``requeue_dropped``'s result. What the client itself hints at (a workflow's result
says how to run its script again) is none:

``SendMessage {to: "ID"``           one SendMessage to that agent
``Workflow({scriptPath: "PATH"``    that workflow
``Agent again, with the prompt you gave agent ID ("LABEL") and the line "LINE"``
                                    an Agent call with that agent's prompt and the line at its end,
                                    found by its description or by the id in its result;
                                    ``the call that failed`` stands for the first that did
``requeue_dropped (server paceline) for run ID``   that tool, whose advice may hold further orders

An order is done once; the same words in a later message are a new order. What is to be started only
after a reset is none yet.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paceline_bench.simapi.script import Reply, ToolCall, Turn, all_text, main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REQUEUE = "mcp__plugin_paceline_paceline__requeue_dropped"
BEGINS = re.compile(r"(?:<[a-z-]+>)?(?:[A-Za-z]+(?::[\w-]+)? hook [a-z ]{3,40}: ?)?Paceline: ")
"""How a line begins that is Paceline's; the client names the hook before it."""
LATER = "Start these then, not before"
"""What follows is for later: it is said again when it is time."""


@dataclass(frozen=True, slots=True)
class Form:
    """How an order reads, the tool that does it, and what its match becomes."""

    words: re.Pattern[str]
    tool: str
    make: Callable[[Turn, re.Match[str]], dict[str, Any] | None]


def _send(turn: Turn, match: re.Match[str]) -> dict[str, Any]:
    del turn
    return {"to": match[1], "summary": "go on", "message": "Go on where you stopped."}


def _workflow(turn: Turn, match: re.Match[str]) -> dict[str, Any]:
    del turn
    return {"scriptPath": match[1]}


def _requeue(turn: Turn, match: re.Match[str]) -> dict[str, Any]:
    del turn
    return {"run": match[1]} if match[1] else {}


def _again(turn: Turn, match: re.Match[str]) -> dict[str, Any] | None:
    """Return the input of the Agent call that launched that agent, the line at its prompt's end."""
    inputs, results = _agent_calls(turn)
    agent, label, line = match.groups()
    for call, given in inputs.items():
        text, failed = results.get(call, ("", False))
        named = label and given.get("description") == label
        if named or (agent and agent in text) or (not agent and not label and failed):
            return {**given, "prompt": f"{given.get('prompt', '')}\n{line}"}
    return None


FORMS = (
    Form(re.compile(r"SendMessage\W{1,6}to\W{1,6}(a[0-9a-f]{16})"), "SendMessage", _send),
    Form(re.compile(r'Workflow\W{1,6}scriptPath\W{1,6}"([^"]+)"'), "Workflow", _workflow),
    Form(
        re.compile(
            r"Agent again, with the prompt you gave "
            r'(?:agent (a[0-9a-f]{16})|the call that failed)(?: \("([^"]+)"\))?'
            r' and the line "([^"]+)"'
        ),
        "Agent",
        _again,
    ),
    Form(
        re.compile(r"requeue_dropped \(server paceline\)(?: for run (wf_[a-z0-9-]+|[\w-]+))?"),
        REQUEUE,
        _requeue,
    ),
)
"""Every order that is understood. Add a form to teach it another."""


def obey(turn: Turn) -> Reply:
    """Follow the orders that are still open; else do as ``main`` does."""
    if not turn.step:
        return main(turn)
    calls = orders(turn)
    return Reply(calls=tuple(calls)) if calls else main(turn)


def orders(turn: Turn) -> list[ToolCall]:
    """Return the calls that were asked for since the last turn that followed orders."""
    found: list[ToolCall] = []
    for role, blocks in _since_last_action(turn):
        if role == "assistant":
            continue
        text = "\n".join(_spoken(turn, block) for block in blocks)
        matches = [(match, form) for form in FORMS for match in form.words.finditer(text)]
        for match, form in sorted(matches, key=lambda one: one[0].start()):
            given = form.make(turn, match)
            if given is not None and (call := ToolCall(form.tool, given)) not in found:
                found.append(call)
    return found


def _spoken(turn: Turn, block: dict[str, Any]) -> str:
    """Return the lines of a block that are Paceline's."""
    text = all_text(block)
    if block.get("tool_use_id") in {
        one.get("id") for one in _blocks(turn) if one.get("name") == REQUEUE
    }:
        return text
    found: list[str] = []
    speaks = False
    for line in text.splitlines():
        if BEGINS.match(line):
            speaks = True
        elif LATER in line or not line.startswith(("- ", "  ")):
            speaks = False
        if speaks:
            found.append(line)
    return "\n".join(found)


def _since_last_action(turn: Turn) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the messages after the last assistant turn that did something but look for tools."""
    last = 0
    for index, (role, blocks) in enumerate(turn.messages):
        names = {block.get("name") for block in blocks if block.get("type") == "tool_use"}
        if role == "assistant" and names - {"ToolSearch"}:
            last = index + 1
    return list(turn.messages[last:])


def _agent_calls(
    turn: Turn,
) -> tuple[dict[str, dict[str, Any]], dict[str, tuple[str, bool]]]:
    """Return the inputs of the Agent calls so far, and their results with whether they failed."""
    inputs = {
        str(block.get("id")): dict(block.get("input") or {})
        for block in _blocks(turn)
        if block.get("type") == "tool_use" and block.get("name") == "Agent"
    }
    results = {
        str(block.get("tool_use_id")): (all_text(block), block.get("is_error") is True)
        for block in _blocks(turn)
        if block.get("type") == "tool_result"
    }
    return inputs, results


def _blocks(turn: Turn) -> Iterator[dict[str, Any]]:
    for _, blocks in turn.messages:
        yield from blocks
