"""``paceline status``: the budget, the newest session, today's tokens, and what to type next."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline import manifest as manifests
from paceline import paths, settings
from paceline.estimate import learn
from paceline.ledger.own import policy_of, store_seen
from paceline.transcripts import find
from paceline_mcp.cli.output import EXITS, FINE, print_json
from paceline_mcp.report.newest import ledger_in_use, newest_session

if TYPE_CHECKING:
    from paceline.ledger.values import Ledger

EPILOG = (
    "Exit codes: 3 when agents of the newest session are missing, 4 when some still work, else 0."
)


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(short_help="Budget, newest session, and what to type next.", epilog=EPILOG)
    def status(
        *,
        reset_learning: Annotated[
            bool,
            typer.Option("--reset-learning", help="Forget how far estimates were off, first."),
        ] = False,
        json: Annotated[
            bool, typer.Option("--json", help="One JSON value instead of lines.")
        ] = False,
    ) -> int:
        """Tell how the budget and the newest session stand, and what to type next."""
        if reset_learning:
            _forget()
            typer.echo("what was learned of the estimates is forgotten", err=True)
        now = time.time()
        told = gathered(now)
        if json:
            print_json(told)
        else:
            from paceline_mcp.report import sheet

            for line in sheet.lines(told, now):
                typer.echo(line)
        return EXITS[told["session"]["verdict"]] if told["session"] else FINE


def gathered(now: float) -> dict[str, Any]:
    """Read what an overview is made of, and return it."""
    from paceline_mcp.report import overview
    from paceline_mcp.report.layers import layers

    told = settings.load()
    state, projects = paths.state_dir(), find.projects_dir()
    session = newest_session(projects, state)
    today = manifests.read_sessions(projects, state, now=now, since=overview.midnight(now))
    if session and session not in {one.session for one in today}:
        today += manifests.read_sessions(projects, state, session, now=now)
    return overview.overview(
        store_seen(os.environ, told, session).snapshot(),
        policy_of(told),
        manifests.manifest(today),
        session,
        layers(os.environ, state, session, now),
        now,
        mode=told.mode,
    )


def _forget() -> None:
    def change(ledger: Ledger, _: float) -> None:
        ledger.corrections = learn.reset(ledger.corrections)

    ledger_in_use(os.environ).transact(change)
