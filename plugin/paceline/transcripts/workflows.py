"""A workflow's journal and record: its items, their attempts and results.

An item is one ``agent()`` call of the script: one journal key, however many agents tried it. The
journal has ``started`` and ``result`` lines (and ``failed``, since about 2.1.300); a dead agent may
leave nothing. The record is written when the run ends; it calls itself completed whatever died.
"""

from __future__ import annotations

import os

from paceline import refusals
from paceline.refusals import clean

from . import lines
from .calls import LABEL_MAX, ident, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from paceline.refusals import Refusal

KEY_MAX = 128
_STOPPED = ("stop", "kill", "cancel", "abort", "skip")


class Item:
    """One ``agent()`` call.

    Attributes:
        key: the journal's.
        agents: ids that tried it, in order.
        label: or "".
        phase: or "".
        state: ``done``, ``failed`` (said so), ``stopped``, or "" while nothing tells.
        refusal: what the record or an old client's result says it died of, or None.
        has_result: whether the journal has a result that is not null.
        result: what the call returned.
        model: or "".
        preview: first words of the prompt, from the record.
        journaled: whether the journal knows it.
        index: its place among the script's calls, from the record, or None.
        tokens: the client's count in the record, or None.
        queued_at: epoch seconds, from the record, or None.
    """

    def __init__(self, key: str) -> None:
        self.key = clean(key, KEY_MAX)
        self.agents: list[str] = []
        self.label = ""
        self.phase = ""
        self.state = ""
        self.refusal: Refusal | None = None
        self.has_result = False
        self.result: Any = None
        self.model = ""
        self.preview = ""
        self.tokens: int | None = None
        self.queued_at: float | None = None
        self.journaled = False
        self.index: int | None = None


class Workflow:
    """One run of a workflow.

    Attributes:
        run: its id.
        items: in the order they started.
        name: of the script, or "".
        task: its task id, or "".
        ended: whether the run is over.
        stopped: whether a person or ``TaskStop`` ended it.
        started_at: epoch seconds, or None.
        ended_at: epoch seconds, or None.
        script: the script's text, or "".
        args: what it was called with (None when nothing).
        keep_results: whether results and the script are kept (they can be large).
    """

    def __init__(self, run: str, *, keep_results: bool = False) -> None:
        self.run = run
        self.items: list[Item] = []
        self.name = ""
        self.task = ""
        self.ended = False
        self.stopped = False
        self.started_at: float | None = None
        self.ended_at: float | None = None
        self.script = ""
        self.args: Any = None
        self.keep_results = keep_results
        self._keys: dict[str, Item] = {}
        self._agents: dict[str, Item] = {}

    def item_of(self, agent: str) -> Item | None:
        """Return the item an agent worked on."""
        return self._agents.get(agent)

    def in_order(self) -> list[Item]:
        """Return the items in the order the script called for them, as far as the record tells."""
        if all(item.index is not None for item in self.items):
            return sorted(self.items, key=lambda item: item.index or 0)
        return list(self.items)

    def add_agent(self, agent: str) -> Item:
        """Return the item of an agent; one of its own where the journal does not know it."""
        return self._agents.get(agent) or self._start(agent, agent)

    def add_journal(self, row: dict[str, Any], now: float) -> None:
        """Take one line of the journal."""
        kind = row.get("type")
        key, agent = row.get("key"), ident(row.get("agentId"))
        if kind not in ("started", "result", "failed") or not isinstance(key, str) or not agent:
            return
        item = self._start(key, agent)
        item.journaled = True
        item.label = clean(text_of(row.get("label")), LABEL_MAX) or item.label
        item.phase = clean(text_of(row.get("phase")), LABEL_MAX) or item.phase
        if kind == "started":
            # A new attempt begins where the last one died; a result already there stands.
            if item.state == "failed":
                item.state = ""
        elif kind == "failed":
            if not item.has_result:
                item.state = "failed"
        else:
            self._result(item, row.get("result"), now)

    def _result(self, item: Item, result: Any, now: float) -> None:
        if isinstance(result, str):
            item.refusal = refusals.from_result_text(result, now)
            if item.refusal is not None:
                item.state = "failed"
                return
        item.state = "done"
        item.refusal = None
        item.has_result = result is not None
        if self.keep_results:
            item.result = result

    def _start(self, key: str, agent: str) -> Item:
        item = self._keys.get(key)
        if item is None:
            item = self._keys[key] = Item(key)
            self.items.append(item)
        if agent not in item.agents:
            item.agents.append(agent)
        self._agents[agent] = item
        return item

    def add_record(self, record: dict[str, Any], now: float) -> None:
        """Take the run's record."""
        self.ended = True
        self.name = clean(text_of(record.get("workflowName")), LABEL_MAX)
        self.task = ident(record.get("taskId"))
        status = text_of(record.get("status")).lower()
        self.stopped = any(word in status for word in _STOPPED)
        start, spent = record.get("startTime"), record.get("durationMs")
        if isinstance(start, (int, float)):
            self.started_at = start / 1000
            if isinstance(spent, (int, float)):
                self.ended_at = (start + spent) / 1000
        if self.keep_results:
            self.script = text_of(record.get("script"))
            self.args = record.get("args")
        progress = record.get("workflowProgress")
        for entry in progress if isinstance(progress, list) else ():
            agent = ident(entry.get("agentId")) if isinstance(entry, dict) else ""
            if agent:
                self._progress(self.add_agent(agent), entry, now)

    def _progress(self, item: Item, entry: dict[str, Any], now: float) -> None:
        item.label = item.label or clean(text_of(entry.get("label")), LABEL_MAX)
        item.phase = item.phase or clean(text_of(entry.get("phaseTitle")), LABEL_MAX)
        item.model = clean(text_of(entry.get("model")), LABEL_MAX) or item.model
        item.preview = item.preview or clean(text_of(entry.get("promptPreview")), 120)
        index = entry.get("index")
        item.index = index if type(index) is int and item.index is None else item.index
        queued = entry.get("queuedAt")
        item.queued_at = queued / 1000 if isinstance(queued, (int, float)) else item.queued_at
        tokens = entry.get("tokens")
        item.tokens = tokens if type(tokens) is int else item.tokens
        state = text_of(entry.get("state")).lower()
        if item.has_result:
            return
        if any(word in state for word in _STOPPED):
            item.state = "stopped"
        elif state == "error":
            item.state = "failed"
            item.refusal = item.refusal or refusals.from_result_text(
                text_of(entry.get("error")), now
            )
        elif state == "done":
            # The record calls an agent done that ended without the object its schema asks for; the
            # journal, where there is one, has no result of it.
            item.state = "failed" if item.journaled else "done"


def read_workflow(
    run: str,
    folders: Iterable[str],
    records: Iterable[str],
    now: float,
    *,
    keep_results: bool = False,
) -> Workflow:
    """Return one run from its folders of transcripts and its records; any may be missing.

    There is one of each as a rule; a run that outlived its session (a compaction, a resumed
    session) may have left files with both.
    """
    found = Workflow(run, keep_results=keep_results)
    for folder in folders:
        for line, whole in lines.lines(os.path.join(folder, "journal.jsonl")):
            row = lines.parse(line) if whole else None
            if row is not None:
                found.add_journal(row, now)
    for record in records:
        told = read_object(record)
        if told:
            found.add_record(told, now)
    return found


def read_object(path: str) -> dict[str, Any]:
    """Return the object a JSON file holds, or an empty one where it holds none."""
    try:
        with open(path, "rb") as file:
            data = file.read(lines.LINE_MAX * 4)
    except OSError:
        return {}
    return lines.parse(data) or {}
