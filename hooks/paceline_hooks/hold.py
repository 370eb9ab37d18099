"""Pacing by hooks, where no gate is alive: the same ledger, the same order.

An agent's first request is held in ``SubagentStart``, each later one in ``PostToolBatch``, which
fires once when all tools of a turn have answered and before the next request goes. What the last
request used is read from the transcript and settled at the next hold, or when the agent stops.

A hold is bounded: an agent without progress is ended by the client's watchdog, whose limit a hook
cannot raise. After it the request goes as it is. Whatever fails here, the request goes: the
boundary around the hook notes the fault.
"""

from __future__ import annotations

import os
import sys
import time

from paceline import agent_types, jsonl, paths, settings

from . import arriving, rest
from . import event as fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from paceline.ledger.verdicts import Usage
    from paceline.refusals import Refusal

    from .replies import Reply

HOLD_S = 480.0
WORKFLOW_HOLD_S = 165.0
"""An agent of a workflow is ended after 180 s without progress (client 2.1.240), others after
600."""
LEASE_S = 120.0
LEAST_SLEEP_S = 0.02
REPLAN_S = 1.0
REST_S = 5.0
REST_MAX_S = 60.0
"""An agent that died of a refusal is let go again after ``REST_S`` at the earliest, twice as long
after each further death: the ladder has few tries, and what refused it may go on for a while."""
SLACK_S = 2.0
"""Seconds a row may be older than the event about it."""
RESUMED = "+resumed"
"""Behind an agent's type: woken by a message it has another prefix (client 2.1.240)."""


class Room:
    """What one hook process knows: the session's log folded, and the ledger.

    Attributes:
        env: of the hook.
        transcript: path of the main thread's, or "".
        persists: whether the client writes transcripts, so that a row may be waited for.
        launches: model that an Agent call named, by tool_use id.
        starts: how often the agent was started, this time included.
        deaths: when it died of a refusal, epoch seconds.
        open: by agent, the grant of a hook that is not settled.
        counted: ids of requests that are.
    """

    def __init__(self, event: Mapping[str, Any], now: float) -> None:
        from paceline.ledger import own
        from paceline.ledger.cost import Contexts

        self.env = env = os.environ
        session = fields.session_of(event, env)
        if session is None:
            msg = "no session"
            raise ValueError(msg)
        self.now = now
        self.session = session
        self.agent = fields.agent_of(event) or ""
        self.state = paths.state_dir(env)
        _find_filelock(self.state)
        told = settings.load(env)
        self.policy = own.policy_of(told)
        self.store = own.store_of(env, told)
        self.log = paths.events_file(self.state, session)
        self.project = env.get("CLAUDE_PROJECT_DIR", "")
        self.transcript = fields.text_of(event, "transcript_path", fields.PATH_MAX)
        self.persists = os.path.exists(self.transcript)
        self.contexts = Contexts()
        self.open: dict[str, dict[str, Any]] = {}
        self.counted: set[str] = set()
        self.launches: dict[str, str] = {}
        self.starts = 0
        self.deaths: list[float] = []
        self.read()

    def read(self) -> None:
        """Fold the log, and find which grants of hooks are not settled."""
        lines, _ = jsonl.read(self.log)
        self.contexts.fold(lines)
        for line in lines:
            kind, agent = line.get("e"), str(line.get("agent") or "")
            if kind == "request.grant" and line.get("by") == "hook":
                self.open[agent] = line
            elif kind in ("request.settle", "request.refused"):
                self.open.pop(agent, None)
                self.counted.add(str(line.get("id")))
            elif kind == "tool.before" and line.get("model"):
                self.launches[str(line.get("id"))] = str(line["model"])
            elif agent and agent == self.agent:
                self.starts += kind == "agent.start"
                if kind == "agent.failed" and line.get("retryable") is True:
                    self.deaths.append(float(line.get("t") or 0.0))

    def append(self, kind: str, **more: Any) -> None:
        """Append an event and fold it: of this agent, unless ``more`` names another."""
        line = {"t": round(time.time(), 3), "e": kind, "agent": self.agent or None, **more}
        jsonl.append(self.log, line)
        self.contexts.fold([line])


