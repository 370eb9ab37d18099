"""The gate's conversation: ask, began, done, refused. Every decision of the gate is made here.

One request of the model, as the gate sees it::

    ask      -> {"id": reservation, "tell": bool}    it may go (id "" : go, nothing to settle)
             -> {"wait": true}                       ask again with the same call
             either with {"note": text}              a line for the person; "" takes it away
    began                                            the reply began (only when "tell")
    done                                             usage, or none when it was cut off
    refused  -> {"again": bool}                      it came to nothing: send it again?

Answers to ``ask`` are made of slices shorter than 25 s, so that no layer between gives up on one.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from paceline import settings as options
from paceline.errors import PacelineError
from paceline.families import family_of
from paceline.ledger import charge, refuse, settle
from paceline.ledger.refuse import Refused
from paceline.ledger.values import MAIN
from paceline.ledger.verdicts import Drop, Grant
from paceline_mcp.broker import evidence, patience
from paceline_mcp.broker.reported import usage_of

if TYPE_CHECKING:
    from paceline.refusals import Refusal
    from paceline.settings import Settings
    from paceline_mcp.broker.desk import Desk
    from paceline_mcp.broker.session import Session

SLICE_S = 20.0
LOOK_S = 0.2
FIRST_SLICE_S = 2.0
"""The first slice is short, so that a person reads soon what is being waited for."""
BEAT_S = 4.0
"""Seconds between signs of life; a hook takes one for good for 20."""
FORGET_S = 30.0
"""A call that is not asked again for this long after a slice is over: its request was cancelled."""
GONE_S = 3.0
"""So long where the client took it back; one that only ran out of time asks again."""
LONGEST_S = 3600.0
"""A request that nobody told the end of for so long is over: its reservation is left to expire."""
UNKNOWN_TRIES = 10
"""The client itself tries 10 times; a failure of unknown cause is tried as often, not for ever."""
STALL_MS = 7 * 86_400_000
"""A held agent makes no progress, and the client's watchdog ends those after 10 minutes: raised."""

ENVIRONMENT = {
    "CLAUDE_ASYNC_AGENT_STALL_TIMEOUT_MS": str(STALL_MS),
    # Each agent retrying by itself is what collides; the gate brings refused requests back, each
    # in its own slot. The gate puts the old value back when it cannot reach this server.
    "CLAUDE_CODE_MAX_RETRIES": "0",
}


@dataclass(frozen=True, slots=True)
class Sent:
    """A request under way: the turn it belongs to, whose it is, its model, and when it went."""

    turn: str
    agent: str
    model: str
    at: float


