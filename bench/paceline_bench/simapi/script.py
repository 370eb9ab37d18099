"""The scripted model: what the "model" answers, found from the conversation alone.

The first user message of a conversation may carry a script, JSON between
``<bench-script>`` and ``</bench-script>``. Its ``role`` picks a rule from a table; a rule is a
function ``(Turn) -> Reply``. It keeps no state: the step is the number of assistant turns that
called tools, so a request that is sent twice is answered twice alike, and a conversation that is
continued from its transcript goes on where it stood. What has no script (title generation, quota
probes, summaries) gets a short plain answer.

Roles that exist:

``agent``   ``{"role":"agent","label":L,"steps":[["/file",…],…]}``: each step Reads its files in one
            turn, then a report that contains ``DELIVERED L``.
``main``    ``{"role":"main","fanout":{"kind":"agent"|"workflow","agents":[{"label","steps"}…],
            "background":bool,"model":M?}}``: one turn with the Agent calls (or one Workflow call),
            then answers. ``steps`` (raw calls a turn, ``{"name","input"}``) may stand instead.
``obey``    like ``main``, and afterwards what hooks and tools ask for (:mod:`.obey`).

To script another model, write a rule and pass ``rules={**DEFAULT_RULES, "name": rule}`` to
:func:`paceline_bench.simapi.server.running`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paceline_bench.simapi.counting import as_blocks, text_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OPEN, CLOSE = "<bench-script>", "</bench-script>"
DELIVERED = "DELIVERED"
SEARCH = "ToolSearch"
FILLER = "The files were read from first line to last and nothing in them stood out. "
_TASK = re.compile(r"<task-notification>.*?</task-notification>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call of a reply."""

    name: str
    input: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answers: a text, tool calls, or both."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()

    @property
    def output_tokens(self) -> int:
        """Tokens of the reply, counted like input."""
        calls = sum(text_tokens(call.name + json.dumps(call.input)) for call in self.calls)
        return max(1, text_tokens(self.text) + calls)


@dataclass(frozen=True, slots=True)
class Turn:
    """A request as a rule sees it.

    Attributes:
        script: the conversation's script, empty without one.
        step: assistant turns so far that called tools, those that only looked for one aside.
        messages: ``(role, blocks)`` of every message.
        tools: names of the tools that are offered.
        length: tokens a text reply shall have.
    """

    script: Mapping[str, Any]
    step: int
    messages: tuple[tuple[str, list[dict[str, Any]]], ...]
    tools: frozenset[str]
    length: int = 0

    @property
    def role(self) -> str:
        """The script's role, ``helper`` without one."""
        return str(self.script.get("role", "helper"))

    @property
    def label(self) -> str | None:
        """The label of an agent's script."""
        label = self.script.get("label")
        return label if isinstance(label, str) else None

    def text_after_step(self) -> str:
        """Return all text the user side has added since the last assistant turn."""
        found: list[str] = []
        for role, blocks in reversed(self.messages):
            if role == "assistant":
                break
            found += [all_text(block) for block in blocks]
        return "\n".join(reversed(found))

    def calls(self, name: str) -> list[dict[str, Any]]:
        """Return the inputs of every call of a tool so far."""
        return [
            block.get("input", {})
            for role, blocks in self.messages
            if role == "assistant"
            for block in blocks
            if block.get("type") == "tool_use" and block.get("name") == name
        ]


def read_turn(body: dict[str, Any], length: int = 0) -> Turn:
    """Return the turn of a Messages request."""
    messages = tuple(
        (str(message.get("role")), as_blocks(message.get("content")))
        for message in body.get("messages") or []
        if isinstance(message, dict)
    )
    step = sum(
        any(block.get("type") == "tool_use" and block.get("name") != SEARCH for block in blocks)
        for role, blocks in messages
        if role == "assistant"
    )
    tools = frozenset(
        str(tool.get("name")) for tool in body.get("tools") or [] if isinstance(tool, dict)
    )
    return Turn(_find_script(messages), step, messages, tools, length)


def answer(turn: Turn, rules: Mapping[str, Callable[[Turn], Reply]] | None = None) -> Reply:
    """Return the reply of the rule for the turn's role.

    A reply whose tools the request does not offer first looks for them, where there is a tool
    for that (the client defers some), and becomes a plain answer otherwise: a helper request that
    quotes a scripted conversation must not act it out.
    """
    table = RULES if rules is None else rules
    reply = table.get(turn.role, helper)(turn)
    missing = sorted({call.name for call in reply.calls} - turn.tools)
    if not missing:
        return reply
    look = ToolCall(SEARCH, {"query": f"select:{','.join(missing)}"})
    if SEARCH not in turn.tools or look.input in turn.calls(SEARCH):
        return helper(turn)
    return Reply(calls=(look,))


