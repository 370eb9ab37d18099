"""Whether the API takes a request: buckets, schedules and faults of one organization.

Decisions are methods with the time passed in (epoch seconds); nothing here reads a clock, a file
or a socket. A refused request charges nothing.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paceline_bench.simapi import bucket as tokens
from paceline_bench.simapi import headers
from paceline_bench.simapi.families import family
from paceline_bench.simapi.refusals import KINDS, limit_text

if TYPE_CHECKING:
    from paceline_bench.simapi.bucket import Bucket
    from paceline_bench.simapi.cache import Usage
    from paceline_bench.simapi.config import Config, Fault


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request not taken: the kind's name, its text and its headers."""

    kind: str
    message: str
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Grant:
    """A request taken: the input level before and after it, the headers of the answer.

    ``breaks`` is the kind (a key of ``refusals.KINDS``) that its stream breaks off with, or None.
    """

    before: float
    after: float
    headers: dict[str, str]
    breaks: str | None = None


@dataclass(slots=True)
class Account:
    """One organization on the simulated API.

    Attributes:
        config: what it is like.
        start: epoch seconds of the server's start, which schedules count from.
    """

    config: Config
    start: float
    buckets: dict[str, dict[str, Bucket]] = field(default_factory=dict)
    _random: random.Random = field(default_factory=random.Random)
    _refused: dict[tuple[Fault, str | None], int] = field(default_factory=dict)
    _set_off: dict[Fault, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Seed the generator that draws faults."""
        self._random.seed(self.config.seed)

    def ask(
        self,
        model: str,
        usage: Usage,
        now: float,
        *,
        agent: bool,
        label: str | None = None,
        step: int = 0,
        stream: bool = False,
    ) -> Grant | Refusal:
        """Take a request or refuse it.

        Args:
            model: the request's model.
            usage: its input tokens, as the cache stands now.
            now: epoch seconds.
            agent: whether an agent sent it, not the main thread.
            label: of the agent's work, for faults that count.
            step: of its conversation.
            stream: whether the answer is asked for as a stream.
        """
        breaks: str | None = None
        for fault in self.config.faults:
            if fault.family not in (None, family(model)):
                continue
            if self._acts(fault, now, agent=agent, label=label, step=step):
                if not (stream and KINDS[fault.kind].midway):
                    return self._refuse_by_schedule(fault, now)
                breaks = fault.kind
                break
        buckets = self.at(model, now)
        costs = {"requests": 1.0, "input": float(usage.uncached), "output": 1.0}
        for dimension, cost in costs.items():
            if not tokens.fits(buckets[dimension], cost, oversize=self.config.oversize):
                return self._refuse_by_limit(dimension, cost, buckets, now)
        before = buckets["input"].level
        buckets["requests"] = tokens.take(buckets["requests"], 1.0)
        buckets["input"] = tokens.take(buckets["input"], usage.uncached)
        return Grant(before, buckets["input"].level, self._answer_headers(buckets, now), breaks)

    def produced(self, model: str, count: float, now: float) -> None:
        """Charge output tokens as they are produced. A stream that has begun is not cut off."""
        buckets = self.at(model, now)
        buckets["output"] = tokens.take(buckets["output"], count)

    def at(self, model: str, now: float) -> dict[str, Bucket]:
        """Return the model's buckets, brought to ``now`` through the changes of the schedule."""
        name = "all" if self.config.one_bucket else family(model)
        buckets = self.buckets.setdefault(name, self._fresh())
        for after, itpm in self.config.itpm_schedule:
            moment = self.start + after
            if buckets["input"].at < moment <= now:
                capacity = self.config.itpm_capacity or itpm
                known = tokens.refill(buckets["input"], moment)
                buckets["input"] = tokens.relimit(known, itpm, capacity)
        for dimension, known in buckets.items():
            buckets[dimension] = tokens.refill(known, now)
        return buckets

    def _fresh(self) -> dict[str, Bucket]:
        config = self.config
        sizes = {
            "requests": (config.rpm, config.rpm_capacity, 0),
            "input": (config.itpm, config.itpm_capacity, config.tenants_itpm),
            "output": (config.otpm, config.otpm_capacity, 0),
        }
        return {
            dimension: tokens.Bucket(
                limit=limit,
                capacity=capacity or limit,
                level=(capacity or limit) * config.level,
                at=self.start,
                drain=drain,
            )
            for dimension, (limit, capacity, drain) in sizes.items()
        }

    def _acts(self, fault: Fault, now: float, *, agent: bool, label: str | None, step: int) -> bool:
        if fault.set_off is not None and fault not in self._set_off:
            if not agent or step != fault.set_off:
                return False
            self._set_off[fault] = now
        if not fault.after <= now - self._begun(fault) < fault.until:
            return False
        if fault.who != "all" and (fault.who == "agents") != agent:
            return False
        if fault.step is not None and fault.step != step:
            return False
        if fault.labels is not None and label not in fault.labels:
            return False
        before = self._refused.get((fault, label), 0)
        if fault.times is not None and before >= fault.times:
            return False
        if fault.rate < 1 and self._random.random() >= fault.rate:
            return False
        self._refused[fault, label] = before + 1
        return True

    def _begun(self, fault: Fault) -> float:
        """Return when a fault's time is counted from."""
        return self._set_off.get(fault, self.start)

    def _refuse_by_schedule(self, fault: Fault, now: float) -> Refusal:
        kind = KINDS[fault.kind]
        found: dict[str, str] = {}
        if fault.kind == "quota":
            reset = self._begun(fault) + fault.until if math.isfinite(fault.until) else now + 18000
            found = headers.subscriber(1.0, reset, rejected=True)
            told = self.config.retry_after
            if not isinstance(told, bool):
                found["retry-after"] = f"{told:g}"
            elif told:
                found["retry-after"] = str(math.ceil(reset - now))
        elif kind.retry_after is not None:
            found["retry-after"] = f"{kind.retry_after:.0f}"
        return Refusal(fault.kind, kind.message, found)

    def _refuse_by_limit(
        self, dimension: str, cost: float, buckets: dict[str, Bucket], now: float
    ) -> Refusal:
        config = self.config
        message = KINDS[dimension].message
        if config.number_in_text:
            message = limit_text(dimension, buckets[dimension].limit)
        found: dict[str, str] = {}
        if config.refusal_headers and config.headers == "api_key":
            found = headers.api_key(buckets, now)
        wait = tokens.wait(buckets[dimension], cost)
        if config.retry_after is True and config.headers == "api_key" and math.isfinite(wait):
            found["retry-after"] = str(max(1, math.ceil(wait)))
        elif config.retry_after is not True and config.retry_after is not False:
            found["retry-after"] = f"{config.retry_after:g}"
        return Refusal(dimension, message, found)

    def _answer_headers(self, buckets: dict[str, Bucket], now: float) -> dict[str, str]:
        if self.config.headers == "api_key":
            return headers.api_key(buckets, now)
        if self.config.headers == "subscriber":
            reset = self.start + headers.FIVE_HOURS
            return headers.subscriber(self.config.quota_utilization, reset)
        return {}
