"""Waiting, shown as it goes: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from paceline.recovery.words import minutes

if TYPE_CHECKING:
    from collections.abc import Callable

    from paceline_mcp.headless.decide import Wait
    from paceline_mcp.headless.stops import Stops

SLICE_S = 1.0
"""A clock may be set and a machine may sleep: how much is left is asked anew this often."""
LINE_S = 600.0


def rest(wait: Wait, stops: Stops, say: Callable[[str], None]) -> None:
    """Return when ``wait`` is over or somebody asked to stop."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    begun = said = time.time()
    bar = Progress(
        TextColumn("waiting"),
        BarColumn(24),
        TextColumn("{task.fields[left]} to go"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task("", total=max(0.001, wait.until - begun), left="")
    with bar:
        while (left := wait.until - time.time()) > 0:
            bar.update(task, completed=time.time() - begun, left=minutes(left))
            if bar.disable and time.time() - said >= LINE_S:
                said = time.time()
                say(f"still waiting, {minutes(left)} to go")
            if stops.told.wait(min(SLICE_S, left)):
                return
