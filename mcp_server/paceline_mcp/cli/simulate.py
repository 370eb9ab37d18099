"""``paceline simulate``: a fan-out on a virtual clock, with Paceline and without."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline.errors import PacelineError, UsageError
from paceline_mcp.cli.output import DEGRADED, FINE, console, print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paceline_bench.simapi.config import Fault
    from paceline_bench.simulate import Outcome, Scenario

    Row = tuple[str, Callable[[Outcome], str]]

QUIET_S = 2.0
"""Seconds a simulation runs before it shows how far it is."""
SHOWN_SESSIONS = 8

Sessions = Annotated[
    str,
    typer.Option("--agents", help="Agents; several sessions with commas: 30,6."),
]
Requests = Annotated[int, typer.Option(help="Model requests of each agent.", min=1)]
Reads = Annotated[
    str,
    typer.Option(
        help="Tokens a tool brings between two requests: 25000, uniform:1000:30000, "
        "lognormal:4000:0.8 or mixed."
    ),
]
Output = Annotated[str, typer.Option(help="Tokens of a reply, in the same words.")]
Prefix = Annotated[int, typer.Option(help="Tokens that a session's agents share.", min=0)]
Own = Annotated[int, typer.Option(help="Tokens of an agent's own prompt.", min=0)]
Tool = Annotated[float, typer.Option(help="Seconds a tool takes.", min=0)]
Width = Annotated[int, typer.Option(help="Agents at once in a session; 0 for all.", min=0)]
Stagger = Annotated[
    float,
    typer.Option(
        help="Seconds that the client itself holds all but the first agent (Agent calls: 0).",
        min=0,
    ),
]
Retries = Annotated[
    int,
    typer.Option(help="The client's own retries, when alone.", min=0),
]
Processes = Annotated[int, typer.Option(help="Processes a session is spread over.", min=1)]
Wake = Annotated[float, typer.Option(help="Mean seconds until a process wakes.", min=0)]
Itpm = Annotated[int, typer.Option(help="Input tokens a minute.", min=1)]
Capacity = Annotated[
    int | None,
    typer.Option(help="Tokens the full bucket holds [default: a minute's]."),
]
Told = Annotated[
    str,
    typer.Option(help="What is known of it: set (by a person), text (refusals name it) or hidden."),
]
Change = Annotated[
    list[str] | None,
    typer.Option("--change", help="SECONDS:ITPM, the limit from then on; may be given again."),
]
Tenant = Annotated[
    list[str] | None,
    typer.Option(
        "--tenants", help="SECONDS:ITPM, what others spend from then on; may be given again."
    ),
]
First = Annotated[float, typer.Option(help="Seconds to a reply's first byte.", min=0)]
PerToken = Annotated[float, typer.Option(help="Seconds a token of a reply takes.", min=0)]
Crash = Annotated[
    list[str] | None,
    typer.Option("--crash", help="SECONDS:PROCESS, it dies then; processes count from 0."),
]
Faults = Annotated[
    list[str] | None,
    typer.Option(
        "--fault", help="KIND:FROM:TO, the API refuses so between those seconds (overload, quota)."
    ),
]
Estimates = Annotated[
    float,
    typer.Option(help="Spread of estimates, sigma of the logarithm.", min=0),
]
Seed = Annotated[int, typer.Option(help="Of every random draw.")]
Alone = Annotated[bool, typer.Option("--alone/--no-alone", help="Also play the client alone.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON value instead of a table.")]
Plot = Annotated[Path | None, typer.Option(help="Draw it into this SVG file.", dir_okay=False)]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(short_help="A fan-out on a virtual clock, with and without Paceline.")
    def simulate(
        *,
        agents: Sessions = "40",
        requests: Requests = 3,
        reads: Reads = "25000",
        output: Output = "200",
        prefix: Prefix = 5_000,
        own: Own = 2_500,
        tool_s: Tool = 0.3,
        width: Width = 15,
        stagger: Stagger = 5.0,
        retries: Retries = 10,
        processes: Processes = 1,
        wake: Wake = 0.015,
        itpm: Itpm = 200_000,
        capacity: Capacity = None,
        told: Told = "hidden",
        change: Change = None,
        tenants: Tenant = None,
        first_byte: First = 1.5,
        per_token: PerToken = 0.01,
        crash: Crash = None,
        fault: Faults = None,
        estimate_error: Estimates = 0.06,
        seed: Seed = 1,
        alone: Alone = True,
        json: Json = False,
        plot: Plot = None,
    ) -> int:
        """Play a fan-out on a virtual clock, with Paceline and with the client alone.

        The ledger is the real one, the API's limits and cache are those of the simulated API. By
        default it is a workflow of 40 agents with two large reads each, 15 at once, under a limit
        of 200,000 input tokens a minute that nobody tells.
        """
        from paceline_bench.simulate import SEED_API, Scenario, parse

        try:
            scenario = Scenario(
                sessions=tuple(int(count) for count in agents.split(",")),
                requests=requests,
                reads=parse(reads),
                output=parse(output),
                prefix=prefix,
                own=own,
                tool_s=tool_s,
                width=width,
                stagger_s=stagger,
                retries=retries,
                processes=processes,
                wake_s=wake,
                api=replace(
                    SEED_API,
                    itpm=itpm,
                    itpm_capacity=capacity,
                    itpm_schedule=_steps(change, "--change"),
                    number_in_text=told == "text",
                    faults=tuple(_fault(text) for text in fault or ()),
                    ttfb_s=first_byte,
                    s_per_token=per_token,
                ),
                told=told,  # type: ignore[arg-type]  # checked by the scenario
                tenants=_steps(tenants, "--tenants"),
                crashes=_steps(crash, "--crash"),
                estimate_error=estimate_error,
                seed=seed,
            )
        except ValueError as err:
            raise UsageError(f"{err}; next: paceline simulate -h") from err
        played, unrefused = _play(scenario, alone=alone)
        if plot is not None:
            _draw(plot, played, scenario)
        if json:
            print_json(_value(scenario, played, unrefused))
        else:
            _show(scenario, played, unrefused)
        return FINE if not played[0].counts.dropped else DEGRADED


def _steps(given: Sequence[str] | None, option: str) -> tuple[tuple[float, int], ...]:
    """Return ``SECONDS:NUMBER`` values, in the order of time. ``ValueError`` says what is wrong."""
    steps = []
    for text in given or ():
        at, _, value = text.partition(":")
        try:
            steps.append((float(at), int(value.replace("_", ""))))
        except ValueError:
            raise ValueError(f"{option} takes SECONDS:NUMBER, not {text!r}") from None
    return tuple(sorted(steps))


def _fault(text: str) -> Fault:
    """Return a ``KIND:FROM:TO``. ``ValueError`` says what is wrong."""
    from paceline_bench.simapi.config import Fault

    kind, _, times = text.partition(":")
    after, _, until = times.partition(":")
    try:
        between = (float(after), float(until))
    except ValueError:
        raise ValueError(f"--fault takes KIND:FROM:TO, not {text!r}") from None
    return Fault(kind, *between)


def _play(scenario: Scenario, *, alone: bool) -> tuple[list[Outcome], int]:
    """Play it with Paceline and, if asked, alone; return also what no limit at all would cost."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from paceline_bench.simulate import play_alone, play_paced

    bars = Progress(
        TextColumn("{task.description:<14}"),
        BarColumn(24),
        MofNCompleteColumn(),
        TextColumn("agents"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    began = time.monotonic()

    def following(title: str) -> Callable[[int, int], None]:
        task = bars.add_task(title, total=scenario.agents, visible=False)

        def progress(done: int, total: int) -> None:
            if time.monotonic() - began > QUIET_S:
                bars.start()
                bars.update(task, completed=done, total=total, visible=True)

        return progress

    try:
        played = [play_paced(scenario, following("with Paceline"))]
        if alone:
            played.append(play_alone(scenario, following("client alone")))
        free = play_alone(scenario.unlimited(), following("without limit"))
    finally:
        if bars.live.is_started:
            bars.stop()
    return played, free.counts.uncached_tokens


def _draw(path: Path, played: Sequence[Outcome], scenario: Scenario) -> None:
    try:
        from paceline_bench.simulate.plot import draw
    except ModuleNotFoundError as err:
        raise PacelineError(
            "a plot needs drawsvg; next: pip install drawsvg, or drop --plot"
        ) from err
    try:
        path.write_text(draw(played, scenario), encoding="utf-8", newline="\n")
    except OSError as err:
        raise PacelineError(
            f"the plot cannot be written ({err.strerror or err}); next: --plot with another path"
        ) from err


def _value(scenario: Scenario, played: Sequence[Outcome], unrefused: int) -> dict[str, Any]:
    paced = played[0]
    return {
        "scenario": scenario.to_json(),
        "paceline": paced.to_json(),
        "alone": played[1].to_json() if len(played) > 1 else None,
        "unrefused_tokens": unrefused,
        "tokens_ratio": paced.counts.uncached_tokens / unrefused if unrefused else None,
    }


def _show(scenario: Scenario, played: Sequence[Outcome], unrefused: int) -> None:
    from rich.table import Table

    table = Table(show_edge=False, pad_edge=False)
    table.add_column("")
    for outcome in played:
        table.add_column(outcome.pacing, justify="right")
    for name, cell in _rows(scenario, unrefused):
        table.add_row(name, *(cell(outcome) for outcome in played))
    out = console()
    out.print(table)
    for outcome in played:
        minutes = " ".join(f"{100 * used:.0f}" for used in outcome.utilisation)
        out.print(f"% of the limit, minute by minute, {outcome.pacing}: {minutes}")


def _rows(scenario: Scenario, unrefused: int) -> list[Row]:
    rows: list[Row] = [
        ("delivered", lambda o: f"{o.counts.delivered:,} of {o.counts.launched:,}"),
        ("dropped", lambda o: f"{o.counts.dropped:,}"),
        ("refusals", lambda o: f"{o.counts.refusals:,} of {o.counts.requests:,} requests"),
        ("span / least possible", _span),
        ("uncached input tokens", lambda o: f"{o.counts.uncached_tokens:,}"),
        (
            "  by unpaced, unrefused",
            lambda o: "-" if o.counts.dropped else f"{o.counts.uncached_tokens / unrefused:.3f}",
        ),
        ("longest wait", lambda o: f"{o.longest_wait_s:,.0f} s"),
        ("contexts paid again", lambda o: f"{o.rebuilt:,}"),
        ("after two minutes", _steady),
    ]
    if scenario.told != "set":
        rows.append(("limit believed", lambda o: f"{o.believed:,.0f}" if o.believed else "-"))
    if scenario.crashes:
        rows.append(("agents restarted", lambda o: f"{o.restarted:,}"))
    if len(scenario.sessions) > 1:
        rows.append(("worst service gap", lambda o: f"{o.service_gap:,.0f} tokens"))
        shown = enumerate(scenario.sessions[:SHOWN_SESSIONS])
        rows += [_share_row(number, agents) for number, agents in shown]
    return rows


def _share_row(number: int, agents: int) -> Row:
    def cell(outcome: Outcome) -> str:
        share = outcome.shares[number]
        if share.ratio is None or share.delivered < agents:
            return f"{share.delivered} of {agents}"
        return f"{share.ratio:.2f} x its fair span"

    return f"session {number + 1}, {agents} agents", cell


def _span(outcome: Outcome) -> str:
    counts = outcome.counts
    if counts.dropped or counts.ratio is None:
        return f"{counts.span_s:,.0f} s, unfinished"
    return f"{counts.span_s:,.0f} s, {counts.ratio:.3f}"


def _steady(outcome: Outcome) -> str:
    steady = outcome.steady
    if steady.utilisation is None:
        return "-"
    return f"{100 * steady.utilisation:.0f} % used, {100 * steady.refused_share:.1f} % refused"
