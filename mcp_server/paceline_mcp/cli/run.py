"""``paceline run -- claude -p …``: a headless session, resumed until every agent has delivered."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from paceline import jsonl, settings
from paceline.errors import UsageError
from paceline_mcp.cli.output import plain

EPILOG = (
    "Exit codes: 0 every launched agent delivered; 3 agents are missing, or nothing could be "
    "verified; 130 interrupted (Ctrl-C once stops the client, twice kills it); else the client's "
    "own code, when it failed for a reason that is no rate limit's doing. All but the client's "
    "output goes to stderr; the last line there is the verdict."
)


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(
        short_help="A headless command, resumed until every agent delivered.",
        epilog=EPILOG,
        context_settings={"allow_interspersed_args": False},
    )
    def run(
        *,
        command: Annotated[
            list[str] | None, typer.Argument(help="The client's command, behind --.")
        ] = None,
        until_complete: Annotated[
            bool,
            typer.Option(
                "--until-complete/--once", help="Resume until complete, or run once and look."
            ),
        ] = True,
        max_wait: Annotated[
            str | None,
            typer.Option(help="Wait this long at most, in all: 90m, 6h, 2d; else park_max, 6h."),
        ] = None,
        attempts: Annotated[int, typer.Option(min=0, max=99, help="Resumes at most.")] = 10,
        plugin: Annotated[
            bool, typer.Option("--plugin", help="Add the plugin of this checkout to the session.")
        ] = False,
        json: Annotated[
            bool, typer.Option("--json", help="The verdict, the last line, as one JSON value.")
        ] = False,
    ) -> int:
        """Run a headless Claude Code command; resume it until every agent has delivered.

        paceline run -- claude -p "Review every file with an agent of its own"
        """
        from paceline_mcp.headless import command as commands
        from paceline_mcp.headless import words
        from paceline_mcp.headless.decide import Budget
        from paceline_mcp.headless.drive import Asked, Drive
        from paceline_mcp.headless.pause import rest
        from paceline_mcp.headless.plugin import folder_to_add
        from paceline_mcp.headless.stops import caught

        asked = Asked(
            commands.read(command or []),
            Budget(attempts=attempts, max_wait=_seconds(max_wait)),
            once=not until_complete,
            add=("--plugin-dir", folder_to_add()) if plugin else (),
        )
        with caught() as stops:
            drive = Drive(
                asked,
                os.environ,
                os.getcwd(),
                stops,
                say=_say,
                rest=lambda wait: rest(wait, stops, _say),
            )
            came = drive.run()
        told = (came.ended, came.done, came.spent, came.session)
        if came.done.exit_code:
            for line in words.census(came.ended):
                _say(line)
        if json:
            print(jsonl.dumps(words.as_json(*told)), file=sys.stderr)  # noqa: T201 - stdout is the client's
        else:
            _say(words.verdict(*told))
        return came.done.exit_code


def _say(line: str) -> None:
    """Print one line on stderr; unbuffered, since a signal's handler may be the one that speaks."""
    indent = line[: len(line) - len(line.lstrip())]
    data = f"paceline: {indent}{plain(line)}\n"
    try:
        os.write(2, data.encode(sys.stderr.encoding or "utf-8", "replace"))
    except OSError:
        return  # nobody reads it


def _seconds(text: str | None) -> float:
    told = {} if text is None else {"PACELINE_PARK_MAX": text}
    if settings.problems(told):
        raise UsageError(f"--max-wait is {plain(text or '')}; next: give it like 90m, 6h or 2d")
    return settings.load(told or None).park_max
