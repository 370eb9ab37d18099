"""``paceline report --out F.html``: one session on a page that stands by itself."""

from __future__ import annotations

import os
import time
from pathlib import Path  # noqa: TC003 - typer reads the annotations at run time
from typing import Annotated

import typer

from paceline import jsonl, paths, settings
from paceline import manifest as manifests
from paceline.errors import PacelineError, UsageError
from paceline.ledger.belief import believed
from paceline.ledger.own import store_seen
from paceline.transcripts import find
from paceline_mcp.cli.output import EXITS, plain, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(short_help="One session on a page that stands by itself.")
    def report(
        *,
        out: Annotated[Path, typer.Option(help="The HTML file to write.")],
        session: Annotated[
            str | None, typer.Option(help="A session; the one alive last when left out.")
        ] = None,
        projects_dir: Annotated[
            str | None, typer.Option(help="The client's projects folder, if not the usual one.")
        ] = None,
        json: Annotated[
            bool, typer.Option("--json", help="Tell what was written as one JSON value.")
        ] = False,
    ) -> int:
        """Write one session's runs, agents, time line and tokens into an HTML file.

        Exit 3 when agents of the session are missing, 4 when some still work.
        """
        from paceline_mcp.report.newest import newest_session
        from paceline_mcp.report.page import page

        now, state = time.time(), paths.state_dir()
        projects = projects_dir or find.projects_dir()
        if session is not None and not paths.is_id(session):
            raise UsageError(f"--session is no id: {plain(session)}; next: paceline status")
        session = session or newest_session(projects, state)
        told = manifests.build_manifest(projects, state, session, now=now) if session else None
        if told is None or not (told["runs"] or os.path.exists(paths.events_file(state, session))):
            raise UsageError("no session to report on; next: paceline manifest")
        lines, _ = jsonl.read(paths.events_file(state, session))
        limits = believed(store_seen(os.environ, settings.load(), session).snapshot())
        text = page(session, told, lines, limits, now)
        try:
            out.write_text(text, encoding="utf-8", newline="\n")
        except OSError as err:
            raise PacelineError(
                f"the report cannot be written to {plain(str(out))} ({err.strerror}); "
                "next: --out with another path"
            ) from err
        if json:
            print_json({"out": str(out), "session_id": session, "verdict": told["verdict"]})
        else:
            typer.echo(f"{told['verdict']}: written to {out}")
        return EXITS[told["verdict"]]
