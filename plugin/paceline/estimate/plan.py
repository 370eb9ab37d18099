"""What a fan-out will cost, before it is started. Pure: estimates and beliefs in, a plan out."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass  # noqa: TID253  off the hook's fast path
from typing import TYPE_CHECKING  # noqa: TID253

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paceline.estimate.value import Estimate

AGENTS_MAX = 1_000
FILES_AN_AGENT = 3
"""Files of one agent where nobody says how many agents there are."""
TURN_S = 6.0
"""Seconds of one turn of an agent where none was seen: first byte, a short reply, a tool."""
SYSTEMATIC = 0.03
"""Part of a range that does not shrink with the number of files: the model itself may be off."""
PREFIX_SPREAD = 0.25
_STRINGS = re.compile(r"""'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`([^`\\$]*)`""")
_LISTS = re.compile(r"\[\s*((?:['\"`][^'\"`\n]*['\"`]\s*,?\s*)+)\]")
_AGENT_CALL = re.compile(r"\bagent\s*\(")
_STRINGS_MAX = 2_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What is believed of the limit and of a request without its files. Tokens and tokens a minute.

    Attributes:
        itpm: input tokens a minute; None when unknown.
        capacity: what the bucket holds when full; one minute of ``itpm`` when None.
        cold: a first request whose shared prefix is not cached.
        warm: a first request after a sibling warmed it.
        output: what an agent says in all; it comes back as input once.
        turn_s: seconds of one turn.
    """

    itpm: float | None = None
    capacity: float | None = None
    cold: float = 12_000.0
    warm: float = 4_000.0
    output: float = 600.0
    turn_s: float = TURN_S


@dataclass(frozen=True, slots=True)
class AgentPlan:
    """One agent: the files it reads and its uncached input tokens with a range."""

    files: tuple[str, ...]
    tokens: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A fan-out.

    Attributes:
        agents: one entry an agent, the leader first.
        tokens: all uncached input tokens, with ``low`` and ``high``.
        least_s: seconds it takes at least; None when the limit is unknown.
        width: agents at once that keep the limit busy and no more; None when it is unknown.
        too_large: (path, reason) of files a Read does not give whole.
        unreadable: (path, reason) of paths that hold nothing to read.
    """

    agents: tuple[AgentPlan, ...]
    tokens: int
    low: int
    high: int
    least_s: float | None
    width: int | None
    too_large: tuple[tuple[str, str], ...]
    unreadable: tuple[tuple[str, str], ...]


def plan_fanout(
    estimates: Sequence[Estimate], agents: int | None = None, limits: Limits | None = None
) -> Plan:
    """Return the plan of reading these files with so many agents, each file once.

    Files go largest first to the agent that has least, so that the agents end together. The least
    time is the token bucket's bound: what is not in the bucket at the start has to flow in before
    the last agent's last request, and no agent is faster than its own turns.
    """
    limits = limits or Limits()
    readable = [item for item in estimates if item.kind != "none"]
    count = agents or max(1, math.ceil(len(readable) / FILES_AN_AGENT))
    count = min(max(count, 1), AGENTS_MAX)
    shares: list[list[Estimate]] = [[] for _ in range(count)]
    loads = [0] * count
    for item in sorted(readable, key=lambda item: (-item.tokens, item.path)):
        at = loads.index(min(loads))
        shares[at].append(item)
        loads[at] += item.tokens
    plans = tuple(
        _agent(share, limits.cold if at == 0 else limits.warm, limits.output)
        for at, share in enumerate(shares)
    )
    tokens = sum(plan.tokens for plan in plans)
    low, high = _range(
        tokens,
        [plan.tokens - plan.low for plan in plans],
        [plan.high - plan.tokens for plan in plans],
    )
    turns = [len(share) + 1 for share in shares]
    least, width = _pace(limits, tokens, turns)
    return Plan(
        plans,
        tokens,
        low,
        high,
        least,
        width,
        tuple((item.path, item.reason) for item in readable if item.capped),
        tuple((item.path, item.reason) for item in estimates if item.kind == "none"),
    )


def _agent(share: Sequence[Estimate], prefix: float, output: float) -> AgentPlan:
    fixed = prefix + output
    tokens = int(fixed + sum(item.tokens for item in share))
    low, high = _range(
        tokens,
        [item.tokens - item.low for item in share] + [PREFIX_SPREAD * fixed],
        [item.high - item.tokens for item in share] + [PREFIX_SPREAD * fixed],
    )
    return AgentPlan(tuple(item.path for item in share), tokens, low, high)


def _range(tokens: int, below: Sequence[float], above: Sequence[float]) -> tuple[int, int]:
    """Return the range of a sum whose parts err on their own, and a little together."""
    under = math.sqrt(sum(part * part for part in below)) + SYSTEMATIC * tokens
    over = math.sqrt(sum(part * part for part in above)) + SYSTEMATIC * tokens
    return max(0, int(tokens - under)), int(tokens + over) + 1


def _pace(limits: Limits, tokens: int, turns: Sequence[int]) -> tuple[float | None, int | None]:
    """Return the least seconds and the width at the believed limit."""
    alone = max(turns) * limits.turn_s
    if not limits.itpm or limits.itpm <= 0:
        return None, None
    rate = limits.itpm / 60
    capacity = limits.itpm if limits.capacity is None else limits.capacity
    flow = max(0.0, tokens - capacity) / rate + limits.turn_s
    mean_turns = sum(turns) / len(turns)
    busy = rate * mean_turns * limits.turn_s / max(tokens / len(turns), 1)
    width = min(max(1, math.ceil(busy)), len(turns))
    return round(max(flow, alone), 1), width


def of_script(source: str) -> tuple[list[str], int]:
    """Return (strings that may name files, agents) that a workflow script shows at a glance.

    It is not run: a list of strings that is mapped over gives as many agents as it has entries,
    else each ``agent(`` call is one.
    """
    strings = [next(filter(None, found), "") for found in _STRINGS.findall(source)]
    lists = [len(_STRINGS.findall(body)) for body in _LISTS.findall(source)]
    calls = len(_AGENT_CALL.findall(source))
    agents = max([*lists, calls]) if calls else 0
    return [text for text in dict.fromkeys(strings) if text][:_STRINGS_MAX], min(agents, AGENTS_MAX)
