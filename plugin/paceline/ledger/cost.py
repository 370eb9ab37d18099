"""What a request will count: a fold over the session's event log, agent by agent.

Cost = the input that is new since the agent's last request (tool results that came back, and its
own last output, which is not in the cache yet), and the whole context again when the cache has
expired. A first request costs what its prefix is known to cost (``prefix``). Cache reads do not
count (the API's rate limit documentation).
"""

from __future__ import annotations

from dataclasses import dataclass, field  # noqa: TID253 - off the hook's fast path
from typing import TYPE_CHECKING, Any  # noqa: TID253 - off the hook's fast path

from paceline.ledger.prefix import CLEAN_S, TTL_S

if TYPE_CHECKING:
    from collections.abc import Iterable

MAIN_AGENT = ""
FRAME = 30.0
"""Tokens around a tool result and a turn that no estimate of its text holds."""
RESULT_FRAME = 12.0
UNKNOWN_TOOL = 300.0
MAINLY = 0.8
"""Share of what is pending that one kind must have for its correction to be used and taught."""


@dataclass(slots=True)
class Agent:
    """What is known of one agent ("" is the main thread).

    Attributes:
        type: its agent type, or "".
        requests: how many of its requests were answered.
        context: tokens its next request will carry that were sent before.
        last_output: tokens of its last reply.
        cache_until: until when its context can be read from the cache.
        pending: tokens by tool call that came in since its last request.
        going: the same of the request that is under way, until it is answered or refused.
        kinds: of the same tool calls, what each brings (``estimate.kinds``) and its estimate.
        prompt: tokens of a prompt it was given since then.
        hook_grant: a hook's reservation for the request under way, "" when there is none.
    """

    type: str = ""
    requests: int = 0
    context: float = 0.0
    last_output: float = 0.0
    cache_until: float = 0.0
    pending: dict[str, float] = field(default_factory=dict)
    going: dict[str, float] = field(default_factory=dict)
    kinds: dict[str, tuple[str, float]] = field(default_factory=dict)
    prompt: float = 0.0
    model: str = ""
    hook_grant: str = ""


@dataclass(slots=True)
class Cost:
    """An expected cost: ``input`` tokens known, and ``estimated`` ones, mostly of one ``kind``.

    ``context`` comes on top when the request goes after ``cache_until``.
    """

    input: float
    estimated: float
    kind: str
    first: bool
    cold: bool
    cache_until: float
    context: float = 0.0


@dataclass(slots=True)
class Contexts:
    """The agents of one session, folded from its event log."""

    agents: dict[str, Agent] = field(default_factory=dict)

    def agent(self, agent_id: str | None) -> Agent:
        """Return what is known of an agent, made on first use."""
        return self.agents.setdefault(agent_id or MAIN_AGENT, Agent())

    def fold(self, lines: Iterable[dict[str, Any]]) -> None:
        """Take new lines of the log in, in order. Doubled lines change nothing."""
        for line in lines:
            fold = _FOLDS.get(line.get("e", ""))
            if fold is not None:
                fold(self.agent(line.get("agent")), line)

    def cost(self, agent_id: str | None, now: float) -> Cost:
        """Return what the agent's next request will count ("" or None for the main thread)."""
        agent = self.agent(agent_id)
        estimated = sum(agent.pending.values())
        kind = _kind(agent)
        fixed = RESULT_FRAME * len(agent.pending) + agent.prompt
        if agent.requests == 0:
            return Cost(fixed, estimated, kind, first=True, cold=True, cache_until=0.0)
        cold = agent.cache_until - CLEAN_S <= now
        fixed += agent.last_output + FRAME + (agent.context if cold else 0.0)
        return Cost(
            fixed,
            estimated,
            kind,
            first=False,
            cold=cold,
            cache_until=agent.cache_until,
            context=0.0 if cold else agent.context,
        )


def _kind(agent: Agent) -> str:
    """Return the kind that makes up nearly all that is pending, "" when none does."""
    parts: dict[str, float] = {}
    for ident in agent.pending:
        kind, tokens = agent.kinds.get(ident, ("", 0.0))
        parts[kind] = parts.get(kind, 0.0) + tokens
    total = sum(parts.values())
    kind = max(parts, key=lambda name: parts[name], default="")
    return kind if total > 0 and parts[kind] >= MAINLY * total else ""


def _tokens(line: dict[str, Any], name: str = "tokens") -> float:
    value = line.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return 0.0
    return float(value)


def _started(agent: Agent, line: dict[str, Any]) -> None:
    agent.type = str(line.get("type") or agent.type)


def _before(agent: Agent, line: dict[str, Any]) -> None:
    ident = str(line.get("id"))
    agent.pending[ident] = _tokens(line) or UNKNOWN_TOOL
    agent.kinds[ident] = (str(line.get("kind") or ""), agent.pending[ident])


def _after(agent: Agent, line: dict[str, Any]) -> None:
    agent.pending[str(line.get("id"))] = _tokens(line)


def _batch(agent: Agent, line: dict[str, Any]) -> None:
    ids = [str(i) for i in line.get("ids") or []]
    for tool_use in ids:
        agent.pending[tool_use] = 0.0
    if ids:
        agent.pending[ids[0]] = _tokens(line)


def _granted(agent: Agent, line: dict[str, Any]) -> None:
    # What was pending is in this request; what comes in from now on is the next one's.
    agent.going.update(agent.pending)
    agent.pending.clear()
    agent.hook_grant = str(line.get("id")) if line.get("by") == "hook" else ""


def _refused(agent: Agent, line: dict[str, Any]) -> None:
    # The same request goes again, with all it carried.
    agent.pending = {**agent.going, **agent.pending}
    agent.going = {}
    agent.hook_grant = ""
    del line


def _settled(agent: Agent, line: dict[str, Any]) -> None:
    agent.requests += 1
    agent.going.clear()
    agent.hook_grant = ""
    agent.kinds = {i: kind for i, kind in agent.kinds.items() if i in agent.pending}
    agent.prompt = 0.0
    agent.last_output = _tokens(line, "output")
    agent.context = sum(_tokens(line, n) for n in ("input", "cache_creation", "cache_read"))
    agent.cache_until = _tokens(line, "t") + TTL_S
    agent.model = str(line.get("model") or agent.model)


_FOLDS = {
    "agent.start": _started,
    "tool.before": _before,
    "tool.after": _after,
    "tool.failed": _after,
    "batch": _batch,
    "request.grant": _granted,
    "request.refused": _refused,
    "request.release": _refused,
    "request.settle": _settled,
}
