"""One session's runs, put together from its files and its event log. Pure but for what it is given.

An agent belongs to the message that made its call: known by the call id in the agent's sidecar
file, by the call's result, or by the event log. What nobody can place is grouped by the time it
began; what the client starts for itself (compaction, suggestions) is counted and left out.
"""

from __future__ import annotations

from paceline import agent_types, paths
from paceline.refusals import clean
from paceline.transcripts import agents as ends
from paceline.transcripts import prompts
from paceline.transcripts.calls import Calls, Launch, Outcome

from . import placing, state
from .entries import Call, Parts, Read, agent_entry, item_entry, short
from .model import Entry, Run, Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .log import Log

GAP_S = 10.0
"""Agents nobody can place that began at most this far apart are one run."""


def assemble(parts: Parts, now: float) -> Session:
    """Return the session's runs and what else is told of it, as they stand at ``now``."""
    session = Session(parts.session)
    calls = _calls(parts)
    placed = placing.placed(parts, calls)
    _agent_runs(session, parts, calls, placed, now)
    session.runs += [_workflow_run(parts, run, calls, now) for run in sorted(parts.workflows)]
    _unplaced(session, parts, placed, now)
    _tickets(session, parts)
    session.completions = {
        call.launch.script: (call.launch.at, call.outcome.run if call.outcome else "")
        for call in calls.values()
        if call.launch.script
    }
    session.timeline = parts.log.timeline
    session.incidents = parts.log.incidents
    session.main_errors = parts.thread.errors
    session.account = short(parts.log.account)
    session.unknown = _unknown(session, parts)
    session.seen = max(
        [parts.log.seen]
        + [read.file.mtime for read in parts.agents.values()]
        + [read.file.mtime for _, some in parts.workflows.values() for read in some.values()]
    )
    return session


def _calls(parts: Parts) -> dict[str, Call]:
    """Return every launching call by its id, transcripts first."""
    found: dict[str, Call] = {}
    threads: list[tuple[str, Calls]] = [("", parts.thread.calls)]
    threads += [(agent, read.rows.calls) for agent, read in parts.agents.items()]
    for _, some in parts.workflows.values():
        threads += [(agent, read.rows.calls) for agent, read in some.items()]
    for parent, calls in threads:
        for key, launch in calls.launches.items():
            call = found.setdefault(key, Call(launch, parent))
            call.outcome = calls.outcomes.get(key) or call.outcome
    for key, told in parts.log.calls.items():
        if key not in found:
            message = f"batch_{told.batch}" if told.batch is not None else key
            block = {"name": "Workflow" if told.workflow else "Agent"}
            launch = Launch(key, message, told.at, block)
            launch.label, launch.agent_type = told.label, told.agent_type
            launch.model, launch.prompt_sha = told.model, told.prompt_sha
            launch.ticket, launch.script = told.ticket, told.script
            found[key] = Call(launch, told.parent)
        call = found[key]
        call.log = told
        if call.outcome is None and told.status:
            call.outcome = Outcome(
                told.ended_at,
                told.status,
                child=told.child,
                run=told.run,
                task=told.task,
                refusal=told.refusal,
            )
    return found


def _agent_runs(
    session: Session,
    parts: Parts,
    calls: Mapping[str, Call],
    placed: Mapping[str, str],
    now: float,
) -> None:
    children: dict[str, str] = {key: agent for agent, key in placed.items()}
    runs: dict[str, Run] = {}
    for key, call in calls.items():
        if call.launch.workflow:
            continue
        child = children.get(key, "")
        if child and child not in parts.agents and child in parts.elsewhere:
            continue  # a resumed session repeats old rows
        ident = _run_id(call.launch.message)
        run = runs.get(ident)
        if run is None:
            run = runs[ident] = Run(ident, parts.session, "agents")
            session.runs.append(run)
        entry = agent_entry(parts, run.run, child, call, now)
        entry.key = clean(key, 128)
        run.entries.append(entry)
    for run in runs.values():
        _span(run)


def _run_id(message: str) -> str:
    return message if paths.is_id(message) else f"run_{prompts.sha(message)}"


