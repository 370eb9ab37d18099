"""Give tickets out: write the completion scripts and the ``requeue`` lines. Touches the disk."""

from __future__ import annotations

import os

from paceline import agent_types, jsonl, paths
from paceline.manifest import build_manifest
from paceline.transcripts import calls, find, prompts, workflows

from . import tickets as ladder
from .completion import Call, Completion, complete
from .words import PATIENCE_S, for_claude

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from typing import Any

    from .tickets import Ticket


def requeue(
    projects_dir: str,
    state_dir: str,
    session: str | None = None,
    run: str | None = None,
    now: float = 0.0,
    *,
    attempts: int = ladder.ATTEMPTS,
    record: bool = True,
    others: bool = False,
) -> dict[str, Any]:
    """Return the tickets of what died, what to do about them, and the generated scripts.

    ``{"tickets", "scripts", "advice"}``; a script is ``{"run_id", "path", "script", "kind",
    "again", "kept"}``. Idempotent: asking again gives the same tickets.

    Args:
        projects_dir: the client's projects folder.
        state_dir: Paceline's state folder; scripts and ``requeue`` lines go there.
        session: only this session's.
        run: only this run's.
        now: epoch seconds.
        attempts: tickets one piece of work may have.
        record: write the lines that say the tickets were given; False only looks.
        others: also for who was not killed by a limit (:func:`paceline.recovery.plan`).

    Raises:
        OSError: a script or a line cannot be written.
    """
    manifest = build_manifest(projects_dir, state_dir, session, run, now)
    return issue(
        manifest,
        projects_dir,
        state_dir,
        now,
        run=run,
        attempts=attempts,
        record=record,
        others=others,
    )


def issue(
    manifest: Mapping[str, Any],
    projects_dir: str,
    state_dir: str,
    now: float,
    *,
    run: str | None = None,
    attempts: int = ladder.ATTEMPTS,
    record: bool = True,
    patience: float = PATIENCE_S,
    unanswered: Container[str] = (),
    others: bool = False,
) -> dict[str, Any]:
    """Do what :func:`requeue` does with a manifest that is already there.

    ``patience`` is that of :func:`paceline.recovery.for_claude`, ``unanswered`` and ``others``
    those of :func:`paceline.recovery.plan`.
    """
    found = ladder.plan(manifest, now, attempts, run, unanswered, others=others)
    scripts = _scripts(manifest, found, projects_dir, state_dir, now, record=record)
    places = {one["run_id"]: one["path"] for one in scripts if one["path"]}
    for ticket in found:
        if record and ticket.state == ladder.OPEN:
            script = places.get(ticket.run, "") if ticket.how == ladder.WORKFLOW else ""
            _note(state_dir, ticket, calls.completion_of(script), now)
    return {
        "tickets": [ticket.as_json() for ticket in found],
        "scripts": scripts,
        "advice": for_claude(found, now, places, patience),
    }


def completion_of(
    manifest_run: Mapping[str, Any], tickets: Sequence[Ticket], projects_dir: str, now: float
) -> Completion | None:
    """Return the script that finishes one workflow run, or None where it cannot be made."""
    ident = str(manifest_run["run_id"])
    places = [one for one in find.sessions(projects_dir) if ident in one.workflows()]
    folders = [one.workflow_folder(ident) for one in places]
    records = [one.record(ident) for one in places]
    flow = workflows.read_workflow(ident, folders, records, now, keep_results=True)
    scripts = (one.script(ident) for one in places)
    script = flow.script or _text(next((path for path in scripts if path), None))
    again = {ticket.key for ticket in tickets if ticket.to_do}
    entries = {entry["key"]: entry for entry in manifest_run["agents"]}
    made = []
    for item in flow.in_order():
        prompt = _prompt(item, folders)
        if prompt is None:
            if item.key in again:
                return None
            continue
        entry = entries.get(item.key, {})
        kind = entry.get("agent_type") or ""
        done = item if item.has_result else _heir(entry, projects_dir, now)
        made.append(
            Call(
                prompt,
                label=item.label,
                phase=item.phase,
                agent_type="" if kind == agent_types.WORKFLOW else kind,
                run_again=item.key in again or (done is None and entry.get("state") == "completed"),
                result=done.result if done is not None else None,
            )
        )
    return complete(made, script, flow.args)


