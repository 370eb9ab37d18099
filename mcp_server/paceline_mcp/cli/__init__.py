"""The command line: one module a subject, an explicit table, one error boundary.

A command module has ``register(app: typer.Typer) -> None``. Only the module of the command that was
typed is imported, so ``paceline estimate`` does not pay for ``paceline simulate``. A command prints
for a person by default and one JSON value with ``--json``; it may return its exit code as an int.

Exit codes: 0 fine, 1 error, 2 usage, 3 degraded, 4 still running, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from paceline import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import typer

COMMANDS: dict[str, str] = {
    "estimate": "paceline_mcp.cli.estimate",
    "plan": "paceline_mcp.cli.plan",
    "limits": "paceline_mcp.cli.limits",
    "ledger": "paceline_mcp.cli.ledger",
    "manifest": "paceline_mcp.cli.manifest",
    "requeue": "paceline_mcp.cli.requeue",
    "run": "paceline_mcp.cli.run",
    "simulate": "paceline_mcp.cli.simulate",
    "status": "paceline_mcp.cli.status",
    "top": "paceline_mcp.cli.top",
    "report": "paceline_mcp.cli.report",
    "demo": "paceline_mcp.cli.demo",
    "doctor": "paceline_mcp.cli.doctor",
}
"""Command -> the module whose ``register`` adds it. The order is the order of ``--help``."""


def application(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """Return the typer application with these commands; each name is a key of ``COMMANDS``."""
    import typer

    app = typer.Typer(
        name="paceline",
        help="Pace many Claude Code agents under one rate limit, and lose none of them.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    def version(asked: bool) -> None:
        if asked:
            typer.echo(f"paceline {__version__}")
            raise typer.Exit

    @app.callback()
    def root(
        show_version: bool = typer.Option(
            False,
            "--version",
            callback=version,
            is_eager=True,
            help="Show the version and exit.",
        ),
    ) -> None: ...

    for module in dict.fromkeys(COMMANDS[name] for name in commands):
        import_module(module).register(app)
    return app


def run(argv: Sequence[str]) -> int:
    """Run one command line (without the program's name) and return its exit code. Never raises."""
    from paceline_mcp.cli.boundary import guarded

    return guarded(_run, argv)


def _run(argv: Sequence[str]) -> int:
    typed = next((word for word in argv if not word.startswith("-")), None)
    app = application([typed] if typed in COMMANDS else COMMANDS)
    code = app(args=list(argv), prog_name="paceline", standalone_mode=False)
    return code if isinstance(code, int) else 0


def main() -> None:
    """Entry point of the ``paceline`` command."""
    from paceline_mcp.configured import adopt

    adopt(os.environ)
    sys.exit(run(sys.argv[1:]))