def before_first_request(event: Mapping[str, Any], now: float) -> None:
    """Hold an agent that begins, or that a message woke, until its request may go."""
    room = Room(event, now)
    _charge_main(room)
    _wait(room, anew=room.starts > 1 and not arriving.brings_gate(event))


def before_continuation(event: Mapping[str, Any], now: float) -> None:
    """Settle the agent's last request, then hold it until its next one may go."""
    room = Room(event, now)
    _settle(room)
    _charge_main(room)
    _wait(room)


def after_last_request(event: Mapping[str, Any], now: float) -> None:
    """Settle the last request of an agent that stopped."""
    room = Room(event, now)
    _settle(room)


def after_refusal(event: Mapping[str, Any], refusal: Refusal, now: float) -> None:
    """Tell the ledger that an agent's request was refused for good, and log it.

    The line brings what the request carried back into the cost of the next one.
    """
    from paceline.families import family_of

    from . import model

    room = Room(event, now)
    ident = str(room.open.get(room.agent, {}).get("id", ""))
    family = family_of(model.of_agent(room))
    if refusal.cause == "quota":
        # Closed at once, so that nobody follows; until when, the row tells better than the event.
        _refuse(room, family, refusal, ident, resets_at=None)
        refusal = _written(room, refusal, now)
        _refuse(room, family, refusal, "", resets_at=refusal.resets_at)
    else:
        _refuse(room, family, refusal, ident, resets_at=refusal.resets_at)
    if ident:
        more = {**refusal.fields(), "attempt": max(0, len(room.deaths) - 1), "by": "hook"}
        room.append("request.refused", id=ident, **more)


def _refuse(
    room: Room, family: str, refusal: Refusal, reservation: str, *, resets_at: float | None
) -> None:
    from dataclasses import replace

    from paceline.ledger import refuse

    refused = replace(refuse.Refused.of(refusal), resets_at=resets_at)
    room.store.transact(
        lambda ledger, at: refuse.refuse(
            ledger, family, refused, at, room.policy, reservation_id=reservation
        )
    )


def _written(room: Room, refusal: Refusal, now: float) -> Refusal:
    """Return the refusal as the agent's transcript has it, where that tells the reset."""
    from . import replies

    wait = replies.LAG_S if room.persists else 0.0
    found = replies.refusal(_transcript(room), now - SLACK_S, now, wait)
    return found if found is not None and found.resets_at is not None else refusal


def _transcript(room: Room) -> Callable[[], str | None]:
    """Return what finds the agent's transcript."""
    from paceline.transcripts import place

    return lambda: place.of_agent(room.transcript, room.session, room.agent)


def _wait(room: Room, *, anew: bool = False) -> None:
    """Wait until the agent's next request may go.

    Args:
        room: of this hook.
        anew: a message woke the agent on a client that then sends its whole context as new.
    """
    from paceline.ledger import admit
    from paceline.ledger.verdicts import Grant, Wait

    known = room.contexts.agent(room.agent)
    ticket = f"h{room.agent}-{known.requests}"
    asked = _asked(room, anew=anew)
    until = room.now + (WORKFLOW_HOLD_S if known.type == agent_types.WORKFLOW else HOLD_S)

    def look(ledger: Any, at: float) -> Any:
        admit.enqueue(
            ledger,
            ticket=ticket,
            now=at,
            lease=LEASE_S,
            spent_if_lost=True,
            deadline=until,
            not_before=rested(room.deaths),
            **asked,
        )
        return admit.tick(ledger, [ticket], at, room.policy)[ticket]

    def leave(ledger: Any, at: float) -> None:
        admit.withdraw(ledger, ticket, at)

    while True:
        verdict = room.store.transact(look)
        at = time.time()
        if isinstance(verdict, Grant):
            cost = round(verdict.amounts.get("input", 0.0))
            room.append(
                "request.grant",
                id=verdict.reservation,
                cost=cost,
                waited=round(verdict.waited, 3),
                by="hook",
            )
            return
        if not isinstance(verdict, Wait) or at >= until:
            room.store.transact(leave)
            return
        try:
            rest.sleep(min(REPLAN_S, max(LEAST_SLEEP_S, min(verdict.at, until) - at)))
        except SystemExit:
            room.store.transact(leave)
            raise


