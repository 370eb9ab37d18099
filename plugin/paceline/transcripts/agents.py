"""One agent's transcript: how it ended, what it cost, what it did. A fold over its rows."""

from __future__ import annotations

from paceline import refusals
from paceline.refusals import clean

from . import lines, prompts
from .calls import Calls, first_text, text_of
from .effects import Effects
from .usage import SYNTHETIC, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from paceline.refusals import Refusal

DONE, DIED, REFUSED, STOPPED, TOOL, WAITING, OPEN, EMPTY = (
    "done",
    "died",
    "refused",
    "stopped",
    "tool",
    "waiting",
    "open",
    "empty",
)
"""Ends of a transcript: a report; an error row of the client; content the model refused; stopped by
a person or ``TaskStop``; a tool call without its result; a result or prompt without an answer; an
answer that says not whether it is finished (older clients); no row at all."""

_CLOSERS = frozenset({"StructuredOutput", "SubagentHandback"})
"""Tools whose call is the agent's report."""

_ROWS_MAX = 64 * 1024
"""Bytes of a ``user`` row that is decoded; a longer one is a tool's result."""

_ERRORS_MAX = 200
_PARTIAL_MAX = 2000
_ATTEMPT = b'{"type":"api-request",'
_PASSED_OVER = (b'{"type":"api-request-', b'{"type":"attachment"')