def _heir(entry: Mapping[str, Any], projects_dir: str, now: float) -> workflows.Item | None:
    """Return the item that delivered in the place of a dead one, from its own run's journal."""
    agent = entry.get("requeued_as") if entry.get("state") == "completed" else None
    if not agent:
        return None
    for one in find.sessions(projects_dir):
        for ident in one.workflows():
            folder = one.workflow_folder(ident)
            if os.path.exists(os.path.join(folder, f"agent-{agent}.jsonl")):
                flow = workflows.read_workflow(
                    ident, [folder], [one.record(ident)], now, keep_results=True
                )
                item = flow.item_of(agent)
                return item if item is not None and item.has_result else None
    return None


def _scripts(
    manifest: Mapping[str, Any],
    found: Sequence[Ticket],
    projects_dir: str,
    state_dir: str,
    now: float,
    *,
    record: bool,
) -> list[dict[str, Any]]:
    made = []
    for run in manifest["runs"]:
        dead = [
            one
            for one in found
            if one.run == run["run_id"] and one.how == ladder.WORKFLOW and one.to_do
        ]
        if not dead:
            continue
        completion = completion_of(run, dead, projects_dir, now)
        if completion is None:
            for one in dead:
                one.how, one.why = "", "no prompt left to run it from"
                one.state = ladder.NEVER
            continue
        path = _keep(state_dir, run, dead, completion.script) if record else None
        made.append(
            {
                "run_id": run["run_id"],
                "path": path,
                "kind": completion.kind,
                "again": completion.again,
                "kept": completion.kept,
                "script": completion.script,
            }
        )
    return made


def _keep(state_dir: str, run: Mapping[str, Any], dead: Sequence[Ticket], script: str) -> str:
    """Write a completion script into the session's folder and return its path."""
    folder = os.path.join(paths.session_dir(state_dir, str(run["session_id"])), "requeue")
    paths.make_private(folder)
    name = ladder.ticket_id(dead[0].run, "\n".join(one.ticket for one in dead), 0)
    path = os.path.join(folder, name + ".js")
    if _text(path) == script:
        return path
    fresh = f"{path}.{os.getpid()}"
    with open(fresh, "w", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
        file.write(script)
    try:
        os.replace(fresh, path)
    except PermissionError:
        # On Windows while somebody has it open; of that name there is but one content that runs.
        os.unlink(fresh)
        if not os.path.exists(path):
            raise
    return path


def _note(state_dir: str, ticket: Ticket, script: str, now: float) -> None:
    folder = paths.session_dir(state_dir, ticket.session)
    paths.make_private(folder)
    line = {
        "t": round(now, 3),
        "e": "requeue",
        "agent": None,
        "ticket": ticket.ticket,
        "of": ticket.agent or ticket.key,
        "how": ticket.how,
        "prompt_sha": ticket.prompt_sha,
    }
    if script:
        line["script"] = script
    jsonl.append(paths.events_file(state_dir, ticket.session), line)


def _prompt(item: workflows.Item, folders: Sequence[str]) -> str | None:
    """Return an item's prompt from the first of its agents whose transcript still has it."""
    for agent in item.agents:
        for folder in folders:
            prompt = prompts.full(os.path.join(folder, f"agent-{agent}.jsonl"))
            if prompt is not None:
                return prompts.without_ticket(prompt)
    return None


def _text(path: str | None) -> str:
    try:
        with open(path or "", encoding="utf-8", errors="replace", newline="") as file:
            return file.read(2 * 1024 * 1024)
    except OSError:
        return ""
