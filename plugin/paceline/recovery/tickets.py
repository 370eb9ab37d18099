"""Which dead agents are brought back, and how. Pure: a manifest in, tickets out.

The ladder, cheapest first: continue the dead agent from its transcript (``send_message``), relaunch
its prompt (``agent``), finish a workflow with a generated script (``workflow``). Reviving a request
in place is the gate's, before an agent is dead at all.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from typing import Any

SEND_MESSAGE, AGENT, WORKFLOW = "send_message", "agent", "workflow"

OPEN, ISSUED, RUNNING, DONE = "open", "issued", "running", "done"
SPENT, WAITS, NEVER = "spent", "waits", "never"
"""States of a piece of dead work: to be brought back; its ticket was given before and nobody began;
being worked on again; delivered by another; tried as often as allowed; its workflow still runs; not
brought back by itself (not a limit's doing, or a person stopped it)."""

BY_PERSON = "stopped by a person"
"""Why that never comes back, also when somebody asks for all."""

ATTEMPTS = 2
"""Tickets for one piece of work, unless ``requeue_attempts`` says otherwise."""

CLOCK_SLACK_S = 1.0
NAME_MAX = 40


class Ticket:
    """One piece of dead work.

    Attributes:
        ticket: id, the same for the same work and attempt however often it is asked for.
        state: a constant of this module.
        how: the step of the ladder, or "" where none is taken.
        run, session, key: where the work belongs.
        agent: the dead agent's id, or "".
        label: what the main thread called it, where it reads like a name, else "".
        cause: what it died of.
        not_before: epoch seconds before which it is no use, or None.
        attempt: 1 for the first ticket of this work.
        check_first: it wrote files or published something before it died.
        prompt_sha: fingerprint of its prompt, or "".
        transcript: path, or "".
        asked: a person's word is what brings it back: no limit killed it.
        why: a few words where ``state`` alone says little.
    """

    def __init__(self, run: Mapping[str, Any], entry: Mapping[str, Any]) -> None:
        self.run = str(run["run_id"])
        self.session = str(run["session_id"])
        self.key = str(entry["key"])
        self.agent = entry.get("agent_id") or ""
        self.label = _name(entry)
        self.cause = entry.get("cause") or ""
        self.prompt_sha = entry.get("prompt_sha") or ""
        self.transcript = entry.get("transcript") or ""
        self.check_first = bool(entry.get("edits") or entry.get("published"))
        self.ticket = ""
        self.state = NEVER
        self.how = ""
        self.not_before: float | None = None
        self.attempt = 0
        self.asked = False
        self.why = ""

    @property
    def to_do(self) -> bool:
        """Whether somebody should act on it."""
        return self.state in (OPEN, ISSUED)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "ticket": self.ticket or None,
            "state": self.state,
            "how": self.how or None,
            "run_id": self.run,
            "session_id": self.session,
            "agent_id": self.agent or None,
            "cause": self.cause or None,
            "not_before": self.not_before,
            "attempt": self.attempt,
            "check_first": self.check_first,
            "transcript": self.transcript or None,
            "why": self.why or None,
        }


def plan(
    manifest: Mapping[str, Any],
    now: float,
    attempts: int = ATTEMPTS,
    run: str | None = None,
    unanswered: Container[str] = (),
    *,
    others: bool = False,
) -> list[Ticket]:
    """Return a ticket for every agent that died, was stopped or is being brought back.

    Asking again while nothing happened gives the same tickets in state ``issued``; an agent that is
    at work again is ``running``; one whose last ticket failed gets the next, up to ``attempts``.

    Args:
        manifest: as :func:`paceline.manifest.build_manifest` gives it.
        now: epoch seconds.
        attempts: tickets one piece of work may have, those of the dead agents it replaces counted.
        run: only this run's.
        unanswered: keys of work that a blocked stop named already and nobody began: a message
            cannot be sent there, it seems, so the next step of the ladder is taken.
        others: somebody asks for those as well that no limit killed: cut off with their session,
            stalled, ended by the client, refused for a reason that may be gone. Never for who was
            stopped by a person.
    """
    found: list[Ticket] = []
    for one in manifest["runs"]:
        if run is not None and one["run_id"] != run:
            continue
        for entry in one["agents"]:
            ticket = _ticket(one, entry, now, attempts, others=others)
            if ticket is None:
                continue
            if ticket.how == SEND_MESSAGE and ticket.state == ISSUED and ticket.key in unanswered:
                ticket.how = AGENT
            found.append(ticket)
    return found


