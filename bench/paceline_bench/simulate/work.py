"""What each agent will do, drawn before anything happens, so that every pacing gets the same."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from paceline_bench.simapi.counting import FIVE_MINUTES, Mark, Prompt

if TYPE_CHECKING:
    from paceline_bench.simapi.cache import Usage
    from paceline_bench.simulate.scenario import Scenario

MODEL = "claude-opus-5-5"
FRAME = 40
"""Tokens around a turn that no size counts."""


@dataclass(frozen=True, slots=True)
class Plan:
    """An agent's work.

    Attributes:
        label: unique.
        session: index of its session.
        process: index of the process it runs in.
        results: tokens of what the tool after each request but the last brings.
        estimates: what the estimator makes of each.
        outputs: tokens of each reply.
    """

    label: str
    session: int
    process: int
    results: tuple[int, ...]
    estimates: tuple[int, ...]
    outputs: tuple[int, ...]


def plans(scenario: Scenario) -> list[Plan]:
    """Return the work of all agents, the same for the same seed."""
    random = Random(scenario.seed)
    found: list[Plan] = []
    for session, agents in enumerate(scenario.sessions):
        for number in range(agents):
            results = [scenario.reads.draw(random) for _ in range(scenario.requests - 1)]
            sigma = scenario.estimate_error
            found.append(
                Plan(
                    label=f"s{session + 1}-{number + 1:03d}",
                    session=session,
                    process=session * scenario.processes + number % scenario.processes,
                    results=tuple(results),
                    estimates=tuple(
                        round(size * random.lognormvariate(0, sigma)) for size in results
                    ),
                    outputs=tuple(scenario.output.draw(random) for _ in range(scenario.requests)),
                )
            )
    return found


class Agent:
    """A running agent: where it stands in its plan, and the request it is about.

    Attributes:
        plan: its work.
        id: unique; one that is started anew has another.
        session: its session's name.
        step: index of the request it is about.
        total: tokens of that request's prompt.
        asked_at: when it first wanted to send that request.
        attempt: how often that request was refused.
        usage: what the API counted, once it was taken.
        waits: it wants to send and was not taken yet.
        queued: it has done so for some seconds.
        dead: its process died, or it was dropped.
        ticket: the pacing's name for the request.
        reservation: likewise, once it may go.
    """

    __slots__ = (
        "asked_at",
        "attempt",
        "before",
        "dead",
        "id",
        "number",
        "plan",
        "prompt",
        "queued",
        "reservation",
        "sent_at",
        "session",
        "step",
        "ticket",
        "total",
        "usage",
        "waits",
    )

    def __init__(self, plan: Plan, life: int, scenario: Scenario) -> None:
        self.plan = plan
        self.id = plan.label if life == 1 else f"{plan.label}.{life}"
        self.session = f"s{plan.session + 1}"
        self.step = 0
        self.total = scenario.prefix + scenario.own
        self.prompt = self._first(scenario)
        self.asked_at = self.sent_at = self.before = 0.0
        self.attempt = self.number = 0
        self.usage: Usage | None = None
        self.waits = self.queued = self.dead = False
        self.ticket = self.reservation = ""

    @property
    def last(self) -> bool:
        """Whether the request it is about is its last one."""
        return self.step == len(self.plan.results)

    def advance(self) -> None:
        """Go on to the next request: the reply and what the tool brought are added to the prompt.

        The prompt has three boundaries: the shared prefix, the end of the request before, which is
        in the cache, and its own end. The real one has more between them; none that a cache entry
        names.
        """
        before = self.prompt.marks[-1]
        self.total += self.plan.outputs[self.step] + self.plan.results[self.step] + FRAME
        self.step += 1
        own = Mark(f"{self.id}:{self.step}", self.total, FIVE_MINUTES)
        self.prompt = Prompt((self.prompt.marks[0], before, own))
        self.attempt = 0
        self.usage = None

    def _first(self, scenario: Scenario) -> Prompt:
        own = Mark(f"{self.id}:0", self.total, FIVE_MINUTES)
        if not scenario.prefix:
            return Prompt((own,))
        # A prefix belongs to a session's folder: another session has another.
        shared = Mark(f"prefix:{self.plan.session}", scenario.prefix, FIVE_MINUTES)
        return Prompt((shared, own))
