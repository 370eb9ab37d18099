"""From what is known of an agent to what the ledger is asked, for the gate and the hooks alike."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any  # noqa: TID253 - off the hook's fast path

from paceline.families import family_of
from paceline.ledger import prefix
from paceline.ledger.values import CONTINUATION, MAIN, NEW

if TYPE_CHECKING:
    from paceline.ledger.cost import Contexts

LATE_COST = 4000.0
"""Tokens of a later request of an agent whose earlier ones were not seen (a server begun late)."""
MAIN_TYPE = "main"


def project_of(folder: str) -> str:
    """Return a short name of a project's folder: the prompt cache is kept by folder."""
    return hashlib.sha256(folder.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def asked_of(
    contexts: Contexts,
    *,
    session: str,
    agent: str,
    model: str,
    project: str,
    now: float,
    late: bool = False,
) -> dict[str, Any]:
    """Return the arguments of ``admit.enqueue`` for an agent's next request.

    Args:
        contexts: of the session.
        session: its id.
        agent: the agent's id, "" for the main thread.
        model: that the request goes to.
        project: from :func:`project_of`.
        now: epoch seconds.
        late: it is not the agent's first request, whatever was seen.
    """
    cost = contexts.cost(agent, now)
    kind = contexts.agent(agent).type if agent else MAIN_TYPE
    asked: dict[str, Any] = {
        "family": family_of(model),
        "session": session,
        "agent": agent,
        "cls": (NEW if cost.first else CONTINUATION) if agent else MAIN,
        "amounts": {"input": cost.input},
        "estimated": cost.estimated,
        "kind": cost.kind,
        "cache_until": cost.cache_until,
        "context": cost.context,
        "prefix_key": prefix.key_of(model, kind, project),
        "first": cost.first,
    }
    if agent and cost.first and late:
        asked |= {"cls": CONTINUATION, "first": False}
        asked["amounts"] = {"input": cost.input + LATE_COST}
    return asked