def open_drops(manifest: Mapping[str, Any], now: float, attempts: int = ATTEMPTS) -> list[Ticket]:
    """Return the tickets somebody should act on: what a ``Stop`` is blocked for."""
    return [ticket for ticket in plan(manifest, now, attempts) if ticket.to_do]


def ticket_id(run: str, key: str, attempt: int) -> str:
    """Return the id of the ``attempt``-th ticket of a piece of work."""
    import hashlib

    told = "\n".join((run, key, str(attempt))).encode("utf-8", "surrogatepass")
    return "tk_" + hashlib.sha256(told).hexdigest()[:12]


def _ticket(
    run: Mapping[str, Any], entry: Mapping[str, Any], now: float, attempts: int, *, others: bool
) -> Ticket | None:
    state = entry["state"]
    given = [given for given in entry.get("tickets") or () if isinstance(given, dict)]
    if state == "completed" and not entry.get("requeued_as"):
        return None
    ticket = Ticket(run, entry)
    ticket.attempt = len(given) + int(entry.get("earlier_tickets") or 0)
    ticket.ticket = str(given[-1]["ticket"]) if given else ""
    if state == "completed":
        ticket.state = DONE
        return ticket
    if state == "requeued" or (state in ("running", "held", "parked") and given):
        ticket.state = RUNNING
        return ticket
    if _replaced(entry):
        return None
    if state == "stopped" and not entry.get("why"):
        ticket.why = BY_PERSON
        return ticket
    if state not in ("dropped", "stopped"):
        return None
    ticket.asked = not entry.get("retryable")
    if ticket.asked and not others:
        ticket.why = entry.get("why") or "not a rate limit's doing"
        return ticket
    _to_do(ticket, run, entry, given, now, attempts)
    return ticket


def _to_do(
    ticket: Ticket,
    run: Mapping[str, Any],
    entry: Mapping[str, Any],
    given: list[dict[str, Any]],
    now: float,
    attempts: int,
) -> None:
    """Fill in the ticket of an agent that may be brought back."""
    if run["kind"] == "workflow" and run["verdict"] == "running":
        ticket.state, ticket.why = WAITS, "its workflow still runs"
        return
    died = max((death["t"] for death in entry.get("deaths") or ()), default=0.0)
    untried = bool(given) and float(given[-1]["t"]) >= died - CLOCK_SLACK_S
    if untried:
        ticket.state = ISSUED
    elif ticket.attempt >= attempts:
        ticket.state, ticket.why = SPENT, f"tried {ticket.attempt} times"
        return
    else:
        ticket.state = OPEN
        ticket.attempt += 1
        ticket.ticket = ticket_id(ticket.run, ticket.key, ticket.attempt)
    ticket.how = str(given[-1]["how"]) if untried else _how(run, entry, given)
    reset = entry.get("resets_at")
    ticket.not_before = float(reset) if reset is not None and reset > now else None


def _how(run: Mapping[str, Any], entry: Mapping[str, Any], given: list[dict[str, Any]]) -> str:
    """Return the cheapest step that may help.

    An agent that a message woke and a throttle refused again may be too large for the limit: a new
    one begins small. Of a quota or an overload its size is no cause, and it is woken again.
    """
    if run["kind"] == "workflow":
        return WORKFLOW
    woken = any(one["how"] == SEND_MESSAGE for one in given)
    can_continue = bool(entry.get("agent_id")) and bool(entry.get("transcript"))
    again = not woken or entry.get("cause") != "throttle"
    return SEND_MESSAGE if can_continue and again else AGENT


def _name(entry: Mapping[str, Any]) -> str:
    """Return the label of an agent the main thread launched, where it is a plain short name."""
    label = str(entry.get("label") or "")
    plain = label.isascii() and all(char.isalnum() or char in " _.-" for char in label)
    return label if plain and len(label) <= NAME_MAX and not entry.get("parent") else ""


def _replaced(entry: Mapping[str, Any]) -> bool:
    """Say whether another agent already took its place: that one is the open end then."""
    replacement = entry.get("requeued_as")
    return replacement is not None and replacement != entry.get("agent_id")
