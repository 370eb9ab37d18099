"""What was read of a session, and the entries made of it: one an agent, one a workflow's item."""

from __future__ import annotations

from paceline import agent_types, refusals
from paceline.transcripts import usage
from paceline.transcripts.calls import Outcome, text_of

from . import state
from .model import Attempt, Entry
from .state import Known, standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from paceline.transcripts.agents import AgentRows
    from paceline.transcripts.calls import Launch
    from paceline.transcripts.find import AgentFile
    from paceline.transcripts.threads import Thread
    from paceline.transcripts.workflows import Item, Workflow

    from .log import CallLog, Log


class Read:
    """What was read of one agent: its file, its sidecar, its rows."""

    __slots__ = ("file", "meta", "rows")

    def __init__(self, file: AgentFile, meta: Mapping[str, Any], rows: AgentRows) -> None:
        self.file = file
        self.meta = meta
        self.rows = rows


class Parts:
    """Everything that was read of one session.

    Attributes:
        session: its id.
        thread: its main transcript.
        agents: agents outside workflows, by id.
        workflows: by run id, with the agents read for each.
        log: its event log.
        gate_alive: whether a gate is alive in it now.
        elsewhere: ids of agents whose files lie with another session.
    """

    def __init__(self, session: str, thread: Thread, log: Log, *, gate_alive: bool = False) -> None:
        self.elsewhere: frozenset[str] = frozenset()
        self.session = session
        self.thread = thread
        self.agents: dict[str, Read] = {}
        self.workflows: dict[str, tuple[Workflow, dict[str, Read]]] = {}
        self.log = log
        self.gate_alive = gate_alive


class Call:
    """One launching call, from whichever side it was seen."""

    __slots__ = ("launch", "log", "outcome", "parent")

    def __init__(self, launch: Launch, parent: str) -> None:
        self.launch = launch
        self.parent = parent
        self.outcome: Outcome | None = None
        self.log: CallLog | None = None


def agent_entry(parts: Parts, run: str, agent: str, call: Call | None, now: float) -> Entry:
    read = parts.agents.get(agent)
    known = _known(parts, agent, read)
    if call is not None:
        known.outcome = call.outcome
        known.launched_at = call.launch.at
    entry = Entry(parts.session, run, agent, standing(known, now))
    if agent:
        entry.attempts = [
            Attempt(agent, read.file.path if read else "", read.rows if read else None)
        ]
    if call is not None:
        launch = call.launch
        entry.label, entry.agent_type, entry.model = launch.label, launch.agent_type, launch.model
        entry.preview, entry.prompt_sha = launch.preview, launch.prompt_sha
        entry.ticket = launch.ticket
        entry.parent = call.parent
        entry.launched_at = launch.at
        entry.ended_at = call.outcome.at if call.outcome else None
    for told in (known.outcome, known.notice):
        if told is not None and told.tool_uses is not None:
            entry.told_tool_uses = told.tool_uses
    _describe(entry, parts, agent, read)
    return entry


def item_entry(
    parts: Parts,
    run: str,
    item: Item,
    read: Mapping[str, Read],
    now: float,
    *,
    ended: bool,
    stopped: bool,
) -> Entry:
    last = item.agents[-1]
    known = _known(parts, last, read.get(last))
    known.item = item
    known.run_ended = ended
    known.run_stopped = stopped
    entry = Entry(parts.session, run, item.key, standing(known, now))
    entry.label, entry.phase = item.label, item.phase
    entry.model, entry.preview = item.model, item.preview
    entry.queued_at = item.queued_at
    for agent in item.agents:
        one = read.get(agent)
        entry.attempts.append(
            Attempt(agent, one.file.path if one else "", one.rows if one else None)
        )
        _describe(entry, parts, agent, one)
    entry.agent_type = entry.agent_type or agent_types.WORKFLOW
    return entry


def _known(parts: Parts, agent: str, read: Read | None) -> Known:
    known = Known()
    known.rows = read.rows if read else None
    known.mtime = read.file.mtime if read else None
    known.log = parts.log.agents.get(agent)
    known.gate_alive = parts.gate_alive
    known.session_ended = parts.log.ended_at
    threads = [parts.thread.calls, *(other.rows.calls for other in parts.agents.values())]
    for calls in threads:
        known.notice = calls.notices.get(agent) or known.notice
        known.stopped_at = calls.stopped.get(agent, known.stopped_at)
    task = parts.log.tasks.get(agent)
    if known.notice is None and task is not None and task[1] in ("completed", "failed", "stopped"):
        known.notice = Outcome(task[0], task[1], child=agent)
    return known


def _describe(entry: Entry, parts: Parts, agent: str, read: Read | None) -> None:
    """Fill in what sidecar, transcript and log tell of an agent."""
    if read is not None:
        meta, rows = read.meta, read.rows
        entry.label = entry.label or short(meta.get("description"))
        entry.agent_type = short(meta.get("agentType")) or entry.agent_type
        entry.phase = entry.phase or short(meta.get("workflowPhase"))
        entry.parent = entry.parent or short(meta.get("parentAgentId"))
        entry.model = rows.model or short(meta.get("model")) or entry.model
        entry.preview = rows.preview or entry.preview
        entry.prompt_sha = rows.prompt_sha or entry.prompt_sha
        entry.ticket = rows.ticket or entry.ticket
        entry.launched_at = entry.launched_at or rows.first_at
        entry.ended_at = rows.last_at or entry.ended_at
        entry.deaths += rows.errors
        entry.revivals += rows.revived
        entry.continued += rows.continued if rows.errors else 0
        if rows.errors and rows.continued and entry.standing.state != state.DROPPED:
            entry.requeued_as = agent
    log = parts.log.agents.get(agent)
    if log is not None:
        entry.agent_type = entry.agent_type or log.type
        entry.launched_at = entry.launched_at or (log.started[0] if log.started else None)
        entry.revivals = max(entry.revivals, log.revivals)
        entry.held += log.held
        if read is None:
            entry.log_tokens = usage.total(log.tokens)
            entry.deaths += [one for one in (log.refused, log.failed) if one is not None]
    entry.deaths.sort(key=lambda death: death[0])
    refusal = entry.standing.refusal
    if entry.standing.state == state.DROPPED and refusal is not None and not entry.deaths:
        entry.deaths = [(entry.ended_at or entry.launched_at or 0.0, refusal)]


def short(value: object) -> str:
    return refusals.clean(text_of(value), 120)
