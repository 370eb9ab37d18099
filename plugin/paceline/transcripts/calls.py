"""Calls that launch or stop agents, as the thread that made them recorded it.

A thread is the main transcript or, for nested agents, an agent's own. Everything here comes from
rows the client wrote: tool calls, their structured results (``toolUseResult``) and the
``<task-notification>`` blocks. What an agent wrote inside them is looked at for one thing only:
whether the whole of it is the client's own error text (clients before 2.1.199).
"""

from __future__ import annotations

from paceline import paths, refusals
from paceline.refusals import clean

from . import prompts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from paceline.refusals import Refusal

AGENT_TOOLS = frozenset({"Agent", "Task"})
LABEL_MAX = 120
_EARLY = "Agent terminated early due to an API error:"
_NOTICE = "<task-notification>"
_INTERRUPTED = ("[Request interrupted by user", "The user doesn't want to ")
_HEAD = 4000
_IDS = 64_000
_DIGITS = 9
_LEFT = "before the previous session ended"
"""A resumed client (2.1.332) says in one notice, ``stopped``, who had not finished in the last one.
It does not say whether a person had stopped them."""
_STATUSES = frozenset({"completed", "failed", "stopped", "killed", "running"})


class Launch:
    """One call of ``Agent`` or ``Workflow``.

    Attributes:
        call: the tool_use id.
        message: id of the assistant message that made it; its agents are one run.
        at: epoch seconds.
        workflow: whether it launches a workflow instead of an agent.
        label: its description.
        agent_type: asked for, or "".
        model: asked for, or "".
        prompt_sha: fingerprint of the prompt, without its ticket.
        ticket: that its prompt carries, or "".
        script: of a workflow's completion, the id in its file's name, else "".
        preview: first words of the prompt.
    """

    __slots__ = (
        "agent_type",
        "at",
        "call",
        "label",
        "message",
        "model",
        "preview",
        "prompt_sha",
        "script",
        "ticket",
        "workflow",
    )

    def __init__(self, call: str, message: str, at: float, block: Mapping[str, Any]) -> None:
        given = block.get("input")
        given = given if isinstance(given, dict) else {}
        prompt = text_of(given.get("prompt"))
        self.call = call
        self.message = message
        self.at = at
        self.workflow = block.get("name") == "Workflow"
        self.label = clean(text_of(given.get("description")), LABEL_MAX)
        self.agent_type = clean(text_of(given.get("subagent_type")), LABEL_MAX)
        self.model = clean(text_of(given.get("model")), LABEL_MAX)
        self.prompt_sha = prompts.sha(prompts.without_ticket(prompt)) if prompt else ""
        self.ticket = prompts.ticket_in(prompt)
        self.script = completion_of(given.get("scriptPath"))
        self.preview = prompts.preview(prompt)


class Outcome:
    """What a call of ``Agent`` or ``Workflow`` came back with.

    Attributes:
        at: epoch seconds.
        status: ``completed``, ``launched`` (in the background), ``failed`` or ``stopped``.
        child: the agent's id, or "".
        run: the workflow's run id, or "".
        task: the workflow's task id, or "".
        tool_uses: tool calls the agent made, as the client counted them, or None.
        refusal: why it died, or None.
        left: its client ended before it did, whoever ended that one.
    """

    __slots__ = ("at", "child", "left", "refusal", "run", "status", "task", "tool_uses")

    def __init__(
        self,
        at: float,
        status: str,
        *,
        child: str = "",
        run: str = "",
        task: str = "",
        tool_uses: int | None = None,
        refusal: Refusal | None = None,
        left: bool = False,
    ) -> None:
        self.at = at
        self.status = status
        self.child = child
        self.run = run
        self.task = task
        self.tool_uses = tool_uses
        self.refusal = refusal
        self.left = left