def script_text(script: Mapping[str, Any]) -> str:
    """Return a script as it stands in a prompt."""
    return OPEN + json.dumps(script, separators=(",", ":")) + CLOSE


def helper(turn: Turn) -> Reply:
    """Answer what has no script."""
    del turn
    return Reply(text="ok")


def agent(turn: Turn) -> Reply:
    """Read the files of the next step, or report."""
    steps = turn.script.get("steps", [])
    if turn.step < len(steps):
        return Reply(
            calls=tuple(ToolCall("Read", {"file_path": path}) for path in steps[turn.step])
        )
    return Reply(text=padded(f"{DELIVERED} {turn.label}. ", turn.length))


def main(turn: Turn) -> Reply:
    """Start the fan-out, then answer each time with what has come back so far."""
    steps = turn.script.get("steps")
    if steps is None:
        steps = [[vars_of(call) for call in fanout_calls(turn.script.get("fanout", {}))]]
    if turn.step < len(steps):
        return Reply(calls=tuple(ToolCall(c["name"], c["input"]) for c in steps[turn.step]))
    told = sum(
        len(_TASK.findall(all_text(block)))
        for role, blocks in turn.messages
        if role != "assistant"
        for block in blocks
    )
    return Reply(text=padded(f"FINAL after {told} notifications. ", turn.length))


RULES: dict[str, Callable[[Turn], Reply]] = {
    "helper": helper,
    "agent": agent,
    "main": main,
}


def fanout_calls(fanout: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """Return the tool calls that start a fan-out of scripted agents."""
    agents = [dict(one) for one in fanout.get("agents", [])]
    prompts = [(str(one["label"]), agent_prompt(one)) for one in agents]
    if fanout.get("kind") == "workflow":
        return (ToolCall("Workflow", {"script": workflow_script(prompts)}),)
    return tuple(
        ToolCall(
            "Agent",
            {
                "description": label,
                "prompt": prompt,
                "subagent_type": "general-purpose",
                **({"model": fanout["model"]} if fanout.get("model") else {}),
                **({} if fanout.get("background") else {"run_in_background": False}),
            },
        )
        for label, prompt in prompts
    )


def agent_prompt(one: Mapping[str, Any]) -> str:
    """Return the prompt of one scripted agent."""
    script = {"role": "agent", "label": one["label"], "steps": one["steps"]}
    return f"Read the files you are given and report. {script_text(script)}"


def workflow_script(prompts: list[tuple[str, str]]) -> str:
    """Return a workflow that runs every prompt at once and returns the results in order.

    The client wants plain JavaScript that begins with a pure literal ``export const meta``.
    """
    jobs = json.dumps([{"label": label, "prompt": prompt} for label, prompt in prompts])
    return (
        "export const meta = {name: 'bench-fan-out', description: 'Read files at once', "
        "phases: [{title: 'Read'}]}\n"
        f"const jobs = {jobs}\n"
        "phase('Read')\n"
        "return await parallel(jobs.map(j => () => agent(j.prompt, "
        "{label: j.label, phase: 'Read'})))\n"
    )


def padded(text: str, tokens: int) -> str:
    """Return the text, filled up to about that many tokens."""
    missing = tokens * 4 - len(text)
    return text if missing <= 0 else text + (FILLER * (missing // len(FILLER) + 1))[:missing]


def vars_of(call: ToolCall) -> dict[str, Any]:
    """Return a call as a script's ``steps`` hold it."""
    return {"name": call.name, "input": call.input}


def delivered(turn: Turn, reply: Reply) -> str | None:
    """Return the label an agent's reply delivers, None when it does not."""
    done = turn.role == "agent" and reply.text.startswith(f"{DELIVERED} {turn.label}")
    return turn.label if done else None


def _find_script(
    messages: tuple[tuple[str, list[dict[str, Any]]], ...],
) -> Mapping[str, Any]:
    for role, blocks in messages:
        if role != "user":
            continue
        for block in blocks:
            text = block.get("text")
            if isinstance(text, str) and OPEN in text and CLOSE in text:
                raw = text.split(OPEN, 1)[1].split(CLOSE, 1)[0]
                try:
                    found = json.loads(raw)
                except ValueError:
                    return {}
                return found if isinstance(found, dict) else {}
        return {}
    return {}


def all_text(block: dict[str, Any]) -> str:
    """Return all text of a block, that of a tool result too."""
    if isinstance(block.get("text"), str):
        return str(block["text"])
    content = block.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(all_text(part) for part in content if isinstance(part, dict))
    return ""