def _workflow_run(parts: Parts, run: str, calls: Mapping[str, Call], now: float) -> Run:
    """Return one workflow's run: its items by key, however many agents tried each."""
    workflow, read = parts.workflows[run]
    found = Run(run, parts.session, "workflow")
    found.name = workflow.name
    call = next((c for c in calls.values() if c.outcome is not None and c.outcome.run == run), None)
    task = workflow.task or (call.outcome.task if call is not None and call.outcome else "")
    told = parts.thread.calls.notices.get(task) or _task(parts.log, task)
    for agent in read:
        workflow.add_agent(agent)
    ended = workflow.ended or (told is not None and told.status != "running")
    found.stopped = workflow.stopped or (told is not None and told.status == "stopped")
    found.stopped = found.stopped or task in parts.thread.calls.stopped
    if found.stopped:
        ended = True
    for item in workflow.items:
        found.entries.append(
            item_entry(parts, run, item, read, now, ended=ended, stopped=found.stopped)
        )
    found.started_at = workflow.started_at or (call.launch.at if call is not None else None)
    found.ended_at = workflow.ended_at or (told.at if told is not None and ended else None)
    _span(found)
    signs = [one.file.mtime for one in read.values()] + [found.started_at or 0.0]
    signs += [parts.log.agents[agent].seen for agent in read if agent in parts.log.agents]
    quiet = not parts.gate_alive and now - max(signs) > state.STALE_S
    found.open = not ended and not quiet and parts.log.ended_at is None
    return found


def _task(log: Log, task: str) -> Outcome | None:
    told = log.tasks.get(task)
    return Outcome(told[0], told[1] or "completed") if told is not None else None


def _unplaced(session: Session, parts: Parts, placed: Mapping[str, str], now: float) -> None:
    """Group agents that no call claims by the time they began; count the client's own helpers."""
    inside = {agent for _, read in parts.workflows.values() for agent in read}
    inside |= {
        a for flow, _ in parts.workflows.values() for item in flow.items for a in item.agents
    }
    known = {entry.agent_id for run in session.runs for entry in run.entries}
    alone: list[Entry] = []
    for agent in sorted({*parts.agents, *parts.log.agents} - inside - known - set(placed)):
        read = parts.agents.get(agent)
        log = parts.log.agents.get(agent)
        if _is_helper(agent, read, known_by_log=log is not None and log.known()):
            session.ignored += 1
            continue
        alone.append(agent_entry(parts, "", agent, None, now))
    alone.sort(key=lambda entry: (entry.launched_at or 0.0, entry.agent_id or ""))
    run: Run | None = None
    for entry in alone:
        begun = entry.launched_at or 0.0
        flow = entry.agent_type == agent_types.WORKFLOW
        kind = "workflow" if flow else "agents"
        previous = run.entries[-1].launched_at or 0.0 if run is not None else 0.0
        if run is None or run.kind != kind or begun - previous > GAP_S:
            run = Run(f"run_{entry.agent_id}", parts.session, kind)
            session.runs.append(run)
        entry.run = run.run
        run.entries.append(entry)
        _span(run)


def _is_helper(agent: str, read: Read | None, *, known_by_log: bool) -> bool:
    """Say whether an agent that no call claims is one the client started for itself.

    Helpers have names (``acompact-…``, ``aprompt_suggestion-…``) where agents have 16 hex, an empty
    type in their events, and no row that says anything.
    """
    if read is None:
        return not known_by_log
    tail = agent.rpartition("-")[0]
    if tail.startswith("a") and tail[1:].replace("_", "").replace("-", "").isalpha():
        return True
    return read.rows.end == ends.EMPTY and not known_by_log


def _tickets(session: Session, parts: Parts) -> None:
    given = parts.log.requeues
    if not given:
        return
    by_agent = {a: entry for run in session.runs for entry in run.entries for a in entry.agent_ids}
    by_key = {entry.key: entry for run in session.runs for entry in run.entries}
    for requeue in given:
        entry = by_agent.get(requeue.of) or by_key.get(requeue.of)
        if entry is not None:
            entry.tickets.append(requeue)


def _span(run: Run) -> None:
    begun = [entry.launched_at for entry in run.entries if entry.launched_at is not None]
    ended = [entry.ended_at for entry in run.entries if entry.ended_at is not None]
    run.started_at = run.started_at or min(begun, default=None)
    run.ended_at = run.ended_at or max(ended, default=None)


def _unknown(session: Session, parts: Parts) -> list[str]:
    """Return the error texts nobody knew, for ``doctor``."""
    found = [refusal for _, refusal in parts.thread.errors]
    found += [ref for run in session.runs for entry in run.entries for _, ref in entry.deaths]
    texts = {refusal.text for refusal in found if refusal.cause == "unknown" and refusal.text}
    return sorted(texts)[:20]
