"""What a simulated API is like: limits, refusals, timing. A frozen value, also read from JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from paceline_bench.simapi.counting import BYTES_PER_TOKEN
from paceline_bench.simapi.refusals import KINDS

HeaderStyle = Literal["api_key", "none", "subscriber"]
STYLES = ("api_key", "none", "subscriber")


@dataclass(frozen=True, slots=True)
class Fault:
    """Refusals by schedule, on top of those the limits make.

    Attributes:
        kind: a name of :data:`paceline_bench.simapi.refusals.KINDS`, such as ``overload``.
        after: seconds after the server's start from which it acts.
        until: seconds after the start at which it ends.
        rate: share of the requests in that time it refuses, drawn from the seeded generator.
        who: ``all`` requests, those of ``agents`` or those of the ``main`` thread.
        step: only requests of that step of their conversation (0 is the first); any when None.
        times: refusals at most for each label, however many agents try its work; any when None.
        labels: only requests of agents with these labels; any when None.
        family: only requests to models of this family; any when None.
        set_off: its seconds are counted from the first request of an agent at that step, which it
            is the first to refuse; from the server's start when None.
    """

    kind: str
    after: float = 0.0
    until: float = float("inf")
    rate: float = 1.0
    who: Literal["all", "agents", "main"] = "all"
    step: int | None = None
    times: int | None = None
    labels: tuple[str, ...] | None = None
    family: str | None = None
    set_off: int | None = None

    def __post_init__(self) -> None:
        """Refuse a kind nobody knows. ``ValueError`` names those there are."""
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))  # JSON has lists
        if self.kind not in KINDS:
            raise ValueError(f"no refusal is called {self.kind!r}; there are {', '.join(KINDS)}")


@dataclass(frozen=True, slots=True)
class Config:
    """The simulated API.

    Attributes:
        rpm: requests a minute.
        itpm: uncached input tokens a minute.
        otpm: output tokens a minute.
        rpm_capacity: the bucket's size; one minute of the limit when None. So ``itpm_capacity``
            and ``otpm_capacity``.
        level: share of the capacities that is there at the start.
        one_bucket: every model spends the same buckets; else each family has its own.
        oversize: a request larger than the capacity passes on a full bucket (else never).
        headers: ``api_key`` (``anthropic-ratelimit-*``), ``subscriber`` (unified plan headers on
            answers, bare throttles) or ``none``.
        number_in_text: whether a throttle's text names the limit.
        retry_after: ``true`` computed, ``false`` none, or that many seconds always.
        refusal_headers: whether a throttle carries the limit headers too.
        itpm_schedule: ``(seconds after start, itpm)``, in order: the limit changes then.
        tenants_itpm: input tokens a minute that others of the organization spend.
        faults: refusals by schedule.
        quota_utilization: share of the five-hour plan window that subscriber headers report.
        ttfb_s: seconds to the first byte of an answer.
        s_per_token: seconds an output token takes.
        output_tokens: length of a text reply, filled up to it.
        bytes_per_token: how input is counted.
        min_cache_tokens: shorter prefixes are not cached.
        seed: of the generator that draws faults.
    """

    rpm: int = 4_000
    itpm: int = 400_000
    otpm: int = 400_000
    rpm_capacity: int | None = None
    itpm_capacity: int | None = None
    otpm_capacity: int | None = None
    level: float = 1.0
    one_bucket: bool = True
    oversize: bool = True
    headers: HeaderStyle = "api_key"
    number_in_text: bool = True
    retry_after: bool | float = True
    refusal_headers: bool = True
    itpm_schedule: tuple[tuple[float, int], ...] = ()
    tenants_itpm: int = 0
    faults: tuple[Fault, ...] = ()
    quota_utilization: float = 0.2
    ttfb_s: float = 0.25
    s_per_token: float = 0.004
    output_tokens: int = 60
    bytes_per_token: float = BYTES_PER_TOKEN
    min_cache_tokens: int = 1024
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be. ``ValueError`` names the field."""
        for name in ("rpm", "itpm", "otpm", "bytes_per_token"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be more than 0")
        if self.headers not in STYLES:
            raise ValueError(f"headers must be one of {', '.join(STYLES)}")
        if not 0 <= self.level <= 1:
            raise ValueError("level is a share of the capacity, 0 to 1")

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON holds them (no end of a fault: null)."""
        found = asdict(self)
        for fault in found["faults"]:
            if fault["until"] == float("inf"):
                fault["until"] = None
        return found


def quota_closed(after: float, until: float) -> Fault:
    """Return a plan window that is used up from ``after`` to its reset at ``until`` (seconds)."""
    return Fault(kind="quota", after=after, until=until)


def from_json(text: str) -> Config:
    """Return the configuration of a JSON object with :class:`Config`'s field names.

    ``ValueError`` on anything else.
    """
    data = json.loads(text)
    known = {field.name for field in fields(Config)}
    if not isinstance(data, dict) or set(data) - known:
        raise ValueError(f"a configuration is an object with the fields {', '.join(sorted(known))}")
    if "faults" in data:
        data["faults"] = tuple(
            Fault(**{name: value for name, value in fault.items() if value is not None})
            for fault in data["faults"]
        )
    if "itpm_schedule" in data:
        data["itpm_schedule"] = tuple((float(at), int(itpm)) for at, itpm in data["itpm_schedule"])
    return Config(**data)
