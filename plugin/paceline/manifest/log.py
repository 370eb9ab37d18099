"""The event log of one session folded into facts about its agents. Pure.

Lines may be missing, doubled, late or of a newer version; each is taken for what it says and never
trusted to be the only one (docs/events.md).
"""

from __future__ import annotations

from paceline.refusals import Refusal, clean
from paceline.transcripts import usage
from paceline.transcripts.calls import ident, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

AGENT_TOOLS = frozenset({"Agent", "Task"})
INCIDENT_S = 60.0
"""Refusals of one cause with nobody's id, at most this far apart, are one incident."""
TIMELINE_MAX = 2000
_HELD = ("wait", "grant", "refused", "revived")


class AgentLog:
    """What the log tells of one agent.

    Attributes:
        type: from its start or stop, "" while unknown.
        started: times of ``agent.start``.
        stopped: time and whether it was empty, of the last ``agent.stop``.
        failed: time and refusal of the last ``agent.failed``.
        refused: time and refusal of the last ``request.refused``.
        waits: since when it is held (the ``request.wait`` without a grant), or None.
        granted: time of the last grant.
        revivals: how often the gate brought it back.
        revived_at: last time it did, or None.
        held: seconds it was held in all.
        tokens: settled tokens by kind.
        seen: time of its last line.
    """

    def __init__(self) -> None:
        self.type = ""
        self.started: list[float] = []
        self.stopped: tuple[float, bool] | None = None
        self.failed: tuple[float, Refusal] | None = None
        self.refused: tuple[float, Refusal] | None = None
        self.waits: float | None = None
        self.granted: float | None = None
        self.revivals = 0
        self.revived_at: float | None = None
        self.held = 0.0
        self.tokens = usage.none()
        self.seen = 0.0

    def known(self) -> bool:
        """Whether this is an agent somebody launched, and not a helper of the client."""
        return bool(self.type or self.started)


class CallLog:
    """What the log tells of one call of ``Agent`` or ``Workflow``.

    Attributes:
        call: the tool_use id.
        parent: the agent that made it, or "" for the main thread.
        at: epoch seconds.
        workflow: whether it is a workflow's.
        label, agent_type, model, prompt_sha, ticket, script: of the launch, each "" when not told.
        child: the agent's id, or "".
        run: the workflow's run id, or "".
        task: the workflow's task id, or "".
        folder: of the workflow's transcripts, or "".
        status: ``launched``, ``completed``, ``failed``, ``stopped``, or "" while open.
        ended_at: epoch seconds of that status.
        refusal: why it failed, or None.
        batch: number of the batch (one assistant message) it belonged to, or None.
    """

    def __init__(self, call: str, at: float) -> None:
        self.call = call
        self.parent = ""
        self.at = at
        self.workflow = False
        self.label = ""
        self.agent_type = ""
        self.model = ""
        self.prompt_sha = ""
        self.ticket = ""
        self.script = ""
        self.child = ""
        self.run = ""
        self.task = ""
        self.folder = ""
        self.status = ""
        self.ended_at = 0.0
        self.refusal: Refusal | None = None
        self.batch: int | None = None


class Requeue:
    """One ticket that was given out.

    Attributes:
        ticket: its id.
        of: the dead agent's id.
        how: ``send_message``, ``agent`` or ``workflow``.
        script: id of the completion script it is in, or "".
        at: epoch seconds.
    """

    def __init__(self, ticket: str, of: str, how: str, script: str, at: float) -> None:
        self.ticket = ticket
        self.of = of
        self.how = how
        self.script = script
        self.at = at


