"""Pacing by hooks, where no gate is alive: the same ledger, the same order.

An agent's first request is held in ``SubagentStart``, each later one in ``PostToolBatch``, which
fires once when all tools of a turn have answered and before the next request goes. What the last
request used is read from the transcript and settled at the next hold, or when the agent stops.

A hold is bounded: an agent without progress is ended by the client's watchdog, whose limit a hook
cannot raise. After it the request goes as it is. Whatever fails here,
the request goes: the boundary around the hook notes the fault.
"""

from __future__ import annotations

import os
import sys
import time

from paceline import account, jsonl, paths, refusals, settings

from . import event as fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from paceline.estimate.value import Estimate
    from paceline.ledger.store import FileStore

HOLD_S = 480.0
WORKFLOW_HOLD_S = 165.0
"""An agent of a workflow is ended after 180 s without progress (client 2.1.240), others after
600."""
WORKFLOW_AGENT = "workflow-subagent"
LEASE_S = 120.0
LEAST_SLEEP_S = 0.02
REPLAN_S = 1.0
ROWS = 60
DEFAULT_MODEL = "claude"


class _Room:
    """What one hook process knows: the session's log folded, and the ledger."""

    def __init__(self, event: Mapping[str, Any], now: float) -> None:
        from paceline.ledger.cost import Contexts
        from paceline.ledger.store import FileStore
        from paceline.ledger.verdicts import Policy

        env = os.environ
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
        self.policy = Policy(headroom=told.headroom, park_max=told.park_max)
        folder = told.ledger or paths.ledger_dir(self.state)
        self.store: FileStore = FileStore(folder, account.account_id(env, self.state))
        self.log = paths.events_file(self.state, session)
        self.project = env.get("CLAUDE_PROJECT_DIR", "")
        self.transcript = fields.text_of(event, "transcript_path", fields.PATH_MAX)
        self.contexts = Contexts()
        self.open: dict[str, dict[str, Any]] = {}
        self.counted: set[str] = set()
        self.read()

    def read(self) -> None:
        """Fold the log, and find which grants of hooks are not settled."""
        lines, _ = jsonl.read(self.log)
        self.contexts.fold(lines)
        for line in lines:
            kind = line.get("e")
            if kind == "request.grant" and line.get("by") == "hook":
                self.open[str(line.get("agent") or "")] = line
            elif kind in ("request.settle", "request.refused"):
                self.open.pop(str(line.get("agent") or ""), None)
                self.counted.add(str(line.get("id")))

    def append(self, kind: str, **more: Any) -> None:
        """Append an event of this agent and fold it."""
        line = {"t": round(time.time(), 3), "e": kind, "agent": self.agent or None, **more}
        jsonl.append(self.log, line)
        self.contexts.fold([line])


def before_first_request(event: Mapping[str, Any], now: float) -> None:
    """Hold a new agent until its first request may go."""
    room = _Room(event, now)
    _charge_main(room)
    _wait(room)


def before_continuation(event: Mapping[str, Any], now: float) -> None:
    """Settle the agent's last request, then hold it until its next one may go."""
    room = _Room(event, now)
    _settle(room)
    _charge_main(room)
    _wait(room)


def before_tool(event: Mapping[str, Any], estimate: Estimate) -> None:
    """Do nothing: every supported client holds at ``PostToolBatch``, with the exact result."""
    del event, estimate


def after_last_request(event: Mapping[str, Any], now: float) -> None:
    """Settle the last request of an agent that stopped."""
    room = _Room(event, now)
    _settle(room)


def after_refusal(event: Mapping[str, Any], refusal: refusals.Refusal, now: float) -> None:
    """Tell the ledger that an agent's request was refused for good."""
    from paceline.families import family_of
    from paceline.ledger import refuse

    room = _Room(event, now)
    grant = room.open.get(room.agent, {})
    refused = refuse.Refused(
        cause=refusal.cause,
        retryable=refusal.retryable,
        resets_at=refusal.resets_at,
        window=refusal.window or "",
        dimension=refusal.dimension,
        limit=refusal.limit,
    )
    family = family_of(_model(room))
    room.store.transact(
        lambda ledger, at: refuse.refuse(
            ledger, family, refused, at, room.policy, reservation_id=str(grant.get("id", ""))
        )
    )