class AgentRows:
    """What an agent's transcript tells.

    Attributes:
        end: how it stands (a constant of this module).
        last_at: epoch seconds of the row that decided ``end``, or None.
        first_at: epoch seconds of the first row, or None.
        refusal: the error row it ended with, or that was not answered since; else None.
        errors: every error row, with its time.
        revived: error rows that were followed by an answer with no message between: the same
            request was sent again.
        continued: messages that woke the agent after it had ended.
        usage: its tokens.
        lost: charged tokens up to the last error row.
        kept: charged tokens that a revival or continuation did not have to pay again.
        attempts: requests sent, answered or not (clients that write them down), else 0.
        answered: of those, the answered ones.
        tool_uses: tool calls it made.
        effects: what it left in the world.
        prompt_sha: fingerprint of its prompt (without a ticket), or "".
        ticket: that its prompt carries, or "".
        preview: first words of its prompt.
        calls: agents it launched itself.
        odd: lines that were no rows, were too long, or were cut.
    """

    def __init__(self) -> None:
        self.end = EMPTY
        self.last_at: float | None = None
        self.first_at: float | None = None
        self.refusal: Refusal | None = None
        self.errors: list[tuple[float, Refusal]] = []
        self.revived = 0
        self.continued = 0
        self.usage = Usage()
        self.lost = 0
        self.kept = 0
        self.attempts = 0
        self.answered = 0
        self.tool_uses = 0
        self.effects = Effects()
        self.prompt_sha = ""
        self.ticket = ""
        self.preview = ""
        self.calls = Calls()
        self.odd = 0
        self._closing: set[str] = set()
        self._blocks: set[str] = set()
        self._refs: set[str] = set()
        self._woken = False
        self._undated = b""
        self._model = ""
        self._version: Any = ""
        self._partial = ""

    @property
    def model(self) -> str:
        """The model that answered last, or ""."""
        return clean(self._model, 80)

    @property
    def version(self) -> str:
        """The client's version, or ""."""
        return clean(self._version, 40) if isinstance(self._version, str) else ""

    @property
    def partial(self) -> str:
        """The last words it wrote, fit for a terminal, or ""."""
        return clean(self._partial)

    def add(self, line: bytes, now: float, *, whole: bool = True) -> None:
        """Take one line."""
        if line.startswith(_ATTEMPT):
            self.attempts += 1
        elif line.startswith(_PASSED_OVER):
            return
        elif not whole:
            self._headless(line)
        elif b'"assistant"' in line:
            self._row(lines.parse(line), now)
        elif b'"user"' in line:
            if self._plain_result(line):
                self._turn(WAITING, None)
                self._undated = line
            else:
                self._row(lines.parse(line), now)

    def finish(self, now: float) -> None:
        """Date the last row, after the last line was taken."""
        row = lines.parse(self._undated) if self._undated else None
        if row is not None:
            self.last_at = refusals.row_time(row, now)

    def _plain_result(self, line: bytes) -> bool:
        """Say whether a ``user`` row only brings back a tool's result, which is most of a file."""
        if not self.preview or self.calls.launches or self._closing:
            return False
        return b'"tool_result"' in line or len(line) > _ROWS_MAX

    def _headless(self, head: bytes) -> None:
        """Take a line too long to decode, by its head."""
        self.odd += 1
        if b'"assistant"' in head:
            self._turn(TOOL, None)
        elif b'"user"' in head:
            self._turn(WAITING, None)

    def _row(self, row: dict[str, Any] | None, now: float) -> None:
        if row is None:
            self.odd += 1
            return
        kind = row.get("type")
        if kind in ("assistant", "user"):
            at = refusals.row_time(row, now)
            self.first_at = at if self.first_at is None else self.first_at
            self._version = row.get("version") or self._version
            self._undated = b""
            if kind == "assistant":
                self._answer(row, at, now)
            else:
                self._user(row, at)
        elif kind == "api-request":
            self.attempts += 1

    def _answer(self, row: Mapping[str, Any], at: float, now: float) -> None:
        message = row.get("message")
        message = message if isinstance(message, dict) else {}
        refusal = refusals.from_row(row, now)
        if refusal is None and message.get("model") == SYNTHETIC:
            # The client's own words, not the model's: an old client's error, or a remark.
            refusal = refusals.from_result_text(first_text(message.get("content")), at)
            if refusal is None:
                return
        if refusal is not None:
            if len(self.errors) < _ERRORS_MAX:
                self.errors.append((at, refusal))
            self.refusal = refusal
            self.lost = self.usage.charged()
            self._woken = False
            self._turn(DIED, at)
            return
        if self.end == DIED and not self._woken:
            self.revived += 1
            self.kept += self.lost
        self._woken = False
        self.refusal = None
        self.usage.add(row)
        self.calls.add_assistant(row, at)
        model = message.get("model")
        if isinstance(model, str) and not model.startswith("<"):
            self._model = model
        ref = row.get("requestRef")
        if isinstance(ref, str) and ref not in self._refs:
            self._refs.add(ref)
            self.answered += 1
        self._turn(self._blocks_of(message), at)

    def _blocks_of(self, message: Mapping[str, Any]) -> str:
        """Take the content of an answer and return how the transcript now stands."""
        stop = message.get("stop_reason")
        content = message.get("content")
        tool = closed = False
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use":
                tool = True
                self._tool(block)
                closed = closed or text_of(block.get("name")) in _CLOSERS
            elif isinstance(block.get("text"), str):
                self._partial = block["text"][:_PARTIAL_MAX].strip() or self._partial
        if closed:
            return DONE
        if tool or stop == "tool_use":
            return TOOL
        if stop == "refusal":
            return REFUSED
        return DONE if isinstance(stop, str) else OPEN

    def _tool(self, block: Mapping[str, Any]) -> None:
        call = block.get("id")
        if not isinstance(call, str) or call in self._blocks:
            return
        self._blocks.add(call)
        self.tool_uses += 1
        self.effects.add(block)
        if text_of(block.get("name")) in _CLOSERS:
            self._closing.add(call)

    def _user(self, row: Mapping[str, Any], at: float) -> None:
        if not self.preview and not self.prompt_sha:
            prompt = prompts.of_row(row)
            if prompt:
                self.prompt_sha = prompts.sha(prompts.without_ticket(prompt))
                self.ticket = prompts.ticket_in(prompt)
                self.preview = prompts.preview(prompt)
        self.calls.add_user(row, at)
        message = row.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        results = [
            block
            for block in (content if isinstance(content, list) else ())
            if isinstance(block, dict) and block.get("type") == "tool_result"
        ]
        if results:
            done = [b for b in results if text_of(b.get("tool_use_id")) in self._closing]
            ended = any(b.get("is_error") is not True for b in done)
            self._turn(DONE if ended else WAITING, at)
        elif prompts.of_row(row).startswith("[Request interrupted by user"):
            self._turn(STOPPED, at)
        elif self.end in (DONE, DIED, STOPPED, REFUSED, OPEN) and not self._woken:
            if row.get("isMeta") is True and "origin" not in row:
                return  # a reminder of the client's own, which wakes nobody
            self.continued += 1
            self.kept += self.lost if self.end == DIED else 0
            self._woken = True
            self._turn(WAITING, at)
        else:
            self._turn(WAITING, at)

    def _turn(self, end: str, at: float | None) -> None:
        self.end = end
        if at is not None:
            self.last_at = at


def read_agent(path: str, now: float) -> AgentRows:
    """Return what an agent's transcript tells; an ``empty`` one where it cannot be read.

    Args:
        path: of the transcript. A file of any size is read as a stream.
        now: epoch seconds, for rows that tell no time.
    """
    rows = AgentRows()
    for line, whole in lines.lines(path):
        rows.add(line, now, whole=whole)
    rows.finish(now)
    return rows