class Log:
    """What the log of one session tells.

    Attributes:
        agents: by agent id.
        calls: by tool_use id.
        tasks: last status by task id (agent or workflow task), with its time.
        requeues: tickets in the order they were given.
        incidents: refusals of the main thread or a helper, collapsed:
            ``[cause, first, last, count]``.
        timeline: holds, grants, refusals and revivals: ``{"t", "what", "agent", …}``.
        transcript: path of the main transcript, or "".
        account: or "".
        started_at, ended_at: epoch seconds of the session, or None.
        seen: time of the last line.
        lines: how many were folded.
    """

    def __init__(self) -> None:
        self.agents: dict[str, AgentLog] = {}
        self.calls: dict[str, CallLog] = {}
        self.tasks: dict[str, tuple[float, str]] = {}
        self.requeues: list[Requeue] = []
        self.incidents: list[list[Any]] = []
        self.timeline: list[dict[str, Any]] = []
        self.transcript = ""
        self.account = ""
        self.started_at: float | None = None
        self.ended_at: float | None = None
        self.seen = 0.0
        self.lines = 0
        self._batches = 0

    def call(self, line: Mapping[str, Any], at: float) -> CallLog:
        """Return the call a line is about, new where it is the first one."""
        key = ident(line.get("id"))
        call = self.calls.get(key)
        if call is None:
            call = CallLog(key, at)
            if key:
                self.calls[key] = call
            call.workflow = line.get("tool") == "Workflow"
            call.parent = ident(line.get("agent"))
        return call

    def agent(self, line: Mapping[str, Any], at: float) -> AgentLog | None:
        """Return the agent a line is about, or None for the main thread."""
        key = ident(line.get("agent"))
        if not key:
            return None
        agent = self.agents.setdefault(key, AgentLog())
        agent.seen = max(agent.seen, at)
        return agent


def fold(lines: Iterable[Mapping[str, Any]]) -> Log:
    """Return what the lines tell. A line without a kind or a time is passed over."""
    log = Log()
    for line in lines:
        kind, at = line.get("e"), line.get("t")
        if not isinstance(kind, str) or not isinstance(at, (int, float)) or isinstance(at, bool):
            continue
        log.lines += 1
        log.seen = max(log.seen, at)
        take = _KINDS.get(kind)
        if take is not None:
            take(log, line, float(at))
        if kind.startswith("request.") and kind.removeprefix("request.") in _HELD:
            _timeline(log, kind.removeprefix("request."), line, float(at))
    return log


def _session_start(log: Log, line: Mapping[str, Any], at: float) -> None:
    log.transcript = text_of(line.get("transcript")) or log.transcript
    log.account = text_of(line.get("account")) or log.account
    log.started_at = at if log.started_at is None else log.started_at
    log.ended_at = None


def _session_end(log: Log, _line: Mapping[str, Any], at: float) -> None:
    log.ended_at = at


def _prompt(log: Log, line: Mapping[str, Any], at: float) -> None:
    tasks = line.get("tasks")
    for task in tasks if isinstance(tasks, list) else ():
        if isinstance(task, dict) and ident(task.get("id")):
            log.tasks[task["id"]] = (at, text_of(task.get("status")))


def _before(log: Log, line: Mapping[str, Any], at: float) -> None:
    tool = text_of(line.get("tool"))
    agent = log.agent(line, at)
    if agent is None and tool not in AGENT_TOOLS and tool != "Workflow":
        return
    if tool in AGENT_TOOLS or tool == "Workflow":
        call = log.call(line, at)
        call.label = text_of(line.get("label"))
        call.agent_type = text_of(line.get("agent_type"))
        call.model = text_of(line.get("model"))
        call.prompt_sha = text_of(line.get("prompt_sha"))
        call.ticket = ident(line.get("ticket"))
        call.script = ident(line.get("script"))


def _after(log: Log, line: Mapping[str, Any], at: float) -> None:
    log.agent(line, at)
    tool = text_of(line.get("tool"))
    if tool not in AGENT_TOOLS and tool != "Workflow":
        return
    call = log.call(line, at)
    call.child = ident(line.get("child"))
    call.run = ident(line.get("run"))
    call.task = ident(line.get("task"))
    call.folder = text_of(line.get("dir"))
    call.model = text_of(line.get("model")) or call.model
    call.refusal = Refusal.of_fields(dict(line))
    status = text_of(line.get("status"))
    call.status = "launched" if status.endswith("launched") else "completed"
    call.ended_at = at


def _failed_call(log: Log, line: Mapping[str, Any], at: float) -> None:
    log.agent(line, at)
    tool = text_of(line.get("tool"))
    if tool in AGENT_TOOLS or tool == "Workflow":
        call = log.call(line, at)
        call.status = "stopped" if line.get("interrupted") is True else "failed"
        call.refusal = Refusal.of_fields(dict(line))
        call.ended_at = at


