"""Which agent took the place of a dead one. Pure.

A replacement is known by the ticket in its prompt, else by having exactly the prompt of a dead
agent and starting after that one died. Each replaces one dead agent at most, and the other way
round; a chain of replacements closes as a whole when its last link delivers.
"""

from __future__ import annotations

from . import state
from .state import Standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .model import Entry, Session


BEGINNING_S = 60.0
"""Seconds a completion script may take to start its first agent."""


def link(sessions: Iterable[Session], now: float) -> None:
    """Set ``requeued_as``, ``replaces`` and the standing of dead entries that were replaced.

    Args:
        sessions: with their runs.
        now: epoch seconds.
    """
    known = list(sessions)
    entries = [entry for session in known for run in session.runs for entry in run.entries]
    ordered = sorted(entries, key=lambda entry: entry.launched_at or 0.0)
    dead = [entry for entry in ordered if entry.standing.state == state.DROPPED]
    taken: dict[int, Entry] = {}
    heirs: dict[int, Entry] = {}
    for entry in sorted(dead, key=lambda entry: entry.died_at):
        found = _replacement(entry, ordered, taken)
        if found is not None:
            taken[id(found)] = entry
            heirs[id(entry)] = found
            entry.requeued_as = found.agent_id
            found.replaces = entry.agent_id or entry.key
    for entry in ordered:
        if id(entry) in taken:
            before = taken[id(entry)]
            entry.earlier_tickets = before.earlier_tickets + len(before.tickets)
    for entry in dead:
        last = entry
        while id(last) in heirs:
            last = heirs[id(last)]
        if last is entry:
            at_work = _in_hand(entry, known, now)
        else:
            at_work = last.standing.state in state.ALIVE
        if last.standing.state == state.COMPLETED:
            entry.standing = Standing(state.COMPLETED)
        elif at_work:
            entry.standing = Standing(state.REQUEUED, entry.standing.refusal)


def _in_hand(entry: Entry, sessions: list[Session], now: float) -> bool:
    """Say whether the completion script an entry is in was started and is not over yet."""
    script = entry.tickets[-1].script if entry.tickets else ""
    for session in sessions:
        if script and script in session.completions:
            at, ident = session.completions[script]
            run = next((run for one in sessions for run in one.runs if run.run == ident), None)
            if run is None:
                return now - at < BEGINNING_S
            return run.verdict() == "running"
    return False


def _replacement(entry: Entry, ordered: list[Entry], taken: dict[int, Entry]) -> Entry | None:
    tickets = {ticket.ticket for ticket in entry.tickets}
    for other in ordered:
        if other is entry or id(other) in taken or entry.agent_id in other.agent_ids:
            continue
        if other.ticket and other.ticket in tickets:
            return other
    if not entry.prompt_sha:
        return None
    for other in ordered:
        if other is entry or id(other) in taken or other.prompt_sha != entry.prompt_sha:
            continue
        if _began_after(other, entry):
            return other
    return None


def _began_after(other: Entry, entry: Entry) -> bool:
    """Say whether ``other`` was begun because ``entry`` was dead, as far as times can tell.

    In the same run an equal prompt may be the same work listed twice, waiting for its turn; only
    the time it was queued tells a retry from that.
    """
    died = entry.died_at
    if not died:
        return False
    if other.run == entry.run:
        return other.queued_at is not None and other.queued_at >= died
    return (other.launched_at or 0.0) >= died