class Calls:
    """The launches of one thread and what became of them.

    Attributes:
        launches: by tool_use id, in order.
        outcomes: by tool_use id.
        notices: the last notification by task id (an agent's id, or a workflow's task id).
        stopped: task ids a ``TaskStop`` call ended, with its time.
    """

    def __init__(self) -> None:
        self.launches: dict[str, Launch] = {}
        self.outcomes: dict[str, Outcome] = {}
        self.notices: dict[str, Outcome] = {}
        self.stopped: dict[str, float] = {}

    def add_assistant(self, row: Mapping[str, Any], at: float) -> None:
        """Take the launching calls of an assistant row."""
        message = row.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, list) or not isinstance(message, dict):
            return
        for block in content:
            if not isinstance(block, dict) or block.get("type") != "tool_use":
                continue
            call, name = block.get("id"), text_of(block.get("name"))
            if isinstance(call, str) and (name in AGENT_TOOLS or name == "Workflow"):
                told = message.get("id")
                launch = Launch(call, told if isinstance(told, str) else call, at, block)
                self.launches.setdefault(call, launch)

    def add_user(self, row: Mapping[str, Any], at: float) -> None:
        """Take the results of launching calls, stops and notifications of a user row."""
        message = row.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str):
            self.add_notice(content, at)
            return
        if not isinstance(content, list):
            return
        result = row.get("toolUseResult")
        for block in content:
            if not isinstance(block, dict) or block.get("type") != "tool_result":
                continue
            call = block.get("tool_use_id")
            if not isinstance(call, str):
                continue
            if isinstance(result, dict):
                self._add_result(call, result, at)
            if call in self.launches and call not in self.outcomes:
                self._add_plain(call, block, at)

    def _add_result(self, call: str, result: Mapping[str, Any], at: float) -> None:
        task = ident(result.get("task_id"))
        if task and text_of(result.get("message")).startswith("Successfully stopped"):
            self.stopped[task] = at
        if call not in self.launches:
            return
        child, run = ident(result.get("agentId")), ident(result.get("runId"))
        if not child and not run:
            return
        status = "launched" if text_of(result.get("status")).endswith("launched") else "completed"
        uses = result.get("totalToolUseCount")
        self.outcomes[call] = Outcome(
            at,
            status,
            child=child,
            run=run,
            task=ident(result.get("taskId")),
            tool_uses=uses if type(uses) is int else None,
            refusal=death_in(result.get("content"), at) if status == "completed" else None,
        )

    def _add_plain(self, call: str, block: Mapping[str, Any], at: float) -> None:
        """Take a result without structure: the call failed, or an old client's report."""
        text = first_text(block.get("content")).strip()
        if block.get("is_error") is not True:
            self.outcomes[call] = Outcome(at, "completed", refusal=death_in(text, at))
        elif text.startswith(_INTERRUPTED):
            self.outcomes[call] = Outcome(at, "stopped")
        else:
            plain = text.removeprefix("<tool_use_error>").removeprefix("Error: ")
            event = {"tool_name": "Agent", "error": plain}
            self.outcomes[call] = Outcome(
                at, "failed", refusal=refusals.from_tool_failure(event, at)
            )

    def add_notice(self, text: str, at: float) -> None:
        """Take a ``<task-notification>``. Its tags stand before the report; no other is read.

        One may be about several agents; their ids stand before the status.
        """
        start = text.find(_NOTICE)
        if start < 0 or text[:start].strip():
            return
        cut = text.find("<result>")
        head = text[:cut] if cut >= 0 else text
        ids, _, rest = head[:_IDS].partition("<status>")
        tasks = [
            task
            for one in ids.split("<task-id>")[1:]
            if (task := ident(one.partition("</task-id>")[0].strip()))
        ]
        status = rest[:_HEAD].partition("</status>")[0]
        if not tasks or status not in _STATUSES:
            return
        refusal = None
        summary = tag(rest[:_HEAD], "summary")
        if status == "failed":
            detail = summary.rfind(_EARLY)
            if detail >= 0:
                refusal = refusals.from_death_note(summary[detail:], at)
        elif status == "completed" and cut >= 0:
            refusal = refusals.from_result_text(tag(text[cut : cut + _HEAD], "result"), at)
        uses = tag(text[-_HEAD:], "tool_uses")
        counted = uses.isascii() and uses.isdigit() and len(uses) < _DIGITS
        for task in tasks:
            self.notices[task] = Outcome(
                at,
                "stopped" if status == "killed" else status,
                child=task,
                tool_uses=int(uses) if counted else None,
                refusal=refusal,
                left=status == "stopped" and _LEFT in summary,
            )


def completion_of(path: object) -> str:
    """Return the id in the file name of a completion script of ours, or ""."""
    name = text_of(path).replace("\\", "/").rpartition("/")[2]
    return ident(name.removesuffix(".js")) if name.startswith("tk_") else ""


def death_in(content: object, at: float) -> Refusal | None:
    """Return the refusal a report really is: the client's note at its start, or all of it."""
    text = first_text(content).strip()
    if text.startswith(_EARLY):
        return refusals.from_death_note(text, at)
    alone = not isinstance(content, list) or len(content) == 1
    return refusals.from_result_text(text, at) if alone else None


def tag(text: str, name: str) -> str:
    """Return what stands between the first ``<name>`` and the next ``</name>``, or ""."""
    start = text.find(f"<{name}>")
    if start < 0:
        return ""
    start += len(name) + 2
    end = text.find(f"</{name}>", start)
    return text[start:end] if end >= 0 else ""


def first_text(content: object) -> str:
    """Return the first text of a result's content."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        for block in content:
            if isinstance(block, dict) and isinstance(block.get("text"), str):
                return str(block["text"])
    return ""


def ident(value: object) -> str:
    """Return an id that may meet a path, or ""."""
    return value if isinstance(value, str) and paths.is_id(value) else ""


def text_of(value: object) -> str:
    """Return a text, or "" for anything else."""
    return value if isinstance(value, str) else ""
