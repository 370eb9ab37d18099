"""``paceline estimate PATH…``: what a Read of each path would add to a request."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from paceline.estimate.read import estimate_read
from paceline_mcp.cli.output import console, plain, print_json


def register(app: typer.Typer) -> None:
    """Add ``estimate``."""

    @app.command(short_help="Tokens a Read of each file costs, with a range.")
    def estimate(
        paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files.")],
        *,
        offset: Annotated[int | None, typer.Option(help="First line, from 1.")] = None,
        limit: Annotated[int | None, typer.Option(help="Number of lines.")] = None,
        pages: Annotated[str | None, typer.Option(help="Pages of a PDF, like 1-5.")] = None,
        model: Annotated[str, typer.Option(help="The model that reads.")] = "",
        json: Annotated[bool, typer.Option("--json", help="One JSON value.")] = False,
    ) -> None:
        """Say what a Read of each file costs in tokens, with the range that holds 9 in 10."""
        rows = [_row(path, offset, limit, pages, model) for path in paths]
        if json:
            print_json(rows)
        else:
            _table(rows)


def _row(
    path: str, offset: int | None, limit: int | None, pages: str | None, model: str
) -> dict[str, Any]:
    found = estimate_read(path, offset, limit, pages=pages, model=model, env=os.environ)
    return {
        "path": path,
        "kind": found.kind,
        "tokens": found.tokens,
        "low": found.low,
        "high": found.high,
        "capped": found.capped,
        "reason": found.reason,
    }


def _table(rows: list[dict[str, Any]]) -> None:
    from rich.table import Column, Table
    from rich.text import Text

    table = Table(Column("path", overflow="fold"), "kind", "tokens", "range", "note")
    for row in rows:
        table.add_row(
            Text(plain(row["path"])),
            row["kind"],
            f"{row['tokens']:,}",
            f"{row['low']:,} to {row['high']:,}",
            row["reason"],
        )
    if len(rows) > 1:
        table.add_section()
        table.add_row("all", "", f"{sum(row['tokens'] for row in rows):,}", "", "")
    console().print(table)
