"""``paceline plan PATH… | --script F``: what a fan-out will cost, and how wide to run it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.errors import UsageError
from paceline.estimate import fanout
from paceline.estimate.plan import AGENTS_MAX, Limits, plan_fanout
from paceline.recovery.words import count
from paceline_mcp.cli.output import console, plain, print_json
from paceline_mcp.report.newest import ledger_in_use

if TYPE_CHECKING:
    from paceline.estimate.plan import Plan

ROWS = 40


def register(app: typer.Typer) -> None:
    """Add ``plan``."""

    @app.command("plan", short_help="Tokens, least time and width of a fan-out.")
    def plan(
        paths: Annotated[
            list[str] | None, typer.Argument(metavar="[PATH...]", help="Files, folders, globs.")
        ] = None,
        *,
        script: Annotated[str | None, typer.Option(help="A workflow script.")] = None,
        agents: Annotated[
            int | None, typer.Option(min=1, max=AGENTS_MAX, help="How many agents.")
        ] = None,
        model: Annotated[str, typer.Option(help="The agents' model.")] = "",
        json: Annotated[bool, typer.Option("--json", help="One JSON value.")] = False,
    ) -> None:
        """Say what a fan-out will cost: tokens by agent, least time, width, files too large."""
        if not paths and script is None:
            raise UsageError("nothing to plan; try: paceline plan src --agents 8")
        files = fanout.expand(paths or [])
        if script is not None:
            named, seen = fanout.from_script(script)
            files = list(dict.fromkeys([*files, *named]))
            agents = agents or seen or None
        limits = fanout.limits_of(ledger_in_use(os.environ).snapshot(), model)
        found = plan_fanout(fanout.estimates(files, model, os.environ), agents, limits)
        if script is None and not any(agent.files for agent in found.agents):
            raise UsageError(_nothing(found))
        if json:
            print_json(fanout.as_json(found, limits))
        else:
            _print(found, limits)


def _nothing(found: Plan) -> str:
    """Return why there is nothing to plan: a slip of the pen looks like a cheap fan-out."""
    what = [f"{plain(path)} ({reason})" for path, reason in found.unreadable[:3]]
    return f"nothing to read: {', '.join(what) or 'no file there'}; try: paceline plan src"


def _print(found: Plan, limits: Limits) -> None:
    from rich.table import Table

    table = Table("agent", "files", "tokens", "range")
    for at, agent in enumerate(found.agents[:ROWS], 1):
        table.add_row(
            str(at), str(len(agent.files)), f"{agent.tokens:,}", f"{agent.low:,} to {agent.high:,}"
        )
    if len(found.agents) > ROWS:
        table.add_row("…", "", "", "")
    table.add_section()
    table.add_row("all", "", f"{found.tokens:,}", f"{found.low:,} to {found.high:,}")
    console().print(table)
    if found.least_s is None:
        typer.echo("No limit is known. To tell one: paceline limits set --model all --itpm N")
    else:
        width = count(found.width or 0, "agent")
        busy = "keeps" if found.width == 1 else "keep"
        typer.echo(
            f"At {limits.itpm:,.0f} input tokens a minute it takes at least"
            f" {found.least_s:,.0f} s; {width} at once {busy} the limit busy."
        )
    for path, reason in found.too_large:
        typer.echo(f"not read whole ({reason}): {plain(path)}")
    for path, reason in found.unreadable:
        typer.echo(f"nothing to read ({reason}): {plain(path)}")
