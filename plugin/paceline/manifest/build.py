"""Read what is on disk and give the manifest. The only part of the room that opens files."""

from __future__ import annotations

import os

from paceline import paths
from paceline.transcripts import agents, find, threads, workflows
from paceline.transcripts.agents import AgentRows

from .assemble import assemble
from .contract import manifest
from .entries import Parts, Read
from .lineage import link
from .log import Log, fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from paceline.transcripts.find import AgentFile, SessionFiles

    from .model import Session

GATE_S = 120.0
"""Seconds after its last touch that a gate still counts as alive."""


def build_manifest(
    projects_dir: str,
    state_dir: str | None,
    session: str | None = None,
    run: str | None = None,
    now: float = 0.0,
    *,
    since: float = 0.0,
    main_tokens: bool = False,
) -> dict[str, Any]:
    """Return the manifest (its shape: :func:`paceline.manifest.contract.manifest`).

    Works from the client's files alone, from the event log alone, or from both. Never raises for
    what it finds there; a folder that cannot be read is an empty one.

    Args:
        projects_dir: the client's projects folder, or one project's.
        state_dir: Paceline's state folder, or None for files alone.
        session: only this session.
        run: only this run (an id of a workflow or of a message).
        now: epoch seconds.
        since: only sessions with a sign of life after this (epoch seconds).
        main_tokens: count the main threads' own tokens too; slower on long sessions.
    """
    found = read_sessions(
        projects_dir, state_dir, session, run, now, since=since, main_tokens=main_tokens
    )
    return manifest(found)


def read_sessions(
    projects_dir: str,
    state_dir: str | None,
    session: str | None = None,
    run: str | None = None,
    now: float = 0.0,
    *,
    since: float = 0.0,
    main_tokens: bool = False,
) -> list[Session]:
    """Return the sessions with their runs linked, oldest first; arguments as above."""
    if session is not None and not paths.is_id(session):
        return []
    places = _Places(projects_dir)
    logged = set(_logged(state_dir, session)) if state_dir else set()
    names = {session} if session is not None else {*places.files, *logged}
    found: list[Session] = []
    for name in sorted(names):
        if since and not _recent(places.files.get(name), state_dir, name, since):
            continue
        parts = _parts(places, state_dir, name, now, main_tokens=main_tokens)
        told = assemble(parts, now)
        if main_tokens:
            told.main_tokens = parts.thread.usage.tokens
        found.append(told)
    _merge_copies(found)
    link(found, now)
    for told in found:
        if run is not None:
            told.runs = [some for some in told.runs if some.run == run]
    kept = [told for told in found if told.runs or session is not None]
    return sorted(kept, key=lambda told: (told.seen, told.session))


class _Places:
    """Where everything lies, from the names of files alone.

    Attributes:
        files: each session's, by its id.
        workflows: the sessions that hold files of a run, by run id, the one it belongs to first.
            After a compaction or in a resumed session there may be two; the one with the record
            has the run.
        agents: the session that holds an agent's transcript.
    """

    def __init__(self, projects_dir: str) -> None:
        self.files = {one.session: one for one in find.sessions(projects_dir)}
        self.workflows: dict[str, list[SessionFiles]] = {}
        self.agents: dict[str, str] = {}
        for name, one in sorted(self.files.items()):
            if not one.fanned_out():
                continue
            for file in one.agents():
                self.agents.setdefault(file.agent, name)
            for run in one.workflows():
                holders = self.workflows.setdefault(run, [])
                first = os.path.exists(one.record(run))
                holders.insert(0 if first else len(holders), one)


def read_log(state_dir: str | None, session: str) -> Log:
    """Return one session's event log, folded as a stream."""
    if not state_dir or not paths.is_id(session):
        return Log()
    return fold(_lines(paths.events_file(state_dir, session)))


def _lines(path: str) -> Iterator[dict[str, Any]]:
    from paceline.transcripts import lines

    for line, whole in lines.lines(path):
        row = lines.parse(line) if whole else None
        if row is not None:
            yield row


def _logged(state_dir: str, session: str | None) -> list[str]:
    if session is not None:
        known = os.path.exists(paths.events_file(state_dir, session))
        return [session] if known else []
    try:
        names = os.listdir(os.path.join(state_dir, "sessions"))
    except OSError:
        return []
    return [
        name
        for name in names
        if paths.is_id(name) and os.path.exists(paths.events_file(state_dir, name))
    ]


def _recent(files: SessionFiles | None, state_dir: str | None, name: str, since: float) -> bool:
    places = [files.main, os.path.join(files.folder, "subagents")] if files else []
    if state_dir:
        places.append(paths.events_file(state_dir, name))
    return any(_mtime(place) >= since for place in places)


def _parts(
    places: _Places,
    state_dir: str | None,
    name: str,
    now: float,
    *,
    main_tokens: bool,
) -> Parts:
    log = read_log(state_dir, name)
    files = places.files.get(name)
    main = files.main if files is not None else log.transcript
    thread = threads.read_thread(main, now, usage=main_tokens) if main else threads.Thread()
    parts = Parts(name, thread, log, gate_alive=_gate_alive(state_dir, name, now))
    if files is None:
        return parts
    parts.elsewhere = frozenset(a for a, session in places.agents.items() if session != name)
    for file in files.agents():
        parts.agents[file.agent] = _read(file, now)
    for ident, holders in places.workflows.items():
        if holders[0].session != name:
            continue
        folders = [one.workflow_folder(ident) for one in holders]
        records = [one.record(ident) for one in holders]
        flow = workflows.read_workflow(ident, folders, records, now)
        read = {
            file.agent: _read(file, now) for folder in folders for file in find.agent_files(folder)
        }
        parts.workflows[ident] = (flow, read)
    return parts


def _read(file: AgentFile, now: float) -> Read:
    meta = workflows.read_object(find.meta_of(file.path))
    rows = agents.read_agent(file.path, now) if file.size else AgentRows()
    return Read(file, meta, rows)


def _gate_alive(state_dir: str | None, name: str, now: float) -> bool:
    if not state_dir:
        return False
    return now - _mtime(os.path.join(paths.session_dir(state_dir, name), "gate")) < GATE_S


def _mtime(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _merge_copies(sessions: list[Session]) -> None:
    """Keep one of the runs that several sessions tell of: a resumed session repeats old rows."""
    best: dict[str, tuple[int, Session]] = {}
    for session in sessions:
        for run in session.runs:
            seen = sum(bool(attempt.transcript) for e in run.entries for attempt in e.attempts)
            if run.run not in best or seen > best[run.run][0]:
                best[run.run] = (seen, session)
    for session in sessions:
        session.runs = [run for run in session.runs if best[run.run][1] is session]
