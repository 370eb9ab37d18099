"""``paceline doctor``: what works, what does not, and the next thing to type."""

from __future__ import annotations

import typer

from paceline_mcp.cli.output import DEGRADED, FINE, plain, print_json
from paceline_mcp.doctor import examine
from paceline_mcp.doctor.row import Level


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(short_help="Which parts are alive, and what to type where not.")
    def doctor(
        as_json: bool = typer.Option(False, "--json", help="Print the rows as one JSON array."),
    ) -> int:
        """Tell which parts of Paceline are alive, and what to type where one is not."""
        rows = examine()
        if as_json:
            print_json([row.as_json() for row in rows])
        else:
            width = max(len(row.name) for row in rows)
            for row in rows:
                typer.echo(f"{row.level.value:<4}  {row.name:<{width}}  {plain(row.found)}")
                if row.next:
                    typer.echo(f"{'':<4}  {'':<{width}}  next: {plain(row.next)}")
        return DEGRADED if any(row.level is Level.BAD for row in rows) else FINE
