"""Resume, wait or done: what follows when the client has ended. Pure; times are epoch seconds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from paceline import recovery
from paceline.ledger.breaker import AFTER_RESET_S
from paceline_mcp.cli.output import DEGRADED, ERROR, FINE

if TYPE_CHECKING:
    from paceline.recovery import Ticket
    from paceline_mcp.headless.ended import Ended

ATTEMPTS = 10
"""Resumes, unless ``--attempts`` says otherwise."""

PAUSE_S = {"throttle": 10.0, "overload": 30.0, "edge": 60.0, "quota": 60.0}
"""Rest after a refusal that names no reset; twice as long after each resume that brought nobody
back. A throttle's bucket refills in a minute, an overload lasts longer, an edge looks at bursts."""
PAUSE_MAX_S = 300.0

COMPLETE, INCOMPLETE, FAILED, UNKNOWN = "complete", "degraded", "failed", "unknown"


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent on bringing a session to its end.

    Attributes:
        attempts: resumes at most.
        max_wait: seconds of waiting at most, all waits together.
        tickets: how often one piece of work may be given out.
        resumable: whether the session can be resumed at all.
        slot: seconds after a reset that are this session's own: those that waited for the same
            reset must not all wake at once.
        paced: whether the plugin paces what is woken.
    """

    attempts: int = ATTEMPTS
    max_wait: float = 6 * 3600.0
    tickets: int = ATTEMPTS
    resumable: bool = True
    slot: float = 0.0
    paced: bool = False


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent so far.

    Attributes:
        resumes: how often the session was resumed.
        waited: seconds waited.
        fruitless: resumes in a row after which as many were missing as before.
        missing: how many agents were missing when it was last resumed, -1 before that.
    """

    resumes: int = 0
    waited: float = 0.0
    fruitless: int = 0
    missing: int = -1

    def after(self, ended: Ended) -> Spent:
        """Return this with the last resume judged by what it left."""
        if not self.resumes:
            return self
        better = ended.missing < self.missing or (ended.missing > self.missing and not ended.main)
        return replace(self, fruitless=0 if better else self.fruitless + 1)

    def resumed(self, ended: Ended) -> Spent:
        """Return this with one more resume, of a session that was left so."""
        return replace(self, resumes=self.resumes + 1, missing=ended.missing)

    def rested(self, seconds: float) -> Spent:
        """Return this with so many seconds waited."""
        return replace(self, waited=self.waited + max(0.0, seconds))


@dataclass(frozen=True, slots=True)
class Resume:
    """Resume the session now.

    Attributes:
        dead: how many agents are to be brought back; 0 where only the main thread is.
        most: how many of them are asked for now: where nobody paces and the last resume brought
            nobody back, they collided, and each time half as many are woken.
    """

    dead: int
    most: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing before ``until``; ``reset`` says whether the API named that time."""

    until: float
    why: str
    reset: bool


@dataclass(frozen=True, slots=True)
class Done:
    """It is over. ``verdict``: a constant of this module; ``why``: a few words, "" when complete.

    ``exit_code``: 0 only when complete, 3 when agents are missing, the client's own when it failed
    for a reason that is no limit's doing.
    """

    verdict: str
    exit_code: int
    why: str = ""


def decide(ended: Ended, spent: Spent, budget: Budget, now: float) -> Resume | Wait | Done:
    """Return what follows. The answer to the same question asked later is the same or further on.

    Args:
        ended: how the client left the session.
        spent: so far, the last resume judged (:meth:`Spent.after`).
        budget: what may be spent.
        now: epoch seconds.
    """
    over = _without_limits(ended)
    if over is not None:
        return over
    dead = recovery.open_drops(ended.manifest, ended.at, budget.tickets)
    main = ended.main
    if not dead and main is None:
        return Done(
            INCOMPLETE, DEGRADED, "nothing left that a limit dropped and that may run again"
        )
    if not budget.resumable:
        return Done(INCOMPLETE, DEGRADED, "this session is not kept and cannot be resumed")
    if spent.resumes >= budget.attempts:
        return Done(INCOMPLETE, DEGRADED, _tried(spent.resumes))
    wait = _wait(ended, dead, spent, budget.slot)
    if now < wait.until:
        if spent.waited + wait.until - now > budget.max_wait:
            return Done(INCOMPLETE, DEGRADED, f"{wait.why} is further away than --max-wait allows")
        return wait
    halved = 0 if budget.paced else spent.fruitless
    return Resume(len(dead), max(1, len(dead) >> halved) if dead else 0)


def _without_limits(ended: Ended) -> Done | None:
    """Return the end that no limit has to do with, or None."""
    code = exit_code(ended.code)
    if not ended.known:
        if code != FINE:
            return Done(FAILED, code, "the client failed before it left a trace of its session")
        return Done(UNKNOWN, DEGRADED, "no trace of the session was found: nothing can be verified")
    if ended.main is not None and not ended.main.retryable:
        return Done(FAILED, code or ERROR, f"refused for good: {ended.main.cause}")
    if ended.main is None and code != FINE:
        return Done(FAILED, code, f"the client ended with exit code {code}")
    return Done(COMPLETE, FINE) if ended.whole else None


def _wait(ended: Ended, dead: list[Ticket], spent: Spent, slot: float) -> Wait:
    """Return until when to rest: the last reset of all, else a pause for what they died of.

    Who died before the last resume and not again in it was refused nothing: no pause helps it.
    """
    fresh = ended.died_now()
    causes = {one.cause for one in dead if one.key in fresh}
    resets = [one.not_before for one in dead if one.not_before is not None]
    if ended.main is not None:
        causes.add(ended.main.cause)
        if ended.main.resets_at is not None:
            resets.append(ended.main.resets_at)
    told = max(resets, default=0.0)
    if told > ended.at:
        return Wait(told + AFTER_RESET_S + slot, "the reset", reset=True)
    pause = max((PAUSE_S.get(cause, 0.0) for cause in causes), default=0.0)
    pause = min(PAUSE_MAX_S, pause * 2.0 ** min(spent.fruitless, 8))
    return Wait(ended.at + pause, f"the end of a pause ({', '.join(sorted(causes))})", reset=False)


def exit_code(code: int) -> int:
    """Return a shell's exit code: a process that a signal ended has 128 and the signal's number."""
    return 128 - code if code < 0 else code


def _tried(resumes: int) -> str:
    return f"resumed {resumes} time{'' if resumes == 1 else 's'}, as often as allowed"
