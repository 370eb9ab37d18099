"""``paceline top``: the budget and who waits for it, live."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline import manifest as manifests
from paceline import paths, settings
from paceline.errors import UsageError
from paceline.ledger.own import policy_of, store_seen
from paceline.transcripts import find
from paceline_mcp.cli.output import console, plain, print_json

if TYPE_CHECKING:
    from paceline_mcp.report.counters import Counters

REFRESH_S = 1.0
DUTY = 5.0
"""Transcripts are read again after this many times the time that took: a fifth at most."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(short_help="Levels and who waits for them, live.")
    def top(
        *,
        session: Annotated[
            str | None, typer.Option(help="A session; the one alive last when left out.")
        ] = None,
        once: Annotated[bool, typer.Option("--once", help="Print one frame and end.")] = False,
        json: Annotated[bool, typer.Option("--json", help="Print one frame as JSON.")] = False,
    ) -> None:
        """Show levels, who waits and who was refused, each second. Ctrl-C ends it."""
        if session is not None and not paths.is_id(session):
            raise UsageError(f"--session is no id: {plain(session)}; next: paceline status")
        from rich.console import Console

        from paceline_mcp.report.frame import drawn

        watch = Watch(session)
        if json:
            print_json(watch.frame())
            return
        shown = Console(highlight=False)
        if once or not shown.is_terminal:
            console().print(drawn(watch.frame()))
            return
        from rich.live import Live

        try:
            with Live(console=shown, screen=True, auto_refresh=False) as live:
                while True:
                    live.update(drawn(watch.frame()), refresh=True)
                    time.sleep(REFRESH_S)
        except KeyboardInterrupt:
            shown.print(drawn(watch.frame()))


class Watch:
    """What is looked at from frame to frame.

    Args:
        session: a session's id, or None for the one that was alive last at each look.
    """

    def __init__(self, session: str | None) -> None:
        from paceline_mcp.report.counters import Counters

        self._told = session
        self._session = ""
        self._counters: Counters = Counters()
        self._manifest: dict[str, Any] = manifests.manifest([])
        self._due = 0.0

    def frame(self) -> dict[str, Any]:
        """Return a frame of now."""
        from paceline_mcp.report.frame import frame

        now, begun = time.time(), time.monotonic()
        if begun >= self._due:
            self._look(now)
            took = time.monotonic() - begun
            self._due = begun + max(REFRESH_S * 2, took * DUTY)
        if self._session:
            self._counters.refresh(paths.events_file(paths.state_dir(), self._session))
        told = settings.load()
        ledger = store_seen(os.environ, told, self._session).snapshot()
        counted = self._counters.as_json(now)
        return frame(ledger, policy_of(told), self._manifest, counted, self._session, now)

    def _look(self, now: float) -> None:
        """Read the session's files again; another session begins to count anew."""
        from paceline_mcp.report.counters import Counters
        from paceline_mcp.report.newest import newest_session, project_of

        projects, state = find.projects_dir(), paths.state_dir()
        session = self._told or newest_session(projects, state)
        if session != self._session:
            self._session, self._counters = session, Counters()
        if session:
            folder = project_of(projects, session)
            self._manifest = manifests.build_manifest(folder, state, session, now=now)
