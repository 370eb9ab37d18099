"""How one agent stands, from everything that is known of it. Pure.

No single sign is trusted: a stop event may be missing or early, a transcript may lag, the client
calls a dead agent completed. What the transcript ends with decides, unless something newer than its
last row says otherwise; what has no end and no news for half an hour is counted as lost.
"""

from __future__ import annotations

from paceline.transcripts import agents as ends

TYPE_CHECKING = False
if TYPE_CHECKING:
    from paceline.refusals import Refusal
    from paceline.transcripts.agents import AgentRows
    from paceline.transcripts.calls import Outcome
    from paceline.transcripts.workflows import Item

    from .log import AgentLog

QUEUED, RUNNING, HELD, PARKED, COMPLETED, DROPPED, REQUEUED, STOPPED = (
    "queued",
    "running",
    "held",
    "parked",
    "completed",
    "dropped",
    "requeued",
    "stopped",
)
ALIVE = frozenset({QUEUED, RUNNING, HELD, PARKED, REQUEUED})
"""States that count as running in a census."""

STALE_S = 1800.0
"""Seconds without a sign of life after which an agent is lost: over the client's own watchdog
(600 s), a hook's longest hold (600 s) and a foreground command's longest run (600 s)."""

SETTLED_S = 60.0
"""Seconds after which an answer that does not say whether it is finished counts as finished."""

CUT_OFF = "still at work when its session or workflow was ended"

SLACK_S = 2.0
"""Seconds by which a row and an event of the same moment may differ."""


class Known:
    """Everything that is known of one agent.

    Attributes:
        rows: its transcript, or None without one.
        mtime: of that file, epoch seconds, or None.
        log: its lines of the event log, or None.
        outcome: of the call that launched it, or None.
        notice: the last notification about it, or None.
        stopped_at: when ``TaskStop`` ended it, or None.
        item: of the workflow's journal and record, or None.
        run_ended: whether its workflow is over.
        run_stopped: whether that was a person's doing.
        session_ended: epoch seconds, or None.
        gate_alive: whether a gate is alive in its session now.
        launched_at: epoch seconds of its launch, or None.
    """

    def __init__(self) -> None:
        self.rows: AgentRows | None = None
        self.mtime: float | None = None
        self.log: AgentLog | None = None
        self.outcome: Outcome | None = None
        self.notice: Outcome | None = None
        self.stopped_at: float | None = None
        self.item: Item | None = None
        self.run_ended = False
        self.run_stopped = False
        self.session_ended: float | None = None
        self.gate_alive = False
        self.launched_at: float | None = None

    def last_sign(self) -> float:
        """Return the time of the last sign of life."""
        signs = [self.mtime, self.launched_at, self.log.seen if self.log else None]
        if self.rows is not None:
            signs.append(self.rows.last_at)
        return max((sign for sign in signs if sign is not None), default=0.0)


class Standing:
    """The answer.

    Attributes:
        state: one of the constants of this module.
        cause: of a drop, else None.
        refusal: what it died of or is parked for, or None.
        why: a few words where ``cause`` alone says little, else "".
    """

    __slots__ = ("cause", "refusal", "state", "why")

    def __init__(self, state: str, refusal: Refusal | None = None, why: str = "") -> None:
        self.state = state
        self.refusal = refusal
        self.cause = (refusal.cause if refusal else "client") if state == DROPPED else None
        self.why = why


def standing(known: Known, now: float) -> Standing:
    """Return how an agent stands at ``now`` (epoch seconds)."""
    if known.item is not None and known.item.has_result:
        return Standing(COMPLETED)
    ended = _by_transcript(known)
    if ended is not None:
        return _newer(known, ended, now) or ended
    return _without_end(known, now)


def _by_transcript(known: Known) -> Standing | None:
    """Return what the transcript's end says, or None where it has none."""
    rows = known.rows
    if rows is None:
        return None
    if rows.end == ends.DIED:
        return Standing(DROPPED, rows.refusal)
    if rows.end == ends.STOPPED:
        return Standing(STOPPED)
    if rows.end == ends.REFUSED:
        return Standing(DROPPED, why="the model refused the content")
    if rows.end == ends.DONE:
        return _reported(known)
    return None


def _reported(known: Known) -> Standing:
    """Return how an agent with a report stands; its workflow may have asked for more."""
    item = known.item
    if item is not None and item.state == "failed":
        return Standing(
            DROPPED, item.refusal, why="ended without the result its workflow asked for"
        )
    return Standing(COMPLETED)


def _newer(known: Known, ended: Standing, now: float) -> Standing | None:
    """Return what something newer than the transcript's last row says, or None."""
    log = known.log
    if log is None or known.rows is None:
        return None
    last = known.rows.last_at or 0.0
    if ended.state == COMPLETED:
        if log.failed is not None and log.failed[0] > last + SLACK_S:
            return Standing(DROPPED, log.failed[1])
    elif log.stopped is not None and log.stopped[0] > last + SLACK_S and not log.stopped[1]:
        return Standing(COMPLETED)
    return _again(known, last, now)


