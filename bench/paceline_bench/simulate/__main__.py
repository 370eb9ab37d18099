"""``python -m paceline_bench.simulate``: the scenarios of the benchmark page, as a table."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from paceline_bench.simapi.config import Fault, quota_closed
from paceline_bench.simulate import SEED_API, Scenario, Sizes, parse, play_alone, play_paced

if TYPE_CHECKING:
    from paceline_bench.simulate import Outcome

SMALL = replace(SEED_API, itpm_capacity=60_000)
FALLS_AND_RISES = ((300.0, 100_000), (900.0, 200_000))
AGENTS = Scenario(
    sessions=(12,),
    width=0,
    stagger_s=0.0,
    api=replace(SEED_API, itpm=240_000, itpm_capacity=60_000),
)
MIXED = Scenario(requests=10, reads=Sizes("mixed"), width=0, stagger_s=0.0)
LONG = replace(MIXED, sessions=(90,))
ROOMY = replace(MIXED, requests=6, api=replace(SEED_API, itpm=4_000_000))
TWO = Scenario(
    sessions=(30, 6), requests=6, reads=parse("uniform:2000:25000"), width=0, stagger_s=0.0
)
TIGHT = Scenario(
    sessions=(12,),
    requests=4,
    reads=parse("uniform:10000:25000"),
    width=0,
    stagger_s=0.0,
    api=replace(SEED_API, itpm=30_000),
)
MANY = Scenario(
    sessions=(1000,),
    requests=20,
    reads=Sizes("mixed"),
    width=0,
    stagger_s=0.0,
    api=replace(SEED_API, itpm=4_000_000),
)

ROWS: dict[str, Scenario] = {
    "workflow, 40 agents, limit set": Scenario(told="set"),
    "workflow, 40 agents, hidden": Scenario(),
    "workflow, 40 agents, named by refusals": Scenario(
        told="text", api=replace(SEED_API, number_in_text=True)
    ),
    "12 Agent calls, limit set": replace(AGENTS, told="set"),
    "12 Agent calls, hidden": AGENTS,
    "40 Agent calls, mixed sizes, set": replace(MIXED, told="set"),
    "40 Agent calls, mixed sizes, hidden": MIXED,
    "the same, a bucket of 60,000, hidden": replace(MIXED, api=SMALL),
    "estimates off by a third, hidden": replace(MIXED, estimate_error=0.3),
    "40 processes that wake late, hidden": Scenario(processes=40, wake_s=0.2),
    "sessions of 30 and 6, set": replace(TWO, told="set"),
    "sessions of 30 and 6, hidden": TWO,
    "12 Agent calls, a limit of 30,000, set": replace(TIGHT, told="set"),
    "12 Agent calls, a limit of 30,000, hidden": TIGHT,
    "limit falls by half and rises, hidden": replace(
        LONG, api=replace(SEED_API, itpm_schedule=FALLS_AND_RISES)
    ),
    "the same, named by refusals": replace(
        LONG,
        told="text",
        api=replace(SEED_API, number_in_text=True, itpm_schedule=FALLS_AND_RISES),
    ),
    "others take half for 10 minutes, set": replace(
        LONG, told="set", tenants=((300.0, 100_000), (900.0, 0))
    ),
    "two of four processes die, set": Scenario(
        told="set", processes=4, crashes=((60.0, 0), (200.0, 3))
    ),
    "the API overloaded for a minute, set": Scenario(
        told="set", api=replace(SEED_API, faults=(Fault("overload", after=60.0, until=120.0),))
    ),
    "refused once, not of tokens": replace(
        ROOMY, api=replace(ROOMY.api, faults=(Fault("throttle", who="agents", step=0, times=1),))
    ),
    "all refused for 20 s, not of tokens": replace(
        ROOMY, api=replace(ROOMY.api, faults=(Fault("throttle", after=5.0, until=25.0),))
    ),
    "plan spent, reset in an hour, set": Scenario(
        told="set",
        api=replace(SEED_API, headers="subscriber", faults=(quota_closed(60.0, 3600.0),)),
    ),
    "1,000 agents x 20 requests, set": replace(MANY, told="set"),
    "1,000 agents x 20 requests, hidden": MANY,
}
"""In words -> the scenario, of 200,000 input tokens a minute where nothing else is said."""


def main() -> None:
    """Play every row with Paceline and print it as soon as it is played, as a Markdown table."""
    print("| scenario | delivered | refusals | span / least | used | refused | / unrefused |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    began = time.process_time()
    for name, scenario in ROWS.items():
        played = play_paced(scenario)
        unrefused = play_alone(scenario.unlimited()).counts.uncached_tokens
        print(f"| {name} | {' | '.join(_cells(played, unrefused))} |", flush=True)
    print(f"\n{time.process_time() - began:.0f} s of one core.")


def _cells(played: Outcome, unrefused: int) -> tuple[str, ...]:
    counts, steady = played.counts, played.steady
    return (
        f"{counts.delivered:,} of {counts.launched:,}",
        f"{counts.refusals:,}",
        f"{counts.ratio:.3f}" if counts.ratio and not counts.dropped else "unfinished",
        "" if steady.utilisation is None else f"{100 * steady.utilisation:.0f} %",
        "" if steady.utilisation is None else f"{100 * steady.refused_share:.1f} %",
        f"{counts.uncached_tokens / unrefused:.3f}",
    )


if __name__ == "__main__":
    typer.run(main)