def _asked(room: Room, *, anew: bool) -> dict[str, Any]:
    """Return what the ledger is asked for the agent's next request."""
    from paceline.ledger import asking, prefix

    from . import model

    named = model.of_agent(room)
    project = asking.project_of(room.project)
    asked = asking.asked_of(
        room.contexts,
        session=room.session,
        agent=room.agent,
        model=named,
        project=project,
        now=room.now,
    )
    if anew and asked["first"]:
        kind = room.contexts.agent(room.agent).type + RESUMED
        asked["prefix_key"] = prefix.key_of(named, kind, project)
    elif anew:
        # All of it known or taken as known: what it counts says nothing of the estimate's worth.
        asked["amounts"]["input"] += asked["context"] + asked["estimated"]
        asked |= {"context": 0.0, "cache_until": 0.0, "estimated": 0.0, "kind": ""}
    return asked


def rested(deaths: Sequence[float]) -> float:
    """Return when an agent that died so often may be tried again, 0 for one that never did."""
    if not deaths:
        return 0.0
    return deaths[-1] + float(min(REST_S * 2 ** min(len(deaths) - 1, 8), REST_MAX_S))


def _settle(room: Room) -> None:
    """Settle the agent's open reservation with what its transcript says was used."""
    from paceline.families import family_of
    from paceline.ledger import charge

    from . import replies

    grant = room.open.get(room.agent)
    if grant is None:
        return
    since = float(grant.get("t") or 0.0) - 0.25
    wait = replies.LAG_S if room.persists else 0.0
    found = replies.awaited(_transcript(room), since, room.now, wait)
    if not found:
        return
    ident, last = str(grant["id"]), found[-1]
    usage = _usage(last)
    if not usage.told:  # by way of a proxy that does not count
        room.store.transact(
            lambda ledger, at: charge.settle_as_reserved(ledger, ident, at, room.policy)
        )
        return
    room.store.transact(
        lambda ledger, at: charge.settle_as(
            ledger, ident, family_of(last.model), usage, at, room.policy
        )
    )
    room.append("request.settle", id=ident, model=last.model, **last.used)


def _charge_main(room: Room) -> None:
    """Charge what the main thread used since: nobody held it, but it spent the same budget."""
    from paceline.families import family_of
    from paceline.ledger import charge

    from . import replies

    if not room.transcript:
        return
    for reply in replies.read(room.transcript, room.now):
        mark = f"main-{reply.id}"
        if mark in room.counted or not paths.is_id(mark):
            continue

        def spend(ledger: Any, at: float, mark: str = mark, reply: replies.Reply = reply) -> bool:
            return charge.charge(
                ledger,
                mark,
                family=family_of(reply.model),
                session=room.session,
                usage=_usage(reply),
                now=at,
                policy=room.policy,
            )

        room.counted.add(mark)
        if not room.store.transact(spend):
            continue
        told: dict[str, Any] = {"id": mark, "model": reply.model, **reply.used}
        room.append("request.settle", agent=None, **told)


def _usage(reply: Reply) -> Usage:
    from paceline.ledger.verdicts import Usage

    used = reply.used
    return Usage(used["input"], used["cache_creation"], used["cache_read"], used["output"])


def _find_filelock(state: str) -> None:
    """Make ``filelock`` importable: the server leaves word where it is (``<state>/site``)."""
    try:
        import filelock  # noqa: F401
    except ImportError:
        with open(os.path.join(state, "site"), encoding="utf-8") as file:
            place = file.read().strip()
        if os.path.isdir(place) and place not in sys.path:
            sys.path.append(place)
