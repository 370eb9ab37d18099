"""Run one scenario under one pacing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.ledger.belief import believed
from paceline_bench.simulate.alone import Alone
from paceline_bench.simulate.outcome import Outcome, outcome
from paceline_bench.simulate.paced import FAMILY, Paced
from paceline_bench.simulate.timeline import Timeline
from paceline_bench.simulate.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from paceline.ledger.values import Ledger
    from paceline.ledger.verdicts import Policy
    from paceline_bench.simulate.scenario import Scenario

    Progress = Callable[[int, int], None]


def play_paced(
    scenario: Scenario, progress: Progress | None = None, policy: Policy | None = None
) -> Outcome:
    """Return what the scenario comes to with Paceline.

    Args:
        scenario: what is simulated.
        progress: called with (agents that ended, all agents) whenever one ended.
        policy: of the ledger; the scenario's headroom and the defaults when None.
    """
    timeline = Timeline()
    world = World(scenario, timeline, progress)
    paced = Paced(world, policy)
    world.begin(paced)
    timeline.run()
    return outcome(world, "paceline", limit_of(paced.ledger))


def play_alone(scenario: Scenario, progress: Progress | None = None) -> Outcome:
    """Return what the scenario comes to with the client alone."""
    timeline = Timeline()
    world = World(scenario, timeline, progress)
    world.begin(Alone(world))
    timeline.run()
    return outcome(world, "client alone", None)


def limit_of(ledger: Ledger) -> float | None:
    """Return the input limit a ledger goes at, tokens a minute: the lowest it believes."""
    rows = [
        row for row in believed(ledger) if row["family"] == FAMILY and row["dimension"] == "input"
    ]
    return min((row["limit"] for row in rows), default=None)