def _again(known: Known, at: float, now: float) -> Standing | None:
    """Return how an agent stands that was started, held, granted or revived after ``at``."""
    log = known.log
    if log is None or _over(known, now):
        return None
    signs = [log.waits, log.granted, log.revived_at, *log.started[-1:]]
    if known.gate_alive and log.refused is not None and log.refused[1].retryable:
        signs.append(log.refused[0])  # the gate has it in hand, and says so before it waits
    newest = max((sign for sign in signs if sign is not None and sign > at), default=None)
    if newest is None or (log.failed is not None and log.failed[0] > newest):
        return None
    return _alive(known, now)


def _without_end(known: Known, now: float) -> Standing:
    """Return how an agent stands whose transcript has no end, or that has none."""
    told = _told(known)
    if told is not None:
        return told
    if known.rows is not None and known.rows.end == ends.OPEN:
        quiet = now - known.last_sign() > SETTLED_S
        if quiet or known.run_ended or known.session_ended is not None:
            return Standing(COMPLETED)
    if _over(known, now):
        return _lost(known)
    return _alive(known, now)


def _told(known: Known) -> Standing | None:
    """Return the newest word of the events, the launching call, notices and the record."""
    words = _words(known)
    if known.rows is not None and known.rows.last_at is not None:
        # A word older than the last row was about an earlier end: the agent was woken since.
        words = [word for word in words if word[0] >= known.rows.last_at]
    newest = max(words, key=lambda word: word[:2], default=None)
    if newest is not None and newest[2].state != RUNNING:
        return newest[2]
    return _by_record(known)


def _words(known: Known) -> list[tuple[float, int, Standing]]:
    """Return what was said of an agent, with its time and a rank for words of one moment."""
    words: list[tuple[float, int, Standing]] = []
    log = known.log
    if log is not None:
        words += [(at, 0, Standing(RUNNING)) for at in log.started[-1:]]
        if log.stopped is not None:
            words.append((log.stopped[0], 1, Standing(COMPLETED)))
        if log.failed is not None:
            words.append((log.failed[0], 2, Standing(DROPPED, log.failed[1])))
    for outcome in (known.outcome, known.notice):
        if outcome is not None and outcome.status != "launched":
            if outcome.left and known.stopped_at is not None:
                continue  # a person's own word came before
            words.append((outcome.at, 3, _outcome(outcome)))
    if known.stopped_at is not None:
        words.append((known.stopped_at, 4, Standing(STOPPED)))
    return words


def _by_record(known: Known) -> Standing | None:
    """Return what the workflow's record says of an item, or None."""
    item = known.item
    if item is None or not item.state:
        return None
    if item.state == "done":
        return Standing(COMPLETED)
    if item.state == "stopped":
        return Standing(STOPPED)
    refusal = item.refusal or (known.rows.refusal if known.rows else None)
    return Standing(DROPPED, refusal, why="" if refusal else "the workflow says it failed")


def _outcome(outcome: Outcome) -> Standing:
    if outcome.status == "stopped":
        return Standing(STOPPED, why=CUT_OFF if outcome.left else "")
    if outcome.refusal is not None or outcome.status == "failed":
        return Standing(DROPPED, outcome.refusal)
    return Standing(RUNNING if outcome.status == "running" else COMPLETED)


def _over(known: Known, now: float) -> bool:
    """Say whether nothing can come any more."""
    if known.run_ended:
        return True
    last = known.last_sign()
    if known.session_ended is not None and known.session_ended >= last - SLACK_S:
        return True
    return not known.gate_alive and now - last > STALE_S


def _lost(known: Known) -> Standing:
    from paceline.refusals import Refusal

    if known.run_stopped or known.session_ended is not None:
        return Standing(STOPPED, why=CUT_OFF)
    if known.rows is not None and known.rows.refusal is not None:
        return Standing(DROPPED, known.rows.refusal)
    if known.run_ended:
        return Standing(DROPPED, why="its workflow ended without its result")
    return Standing(DROPPED, Refusal("stall"), why="no sign of life for half an hour")


def _alive(known: Known, now: float) -> Standing:
    log = known.log
    last = known.rows.last_at if known.rows is not None else None
    if log is not None and log.waits is not None and log.waits > (last or 0.0):
        refusal = log.refused[1] if log.refused else None
        until = refusal.resets_at if refusal else None
        if refusal is not None and refusal.cause == "quota" and until and until > now:
            return Standing(PARKED, refusal)
        return Standing(HELD, refusal)
    started = known.rows is not None or (log is not None and log.known())
    return Standing(RUNNING if started else QUEUED)