def _wait(room: _Room) -> None:
    from paceline.ledger import admit, asking
    from paceline.ledger.verdicts import Grant, Wait

    known = room.contexts.agent(room.agent)
    ticket = f"h{room.agent}-{known.requests}"
    asked = asking.asked_of(
        room.contexts,
        session=room.session,
        agent=room.agent,
        model=_model(room),
        project=asking.project_of(room.project),
        now=room.now,
    )
    until = room.now + (WORKFLOW_HOLD_S if known.type == WORKFLOW_AGENT else HOLD_S)

    def look(ledger: Any, at: float) -> Any:
        admit.enqueue(
            ledger,
            ticket=ticket,
            now=at,
            lease=LEASE_S,
            spent_if_lost=True,
            deadline=until,
            **asked,
        )
        return admit.tick(ledger, [ticket], at, room.policy)[ticket]

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
            room.store.transact(lambda ledger, when: admit.withdraw(ledger, ticket, when))
            return
        time.sleep(min(REPLAN_S, max(LEAST_SLEEP_S, min(verdict.at, until) - at)))


def _settle(room: _Room) -> None:
    """Settle the agent's open reservation with what its transcript says was used."""
    from paceline.families import family_of
    from paceline.ledger import charge
    from paceline.ledger.verdicts import Usage
    from paceline.transcripts import place

    grant = room.open.get(room.agent)
    path = place.of_agent(room.transcript, room.session, room.agent)
    if grant is None or path is None:
        return
    since = float(grant.get("t") or 0.0)
    found = [(i, u, m) for i, u, m, at in _replies(path, room.now) if at >= since - 0.25]
    if not found:
        return
    _, used, model = found[-1]
    usage = Usage(used["input"], used["cache_creation"], used["cache_read"], used["output"])
    room.store.transact(
        lambda ledger, at: charge.settle_as(
            ledger, str(grant["id"]), family_of(model), usage, at, room.policy
        )
    )
    room.append("request.settle", id=str(grant["id"]), model=model, **used)


def _charge_main(room: _Room) -> None:
    """Charge what the main thread used since: nobody held it, but it spent the same budget."""
    from paceline.families import family_of
    from paceline.ledger import charge
    from paceline.ledger.verdicts import Usage

    if not room.transcript:
        return
    for ident, used, model, _ in _replies(room.transcript, room.now):
        mark = f"main-{ident}"
        if mark in room.counted or not paths.is_id(mark):
            continue
        usage = Usage(used["input"], used["cache_creation"], used["cache_read"], used["output"])

        def spend(
            ledger: Any, at: float, mark: str = mark, model: str = model, usage: Usage = usage
        ) -> bool:
            return charge.charge(
                ledger,
                mark,
                family=family_of(model),
                session=room.session,
                usage=usage,
                now=at,
                policy=room.policy,
            )

        room.counted.add(mark)
        if not room.store.transact(spend):
            continue
        line = {"t": round(time.time(), 3), "e": "request.settle", "agent": None, "id": mark}
        jsonl.append(room.log, {**line, "model": model, **used})


def _replies(path: str, now: float) -> list[tuple[str, dict[str, int], str, float]]:
    """Return (message id, final usage, model, time) of the last replies in a transcript."""
    from paceline.transcripts.lines import last_rows
    from paceline.transcripts.usage import SYNTHETIC, Usage

    replies: dict[str, tuple[Usage, str, float]] = {}
    for row in last_rows(path, ROWS):
        message = row.get("message")
        if row.get("type") != "assistant" or not isinstance(message, dict):
            continue
        ident, model = message.get("id"), message.get("model")
        if not isinstance(ident, str) or not isinstance(model, str) or model == SYNTHETIC:
            continue
        usage = replies[ident][0] if ident in replies else Usage()
        usage.add(row)
        replies[ident] = (usage, model, refusals.row_time(row, now))
    return [(i, dict(usage.tokens), model, at) for i, (usage, model, at) in replies.items()]


def _model(room: _Room) -> str:
    """Return the agent's model as far as it is known, else the main thread's."""
    known = room.contexts.agent(room.agent).model or room.contexts.agent("").model
    if known:
        return known
    replies = _replies(room.transcript, room.now) if room.transcript else []
    if replies:
        return replies[-1][2]
    # Nothing is written yet: most likely what this account used last.
    kinds = room.store.snapshot().prefixes
    newest = max(kinds, key=lambda key: kinds[key].at, default="")
    return newest.split("|", 1)[0] or DEFAULT_MODEL


def _find_filelock(state: str) -> None:
    """Make ``filelock`` importable: the server leaves word where it is (``<state>/site``)."""
    try:
        import filelock  # noqa: F401
    except ImportError:
        with open(os.path.join(state, "site"), encoding="utf-8") as file:
            place = file.read().strip()
        if os.path.isdir(place) and place not in sys.path:
            sys.path.append(place)
