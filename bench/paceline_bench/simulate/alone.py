"""The client without pacing: it sends at once, and tries again by itself until it gives up."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paceline_bench.simapi.account import Refusal
    from paceline_bench.simulate.work import Agent
    from paceline_bench.simulate.world import World

WAITS_S = (1.0, 1.0, 2.0, 4.0, 9.0, 18.0, 34.0, 34.0, 38.0, 32.0)
"""After how many seconds the client 2.1.332 tries a refused request again (measured)."""
JITTER = 0.1
"""Share by which those waits differ from one another."""


class Alone:
    """No pacing at all."""

    def __init__(self, world: World) -> None:
        self.world = world

    def ask(self, agent: Agent) -> None:
        """Send at once."""
        self.world.send(agent)

    def began(self, agent: Agent) -> None:
        """Nothing to note."""

    def ended(self, agent: Agent) -> None:
        """Nothing to note."""

    def crashed(self, process: int) -> None:
        """Nothing is known, nothing is lost."""

    def refused(self, agent: Agent, refusal: Refusal) -> None:
        """Try again as the client does, or give up."""
        del refusal
        agent.attempt += 1
        if agent.attempt > self.world.scenario.retries:
            self.world.drop(agent)
            return
        wait = WAITS_S[min(agent.attempt, len(WAITS_S)) - 1]
        wait *= self.world.random.uniform(1 - JITTER, 1 + JITTER)
        self.world.clock.at(self.world.clock.now + wait, self._again, agent)

    def _again(self, agent: Agent) -> None:
        if not agent.dead:
            self.world.send(agent)