def _batch(log: Log, line: Mapping[str, Any], at: float) -> None:
    log.agent(line, at)
    ids = line.get("ids")
    log._batches += 1  # noqa: SLF001 - the fold is the log's own
    for key in ids if isinstance(ids, list) else ():
        call = log.calls.get(key) if isinstance(key, str) else None
        if call is not None and call.batch is None:
            call.batch = log._batches  # noqa: SLF001


def _start(log: Log, line: Mapping[str, Any], at: float) -> None:
    agent = log.agent(line, at)
    if agent is not None:
        agent.type = text_of(line.get("type")) or agent.type
        agent.started.append(at)


def _stop(log: Log, line: Mapping[str, Any], at: float) -> None:
    agent = log.agent(line, at)
    if agent is not None:
        agent.type = text_of(line.get("type")) or agent.type
        agent.stopped = (at, line.get("empty") is True)
        agent.waits = None


def _failed(log: Log, line: Mapping[str, Any], at: float) -> None:
    refusal = Refusal.of_fields(dict(line)) or Refusal("unknown")
    agent = log.agent(line, at)
    if agent is not None:
        agent.type = text_of(line.get("type")) or agent.type
        agent.failed = (at, refusal)
        agent.waits = None
        return
    last = log.incidents[-1] if log.incidents else None
    if last is not None and last[0] == refusal.cause and at - last[2] <= INCIDENT_S:
        last[2] = at
        last[3] += 1
    else:
        log.incidents.append([refusal.cause, at, at, 1])


def _wait(log: Log, line: Mapping[str, Any], at: float) -> None:
    agent = log.agent(line, at)
    if agent is not None:
        agent.waits = at


def _grant(log: Log, line: Mapping[str, Any], at: float) -> None:
    agent = log.agent(line, at)
    if agent is not None:
        agent.waits = None
        agent.granted = at
        waited = line.get("waited")
        if isinstance(waited, (int, float)) and 0 < waited < 1e7:  # noqa: PLR2004
            agent.held += waited


def _settle(log: Log, line: Mapping[str, Any], at: float) -> None:
    agent = log.agent(line, at)
    if agent is not None:
        for kind in agent.tokens:
            count = line.get(kind)
            if type(count) is int and 0 < count < 10**12:
                agent.tokens[kind] += count


def _refused(log: Log, line: Mapping[str, Any], at: float) -> None:
    agent = log.agent(line, at)
    refusal = Refusal.of_fields(dict(line))
    if agent is not None and refusal is not None:
        agent.refused = (at, refusal)


def _revived(log: Log, line: Mapping[str, Any], at: float) -> None:
    agent = log.agent(line, at)
    if agent is not None:
        told = line.get("n")
        agent.revivals = max(agent.revivals + 1, told if type(told) is int else 0)
        agent.revived_at = at


def _requeue(log: Log, line: Mapping[str, Any], at: float) -> None:
    ticket, of = ident(line.get("ticket")), ident(line.get("of"))
    if ticket and of:
        how, script = text_of(line.get("how")), ident(line.get("script"))
        log.requeues.append(Requeue(ticket, of, how, script, at))


def _timeline(log: Log, what: str, line: Mapping[str, Any], at: float) -> None:
    entry: dict[str, Any] = {"t": at, "what": what, "agent": ident(line.get("agent")) or None}
    for name in ("class", "by", "cause", "window", "dimension"):
        if isinstance(line.get(name), str):
            entry[name] = clean(line[name], 40)
    for name in ("waited", "cost", "resets_at", "n", "attempt"):
        if isinstance(line.get(name), (int, float)):
            entry[name] = line[name]
    log.timeline.append(entry)
    if len(log.timeline) > TIMELINE_MAX:
        del log.timeline[: TIMELINE_MAX // 4]


_KINDS: dict[str, Callable[[Log, Mapping[str, Any], float], None]] = {
    "session.start": _session_start,
    "session.end": _session_end,
    "prompt": _prompt,
    "tool.before": _before,
    "tool.after": _after,
    "tool.failed": _failed_call,
    "batch": _batch,
    "agent.start": _start,
    "agent.stop": _stop,
    "agent.failed": _failed,
    "request.wait": _wait,
    "request.grant": _grant,
    "request.settle": _settle,
    "request.refused": _refused,
    "request.revived": _revived,
    "requeue": _requeue,
}
