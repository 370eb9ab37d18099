"""Which model an agent's next request goes to: a refusal, and a hold, belong to its limit.

No event tells. Best known first: what its own requests went to; what the client noted beside its
transcript (2.1.332); what it was launched with; else what the main thread's requests go to.
"""

from __future__ import annotations

from paceline import families, jsonl
from paceline.transcripts import find, place

from . import replies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .hold import Room

DEFAULT = "claude"
SIDECAR_MAX = 65_536


def of_agent(room: Room) -> str:
    """Return the model that the agent's next request most likely goes to."""
    known = room.contexts.agent(room.agent).model
    path = place.of_agent(room.transcript, room.session, room.agent)
    found = known or (replies.asked_model(path) if path else "")
    if found:
        return found
    named = _named(room, path)
    if named.startswith("claude-"):
        return named
    main = _main(room)
    if named not in families.SHORT:
        return main or _newest(room) or DEFAULT
    models = [main, *(agent.model for agent in room.contexts.agents.values()), *_kinds(room)]
    return families.meant(named, models)


def _named(room: Room, path: str | None) -> str:
    """Return the model or its short name that an agent was launched with, "" when none is told."""
    told = room.env.get("CLAUDE_CODE_SUBAGENT_MODEL", "").strip().lower()
    meta = _sidecar(path)
    call = str(meta.get("toolUseId"))
    for name in (told, meta.get("model"), room.launches.get(call)):
        if isinstance(name, str) and (name in families.SHORT or name.startswith("claude-")):
            return name
    return ""


def _sidecar(path: str | None) -> dict[str, object]:
    try:
        with open(find.meta_of(path or ""), "rb") as file:
            found = jsonl.loads(file.read(SIDECAR_MAX))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _main(room: Room) -> str:
    """Return the main thread's model: it launched this agent, so its reply is being written."""
    known = room.contexts.agent("").model
    if known or not room.transcript:
        return known
    lag = replies.LAUNCH_LAG_S if room.persists else 0.0
    found = replies.awaited(lambda: room.transcript, 0.0, room.now, lag)
    return found[-1].model if found else ""


def _kinds(room: Room) -> list[str]:
    """Return the models this account used, the last one first."""
    from paceline.ledger import prefix

    return prefix.models(room.store.snapshot())


def _newest(room: Room) -> str:
    return next(iter(_kinds(room)), "")
