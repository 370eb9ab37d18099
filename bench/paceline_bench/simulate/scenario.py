"""What is simulated, as one value: the work, the client, the API, and what goes wrong."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from paceline_bench.simapi.config import Config
from paceline_bench.simulate.sizes import Sizes, constant

Told = Literal["set", "text", "hidden"]
TOLD = ("set", "text", "hidden")

UNLIMITED = 10**12

SEED_API = Config(
    itpm=200_000,
    headers="none",
    number_in_text=False,
    retry_after=False,
    refusal_headers=False,
    ttfb_s=1.5,
    s_per_token=0.01,
)
"""The seed's limit; refusals name neither number nor time, as on a plan."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A fan-out on a virtual clock. Sizes are tokens, times seconds.

    Attributes:
        sessions: how many agents each session launches at the start.
        requests: model requests of each agent; between two of them one tool brings something.
        reads: sizes of what a tool brings.
        prefix: what agents share (system prompt, tools): cached once for all.
        own: an agent's own prompt.
        output: sizes of the model's replies.
        tool_s: seconds a tool takes.
        width: agents at once in a session; 0 for all.
        stagger_s: seconds at most that the client itself holds all agents but the first until its
            first reply begins. Workflows do so (5 s documented), Agent calls do not.
        processes: how many processes the agents of a session are spread over; each asks the
            ledger for its own tickets.
        wake_s: mean seconds from a slot that is due, or a call that comes, to the transaction.
        latency_s: mean seconds of a request's way to the API, and of a refusal's way back.
        estimate_error: sigma (of the logarithm) of what the estimator makes of a tool's result.
        api: the simulated API: limits, their changes, faults, timing.
        told: what is known of the limit: ``set`` by a person, in the ``text`` of refusals, or
            ``hidden``.
        capacity_told: whether a person who set the limit also set the bucket's capacity.
        tenants: ``(seconds after the start, tokens a minute)`` that others spend from then on.
        crashes: ``(seconds after the start, process)``: that process dies.
        restart_s: seconds until a dead process's agents are started anew, from nothing.
        retries: how often the client itself tries a refused request again when nobody paces it.
        headroom: of the ledger's policy.
        seed: of every generator.
    """

    sessions: tuple[int, ...] = (40,)
    requests: int = 3
    reads: Sizes = field(default_factory=lambda: constant(25_000))
    prefix: int = 5_000
    own: int = 2_500
    output: Sizes = field(default_factory=lambda: constant(200))
    tool_s: float = 0.3
    width: int = 15
    stagger_s: float = 5.0
    processes: int = 1
    wake_s: float = 0.015
    latency_s: float = 0.03
    estimate_error: float = 0.06
    api: Config = SEED_API
    told: Told = "hidden"
    capacity_told: bool = True
    tenants: tuple[tuple[float, int], ...] = ()
    crashes: tuple[tuple[float, int], ...] = ()
    restart_s: float = 5.0
    retries: int = 10
    headroom: float = 0.04
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be. ``ValueError`` names the field."""
        for name in ("requests", "processes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        if not self.sessions or min(self.sessions) < 1:
            raise ValueError("a session has at least one agent")
        for name in (
            "prefix",
            "own",
            "tool_s",
            "width",
            "stagger_s",
            "wake_s",
            "latency_s",
            "estimate_error",
            "restart_s",
            "retries",
        ):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative")
        if not 0 <= self.headroom < 1:
            raise ValueError("headroom is a share of the capacity, 0 up to 1")
        if self.told not in TOLD:
            raise ValueError(f"told must be one of {', '.join(TOLD)}")
        if self.prefix + self.own < 1:
            raise ValueError("a first request has at least one token: prefix or own")
        places = len(self.sessions) * self.processes
        if any(not 0 <= process < places for _, process in self.crashes):
            raise ValueError(f"there are processes 0 to {places - 1} to crash")

    @property
    def agents(self) -> int:
        """All agents of all sessions."""
        return sum(self.sessions)

    def left_for_us(self) -> tuple[tuple[float, int], ...]:
        """Return ``(seconds after the start, tokens a minute)`` of the limit less other tenants."""
        limits = [(0.0, self.api.itpm), *self.api.itpm_schedule]
        moments = sorted({at for at, _ in (*limits, *self.tenants)})
        return tuple((at, max(1, _as_of(limits, at) - _as_of(self.tenants, at))) for at in moments)

    def unlimited(self) -> Scenario:
        """Return the same work where nobody is ever refused and nothing goes wrong."""
        api = replace(
            self.api,
            itpm=UNLIMITED,
            rpm=UNLIMITED,
            otpm=UNLIMITED,
            itpm_capacity=None,
            rpm_capacity=None,
            otpm_capacity=None,
            itpm_schedule=(),
            faults=(),
            level=1.0,
        )
        return replace(self, api=api, tenants=(), crashes=())

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON holds them."""
        names = [name for name in self.__slots__ if name not in {"api", "reads", "output"}]
        return {
            **{name: getattr(self, name) for name in names},
            "reads": str(self.reads),
            "output": str(self.output),
            "api": self.api.to_json(),
        }


def _as_of(steps: tuple[tuple[float, int], ...] | list[tuple[float, int]], at: float) -> int:
    return next((value for since, value in reversed(steps) if since <= at), 0)