class GateDesk:
    """Answers the gate of one session.

    Args:
        desk: an open desk.
        session: what is known of the session.
        settings: of this process.
    """

    def __init__(self, desk: Desk, session: Session, settings: Settings) -> None:
        self.desk = desk
        self.session = session
        self.settings = settings
        self.seen = 0.0
        self._beaten = 0.0
        self._told_fault = ""
        self._falls_back = asyncio.Event()
        self._longest = patience.longest(session.env)
        self.revivals: dict[str, int] = {}
        self._calls: dict[str, asyncio.Task[Grant | Drop | None]] = {}
        self._sent: dict[str, Sent] = {}
        self._held: set[str] = set()
        self._not_before: dict[str, float] = {}
        self._asked_at: dict[str, float] = {}

    def follow(self, session: str) -> None:
        """Go on in another session of the same client: it was cleared, or another one resumed."""
        if self.session.move(session):
            self._beaten = 0.0
            self.beat()

    def beat(self) -> None:
        """Keep the hooks informed that a gate is alive, once one was seen; not at every tick."""
        now = time.monotonic()
        if self.seen and now - self._beaten >= BEAT_S:
            self._beaten = now
            self.session.beat()
            for reservation, sent in self._sent.items():
                if time.time() - sent.at > LONGEST_S:
                    self.desk.ended(reservation)

    async def ask(
        self, call: str, turn: str, agent: str, model: str, index: int, attempt: int
    ) -> dict[str, Any]:
        """Let one request go when its turn has come.

        Args:
            call: the same while one request is asked for again.
            turn: the client's id of what it works at; its requests follow one another.
            agent: "" for the main thread.
            model: that it goes to.
            index: its place in the turn.
            attempt: how often it was sent before.
        """
        if not self.seen:
            self.seen = time.time()
            self.beat()
        paced = self.settings.mode == options.PACE
        greeting: dict[str, Any] = {"set": ENVIRONMENT} if paced else {}
        if self.settings.mode == options.OFF:
            return {"id": ""}
        task = self._calls.get(call)
        slice_s = min(SLICE_S, self._longest)
        look = slice_s if task is not None else min(FIRST_SLICE_S, slice_s)
        if task is None:
            look = min(LOOK_S, look) if self._falls_back.is_set() else look
            await self._abandoned(turn, model)
            await self._take_over(agent)
            asked = self.session.ask_of(agent, model, index, time.time())
            asked["attempt"] = attempt
            asked["not_before"] = self._not_before.pop(agent, 0.0)
            if self.settings.mode == options.OBSERVE:
                asked["cls"] = MAIN
            task = self._calls[call] = asyncio.create_task(self.desk.ask(call, asked))
        at = self._asked_at[call] = time.time()
        try:
            await self._granted(task, look)
        except asyncio.CancelledError:  # the client takes its call back: somebody interrupted it
            asyncio.get_running_loop().call_later(GONE_S, self._forget, call, task, at)
            raise
        if not task.done() and self._falls_back.is_set() and self._overloaded(call):
            # Held, it would wait for a model that its client has another one for.
            task.cancel()
            await asyncio.wait({task})
            asked = {**self.session.ask_of(agent, model, index, time.time()), "cls": MAIN}
            task = self._calls[call] = asyncio.create_task(self.desk.ask(call, asked))
            greeting["own"] = True
            await self._granted(task, slice_s)
        if not task.done():
            self._note_wait(call, agent, task)
            return {"wait": True, "note": self._note(), **greeting}
        self._over(call)
        if call in self._held:
            self._held.discard(call)
            greeting["note"] = self._note()
        verdict = task.result() if not task.cancelled() else None
        if verdict is None:
            return self._unpaced(agent)
        if self._told_fault:
            self._told_fault, greeting["note"] = "", self._note()
        if not isinstance(verdict, Grant):
            # Parked, and not to be woken: it goes as it is and fails as it would have without us.
            return {"id": "", **greeting}
        now = time.time()
        self._sent[verdict.reservation] = Sent(turn, agent, model, now)
        self.session.append(
            "request.grant",
            agent,
            now,
            id=verdict.reservation,
            cost=round(verdict.amounts.get("input", 0.0)),
            waited=round(verdict.waited, 3),
            by="gate",
            attempt=attempt,
        )
        return {"id": verdict.reservation, "tell": verdict.leader, **greeting}

    def _unpaced(self, agent: str) -> dict[str, Any]:
        """Let a request go as it would without us, and say once why.

        The ledger cannot be used. The gate puts the client's own retries back: nobody else would
        try a refused request again.
        """
        answer: dict[str, Any] = {"id": "", "unpaced": True}
        if not self._told_fault:
            self._told_fault = self.desk.fault or "a request cannot be asked for"
            self.session.append("fault", agent, time.time(), where="gate", what=self._told_fault)
            answer["note"] = "not paced: the ledger cannot be used. Type: paceline doctor"
        return answer

    async def _granted(self, task: asyncio.Task[Any], seconds: float) -> None:
        """Wait for a call's turn, or until it is known that the client falls back."""
        known = self._falls_back.is_set()
        fell = asyncio.create_task(self._falls_back.wait())
        await asyncio.wait(
            {task} if known else {task, fell}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
        fell.cancel()

    def _overloaded(self, call: str) -> bool:
        """Whether a call waits for the API to recover."""
        wait = self.desk.waits.get(call)
        return wait is not None and wait.why == "overload"

    async def _abandoned(self, turn: str, model: str) -> None:
        """Give back what the turn's request before this one held, if nobody said how it ended.

        A client that falls back on another model leaves the request where it is (2.1.332).
        """
        gone = [one for one, sent in self._sent.items() if turn and sent.turn == turn]
        for reservation in gone:
            sent = self._sent.pop(reservation)
            if sent.model != model:
                self._falls_back.set()
            self.desk.ended(reservation)
            await self._quietly(
                lambda led, now, one=reservation: settle.release(led, one, now, self.desk.policy)
            )
            self.session.append("request.release", sent.agent, time.time(), id=reservation)

    async def _take_over(self, agent: str) -> None:
        """Give back what a hook reserved for this very request before the gate was there."""
        self.session.refresh()
        held = self.session.contexts.agent(agent).hook_grant
        if held:
            await self._quietly(lambda led, now: settle.release(led, held, now, self.desk.policy))
            self.session.append("request.release", agent, time.time(), id=held)

    async def began(self, reservation: str) -> dict[str, Any]:
        """The reply began: what this request wrote to the cache can be read."""
        await self._quietly(lambda led, now: settle.began(led, reservation, now))
        return {}

    async def done(
        self, reservation: str, usage: dict[str, Any] | None, model: str, agent: str = ""
    ) -> dict[str, Any]:
        """A request ended: settle with its usage, or at the estimate when there is none.

        ``model`` and ``agent`` count where another process, killed since, let the request go.
        """
        sent = self._sent.pop(reservation, Sent("", agent, model, 0.0))
        self.desk.ended(reservation)
        counted = usage_of(usage or {})
        if usage is None or not counted.told:  # cut off, or by way of a proxy that does not count
            policy = self.desk.policy
            await self._quietly(
                lambda led, now: charge.settle_as_reserved(led, reservation, now, policy)
            )
            return {}
        self.session.append(
            "request.settle",
            sent.agent,
            time.time(),
            id=reservation,
            model=str(usage.get("model") or sent.model),
            input=counted.input,
            cache_creation=counted.cache_creation,
            cache_read=counted.cache_read,
            output=counted.output,
        )
        family = family_of(str(usage.get("model") or sent.model))
        await self._quietly(
            lambda led, now: charge.settle_as(
                led, reservation, family, counted, now, self.desk.policy
            )
        )
        return {}

    async def refused(
        self, reservation: str, attempt: int, said: str = "", told: Sent | None = None
    ) -> dict[str, Any]:
        """A request came to nothing. Say whether to send the same one again, and by whose retries.

        Args:
            reservation: the request's.
            attempt: how often it was sent before.
            said: what the client wrote to the conversation instead of an answer.
            told: of the request, for where another process, killed since, let it go.
        """
        now = time.time()
        sent = self._sent.pop(reservation, told or Sent("", "", "", now))
        self.desk.ended(reservation)
        found = await evidence.refusal_of(
            lambda: self.session.transcript_of(sent.agent),
            sent.at,
            now,
            said,
            kept=self.session.kept(),
        )
        if found is None:
            # Cut off by the person, or never sent: nothing was refused.
            await self._quietly(
                lambda led, at: settle.release(led, reservation, at, self.desk.policy)
            )
            return {"again": False}
        self.session.append(
            "request.refused", sent.agent, now, id=reservation, attempt=attempt, **found.fields()
        )
        answer = await self._quietly(
            lambda led, at: refuse.refuse(
                led,
                family_of(sent.model),
                as_ledger(found, attempt),
                at,
                self.desk.policy,
                reservation_id=reservation,
                attempt=attempt,
            )
        )
        if self.settings.mode != options.PACE:
            return {"again": False}
        if answer is None:  # no ledger: once more, by the client's own rules
            return {"again": found.retryable}
        if not answer.again:
            return {"again": False}
        self._not_before[sent.agent] = answer.not_before
        revived = self.revivals[sent.agent] = self.revivals.get(sent.agent, 0) + 1
        self.session.append("request.revived", sent.agent, time.time(), id=reservation, n=revived)
        if found.cause == "overload":
            # The client may have a model to fall back on; only its own retries ever get there.
            return {"again": True, "own": True}
        return {"again": True}

    def _note(self) -> str:
        """Return the line a person reads under the prompt while requests wait, "" when none do."""
        waits = list(self.desk.waits.values())
        if not waits or not self._held:
            return ""
        first = min(waits, key=lambda wait: wait.at)
        seconds = max(0.0, first.at - time.time())
        if first.why == "quota":
            at = time.strftime("%H:%M", time.localtime(first.at))
            return f"{len(waits)} parked until {at}, when the plan's limit resets"
        what = "for the API to recover" if first.why == "overload" else "for the token limit"
        return f"{len(waits)} waiting {what}, next in {seconds:.0f} s"

    def _note_wait(self, call: str, agent: str, task: asyncio.Task[Any]) -> None:
        """Log a long hold once, and take its ticket back when nobody asks for it any more."""
        if call not in self._held:
            self._held.add(call)
            self.session.append("request.wait", agent, time.time(), id=call, by="gate")
        at = self._asked_at[call] = time.time()
        asyncio.get_running_loop().call_later(FORGET_S, self._forget, call, task, at)

    def _over(self, call: str) -> None:
        self._calls.pop(call, None)
        self._asked_at.pop(call, None)

    def _forget(self, call: str, task: asyncio.Task[Any], at: float) -> None:
        if self._calls.get(call) is task and self._asked_at.get(call) == at:  # not asked again
            self._over(call)
            self._held.discard(call)
            if not task.cancel() and isinstance(task.result(), Grant):  # granted to nobody
                self.desk.give_back(task.result().reservation)

    async def _quietly(self, change: Any) -> Any:
        try:
            return await self.desk.told(change)
        except PacelineError:
            return None


def as_ledger(found: Refusal, attempt: int) -> Refused:
    """Return the part of a refusal that the ledger acts on.

    A failure of unknown cause is tried again like an overload, as often as the client would.
    """
    refused = Refused.of(found)
    if found.cause != "unknown":
        return refused
    return replace(refused, cause="overload", retryable=attempt < UNKNOWN_TRIES)
