"""``paceline manifest``: who was launched, who delivered, who did not and why."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline import manifest as manifests
from paceline import paths
from paceline.errors import UsageError
from paceline.manifest.accounts import GROUPS
from paceline.transcripts import find
from paceline_mcp.cli.output import ERROR, EXITS, console, plain, print_json
from paceline_mcp.report.run import outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXT_TELLS = frozenset({"auth", "entitlement", "invalid", "spend", "unknown"})
"""Causes whose text says what to do; the others' repeats the cause."""

NOTHING = "nothing launched under that id"

WRAPPED = ("label", "more")

USUAL = "next: leave it out for ~/.claude/projects"

Session = Annotated[str | None, typer.Option(help="Only this session.")]
RunId = Annotated[str | None, typer.Option("--run", help="Only this run.")]
Projects = Annotated[
    str | None, typer.Option(help="The client's projects folder, if not the usual one.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON value instead of tables.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(short_help="Which agents delivered, which did not and why.")
    def manifest(
        *,
        session: Session = None,
        run: RunId = None,
        projects_dir: Projects = None,
        last: Annotated[bool, typer.Option("--last", help="Only the newest session.")] = False,
        hours: Annotated[
            float | None, typer.Option(help="Only sessions with a sign of life since.")
        ] = None,
        by: Annotated[
            str | None, typer.Option(help="Tokens by run, session or day instead.")
        ] = None,
        every: Annotated[
            bool, typer.Option("--all", help="List the agents that delivered too.")
        ] = False,
        json: Json = False,
    ) -> int:
        """Tell which agents delivered, which did not and why; exit 3 when some did not."""
        told = built(
            session,
            run,
            projects_dir,
            last=last,
            since=time.time() - hours * 3600 if hours is not None else 0.0,
            main_tokens=by == "session",
        )
        if by is not None:
            _print_accounts(told, by, json=json)
        elif json:
            print_json(told)
        else:
            _print(told, every=every)
        if (session or run) and not told["runs"]:
            typer.echo(f"paceline: {NOTHING}; next: paceline manifest", err=True)
            return ERROR
        return EXITS[told["verdict"]]


def built(
    session: str | None,
    run: str | None,
    projects_dir: str | None,
    *,
    last: bool = False,
    since: float = 0.0,
    main_tokens: bool = False,
) -> dict[str, Any]:
    """Return the manifest a command asked for.

    Raises:
        UsageError: an id that cannot be one, a projects folder that is none.
    """
    if projects_dir is not None and not os.path.isdir(projects_dir):
        raise UsageError(f"--projects-dir is no folder: {plain(projects_dir)}; {USUAL}")
    for name, value in (("session", session), ("run", run)):
        if value is not None and not paths.is_id(value):
            raise UsageError(f"--{name} is no id: {plain(value)}; next: paceline manifest")
    sessions = manifests.read_sessions(
        projects_dir or find.projects_dir(),
        paths.state_dir(),
        session,
        run,
        time.time(),
        since=since,
        main_tokens=main_tokens,
    )
    return manifests.manifest(sessions[-1:] if last else sessions)


def _print(told: dict[str, Any], *, every: bool) -> None:
    for run in told["runs"]:
        typer.echo(_headline(run))
        agents = [a for a in run["agents"] if every or a["state"] != "completed"]
        if agents:
            _table(
                ("agent", "label", "state", "cause", "tries", "tokens", "wasted", "more"),
                [_agent_row(agent) for agent in agents],
            )
        for cause, text in sorted({(a["cause"], a["text"]) for a in agents if a["text"]}):
            if cause in TEXT_TELLS:
                typer.echo(f"  {cause}: {plain(text)}")
        if run["note"]:
            typer.echo(f"  {run['note']}")
    count = told["census"]
    typer.echo(
        f"{told['verdict']}: {count['completed']} of {count['launched']} agents delivered"
        if told["runs"]
        else "no agents were launched"
    )
    if any(agent["retryable"] for run in told["runs"] for agent in run["agents"]):
        typer.echo("next: paceline requeue")


def _headline(run: dict[str, Any]) -> str:
    name = f" {plain(run['name'])}" if run["name"] else ""
    return f"{plain(run['run_id'])}{name} ({run['kind']}): {run['verdict']}; {outcome(run)}"


def _agent_row(agent: dict[str, Any]) -> tuple[str, ...]:
    spent = sum(agent["tokens"].values()) - agent["tokens"]["cache_read"]
    more = [agent["why"]] if agent["why"] else []
    if agent["revivals"]:
        more.append(f"revived {agent['revivals']}x")
    if agent["requeued_as"]:
        more.append(f"requeued as {agent['requeued_as']}")
    if agent["resets_at"]:
        about = "about " if agent["approximate"] else ""
        reset = time.strftime("%a %H:%M", time.localtime(agent["resets_at"]))
        more.append(f"resets {about}{reset}")
    return (
        agent["agent_id"] or "-",
        agent["label"] or "label unknown",
        agent["state"],
        agent["cause"] or "",
        str(agent["attempts"]),
        f"{spent:,}",
        f"{agent['wasted']:,}" if agent["wasted"] else "",
        ", ".join(more),
    )


def _print_accounts(told: dict[str, Any], by: str, *, json: bool) -> None:
    if by not in GROUPS:
        raise UsageError(f"--by is one of {', '.join(GROUPS)}; next: paceline manifest --by day")
    rows = manifests.accounts(told, by)
    if json:
        print_json({"by": by, "rows": rows})
        return
    _table(
        (by, "agents", "done", "spent", "cached", "wasted", "saved"),
        [
            (
                row["key"],
                str(row["agents"]),
                str(row["completed"]),
                f"{row['spent']:,}",
                f"{row['tokens']['cache_read']:,}",
                f"{row['wasted']:,}",
                f"{row['saved_estimate']:,}",
            )
            for row in rows
        ],
    )
    typer.echo("saved is an estimate: what starting the agents anew would have paid again")


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; whatever its cells hold is printed as plain text."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for name in names:
        table.add_column(name, no_wrap=name not in WRAPPED)
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    console().print(table)
