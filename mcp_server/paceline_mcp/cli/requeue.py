"""``paceline requeue``: what to run again of the agents that died, how, and the scripts for it."""

from __future__ import annotations

import os
import time
from typing import Annotated, Any

import typer

from paceline import paths, recovery, settings
from paceline.errors import PacelineError, StateError
from paceline.recovery.tickets import BY_PERSON, NEVER
from paceline.transcripts import find
from paceline_mcp.cli.manifest import NOTHING, Json, Projects, RunId, Session, built
from paceline_mcp.cli.output import DEGRADED, FINE, RUNNING, plain, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(short_help="A ticket for each agent that a limit killed.")
    def requeue(
        *,
        session: Session = None,
        run: RunId = None,
        projects_dir: Projects = None,
        dry_run: Annotated[
            bool, typer.Option("--dry-run", help="Only look: write no script, note no ticket.")
        ] = False,
        others: Annotated[
            bool,
            typer.Option(
                "--all", help="Also who no limit killed: cut off, stalled, refused for good."
            ),
        ] = False,
        json: Json = False,
    ) -> int:
        """Give a ticket for each agent that died of a limit; asking twice starts nothing twice.

        Without --session or --run it is about the newest session that launched agents. With --all
        also for those that no limit killed (their session was ended, money or a login was missing);
        never for an agent that a person stopped.
        """
        now = time.time()
        asked = session
        session = session or (None if run else os.environ.get("CLAUDE_CODE_SESSION_ID") or None)
        told = built(session, run, projects_dir, last=session is None and run is None)
        if (asked or run) and not told["runs"]:
            raise PacelineError(f"{NOTHING}; next: paceline manifest")
        try:
            given = recovery.issue(
                told,
                projects_dir or find.projects_dir(),
                paths.state_dir(),
                now,
                run=run,
                attempts=settings.load().requeue_attempts,
                record=not dry_run,
                others=others,
            )
        except OSError as err:
            what = f"a ticket cannot be written ({err.strerror or err})"
            raise StateError(what, str(err.filename or paths.state_dir())) from err
        if json:
            print_json(given)
        else:
            _print(given)
        states = {ticket["state"] for ticket in given["tickets"]}
        if states & {"open", "issued"}:
            return DEGRADED
        return RUNNING if states & {"running", "waits"} else FINE


def _print(given: dict[str, Any]) -> None:
    if not given["tickets"]:
        typer.echo("nothing died; nothing to run again")
        return
    for ticket in given["tickets"]:
        name = ticket["agent_id"] or "a call that never became an agent"
        line = f"{ticket['ticket'] or '-':<16} {ticket['state']:<8} {plain(name)}"
        line += f"  {ticket['cause']}" if ticket["cause"] else ""
        line += f"  by {ticket['how']}" if ticket["how"] else ""
        if ticket["not_before"]:
            line += (
                f"  not before {time.strftime('%a %H:%M', time.localtime(ticket['not_before']))}"
            )
        line += f"  ({plain(ticket['why'])})" if ticket["why"] else ""
        typer.echo(line)
    left = sum(one["state"] == NEVER and one["why"] != BY_PERSON for one in given["tickets"])
    if left:
        typer.echo(
            f"no limit killed {left} of these; next, to have them too: paceline requeue --all"
        )
    for script in given["scripts"]:
        kept = f"{script['again']} run again, {script['kept']} results kept"
        typer.echo(f"{plain(script['run_id'])}: {kept}: {plain(script['path'] or '(not written)')}")
    if given["advice"]:
        typer.echo("")
        typer.echo("Say this to Claude in that session:")
        typer.echo(given["advice"])
