"""``paceline demo``: a fan-out against a rate limit, without and with Paceline, side by side."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from paceline.errors import UsageError
from paceline_mcp.cli.output import DEGRADED, FINE, console, plain, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType
    from rich.progress import Progress as Bars
    from rich.progress import Task, TaskID

    from paceline_bench.client.run import Progress
    from paceline_bench.demo import Demo, Outcome, Story

ASKED = "asked for"
"""The reason of :attr:`paceline_bench.demo.Story.reason` when the stand-in was wanted."""

ENDINGS = ("SIGTERM", "SIGHUP", "SIGBREAK")
"""What ends a program besides Ctrl-C: ``kill``, a closed terminal, Ctrl-Break on Windows."""

TITLES = {"without": "without Paceline", "with": "with Paceline"}


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(short_help="A fan-out against a limit, without and with Paceline.")
    def demo(
        *,
        as_json: bool = typer.Option(False, "--json", help="Print both sides as one JSON object."),
        agents: int = typer.Option(6, min=1, max=60, help="How many agents read at once."),
        client: str = typer.Option("2.1.332", help="The Claude Code version to run."),
        simulated: bool = typer.Option(
            False, "--simulated", help="Play with a stand-in instead of the real client."
        ),
    ) -> int:
        """Run a fan-out that meets a rate limit, without and with Paceline. Costs nothing.

        The real client runs in an empty home against a simulated API on this machine; where no
        client is to be had, a stand-in drives the same hooks and ledger.
        """
        import paceline_mcp
        from paceline_bench.demo import Demo, plugin_root

        root = plugin_root(paceline_mcp.__file__)
        if root is None:
            raise UsageError("the demo runs from a checkout of Paceline; next there: make demo")
        with ended_as_by_ctrl_c():
            played = _play(Demo(root, agents, client, simulated), quiet=as_json)
        if as_json:
            print_json(played.to_json())
        else:
            _show(played)
        return FINE if played.paced.whole else DEGRADED


@contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """Let each signal that ends a program end the block as Ctrl-C does: no client stays behind."""
    before = {}
    for name in ENDINGS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _play(demo: Demo, *, quiet: bool) -> Story:
    """Play both sides with a line of progress each on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    from paceline_bench.demo import API, RETRIES

    shown = Console(stderr=True)
    drawn = shown.is_terminal and not quiet
    if not quiet:
        typer.echo(
            f"{demo.agents} agents read one file each. The API lets {API.itpm:,} input tokens a "
            f"minute pass, its bucket holds {API.itpm_capacity:,}; refusals name no limit.\n"
            f"The client may retry {RETRIES} time (its default of 10 shows the same in minutes).",
            err=True,
        )

    class Spinner(SpinnerColumn):
        def render(self, task: Task) -> RenderableType:
            """Turn while the side runs, also where it ends with agents missing."""
            return " " if task.stop_time is not None else super().render(task)

    bars = Bars(
        Spinner(),
        TextColumn("{task.description:<18}"),
        BarColumn(24),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
        console=shown,
        disable=not drawn,
    )
    tasks: dict[str, TaskID] = {}
    said: dict[str, int] = {}
    with bars:

        def show(what: str, progress: Progress | None) -> None:
            if what == "client" and demo.simulated:
                return  # nobody looks for one
            if what not in tasks:
                for before in tasks.values():
                    bars.stop_task(before)
                title = TITLES.get(what, f"client {demo.version}")
                told = "" if what in TITLES else "looking for it, or fetching it from npm"
                total = demo.agents if what in TITLES else 1
                tasks[what] = bars.add_task(title, total=total, told=told)
                if told and not drawn and not quiet:
                    typer.echo(f"{title}: {told}", err=True)
                if "client" in tasks and what != "client":
                    bars.update(tasks["client"], completed=1, told="")
            if progress:
                _advance(bars, tasks[what], progress)
                if not drawn and not quiet:
                    _say_when_it_moves(what, progress, said)

        return demo.play(show)


def _say_when_it_moves(what: str, progress: Progress, said: dict[str, int]) -> None:
    """Print a line at each delivery, where no bar can be drawn."""
    delivered = progress.counts.delivered
    if said.get(what) != delivered:
        said[what] = delivered
        typer.echo(f"{TITLES[what]}: {_told(progress)}", err=True)


def _advance(bars: Bars, task: TaskID, progress: Progress) -> None:
    bars.update(task, completed=progress.counts.delivered, told=_told(progress))


def _told(progress: Progress) -> str:
    counts = progress.counts
    return (
        f"{counts.delivered}/{counts.launched} delivered, {counts.refusals} refusals, "
        f"{counts.uncached_tokens:,} tokens"
    )


def _show(story: Story) -> None:
    """Print both sides as a table, and what it comes to."""
    from rich.table import Table

    if story.reason:
        typer.echo(f"{_plain_reason(story.reason)} A stand-in drove the same hooks and ledger.")
    table = Table(title=None, show_edge=False, pad_edge=False)
    table.add_column("")
    table.add_column(TITLES["without"], justify="right")
    table.add_column(TITLES["with"], justify="right")
    for name, one, two in _rows(story.without, story.paced):
        table.add_row(name, one, two)
    console().print(table)
    lost = story.without.counts.dropped
    if story.paced.whole and lost:
        agents = "agent that was" if lost == 1 else "agents that were"
        typer.echo(f"{lost} {agents} lost without Paceline delivered with it.")
    elif story.paced.whole:
        typer.echo("Nobody was lost on either side; try --agents 12.")
    else:
        typer.echo("Paceline lost agents; next: paceline doctor")


def _plain_reason(reason: str) -> str:
    return "As asked." if reason == ASKED else f"No real client: {plain(reason)}."


def _rows(without: Outcome, paced: Outcome) -> list[tuple[str, str, str]]:
    """Return the table's rows: a name, and a cell a side."""
    return [
        (name, cell(without), cell(paced))
        for name, cell in (
            ("delivered", lambda o: f"{o.counts.delivered} of {o.counts.launched}"),
            ("dropped", lambda o: str(o.counts.dropped)),
            ("refusals", lambda o: str(o.counts.refusals)),
            ("uncached input tokens", lambda o: f"{o.counts.uncached_tokens:,}"),
            ("  of those wasted", lambda o: f"{o.counts.wasted_tokens:,}"),
            ("span", _span),
            ("the client says", lambda o: o.says),
            ("Paceline says", lambda o: o.verdict or "-"),
        )
    ]


def _span(outcome: Outcome) -> str:
    counts = outcome.counts
    if not outcome.whole or counts.ratio is None or counts.bound_s is None:
        return f"{counts.span_s:.1f} s, unfinished"
    return f"{counts.span_s:.1f} s, least possible {counts.bound_s:.1f} s"
