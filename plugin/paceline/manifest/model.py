"""A run and its agents, as the manifest holds them before they become JSON."""

from __future__ import annotations

from paceline.transcripts import usage

from . import state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from paceline.refusals import Refusal
    from paceline.transcripts.agents import AgentRows

    from .log import Requeue
    from .state import Standing


class Attempt:
    """One agent that worked on an entry.

    Attributes:
        agent: its id.
        transcript: path, or "".
        rows: what its transcript tells, or None.
    """

    __slots__ = ("agent", "rows", "transcript")

    def __init__(self, agent: str, transcript: str, rows: AgentRows | None) -> None:
        self.agent = agent
        self.transcript = transcript
        self.rows = rows


class Entry:
    """One piece of work that was launched: an agent, or an item of a workflow.

    Attributes:
        attempts: the agents that worked on it in this run, in order; none when the launch failed.
        standing: how it stands.
        session, run: ids.
        key: what makes it the same work however often it is tried: journal key or tool_use id.
        label, phase, agent_type, model, preview, prompt_sha: each "" when not known.
        ticket: the requeue ticket its prompt carries, or "".
        parent: id of the agent that launched it, or "".
        launched_at, queued_at, ended_at: epoch seconds, or None.
        deaths: refusals it met, with their times, the ones it survived included.
        revivals: how often a refused request of it was sent again.
        continued: how often a message woke it after it had died.
        held: seconds it was held.
        told_tool_uses: tool calls the client counted, for want of a transcript, or None.
        log_tokens: settled tokens by kind, where no transcript tells.
        tickets: requeue tickets given out for it.
        earlier_tickets: how many were given out for the dead ones it replaces.
        requeued_as: id of the agent that took its place, or None.
        replaces: id of the agent whose place it took, or None.
    """

    def __init__(self, session: str, run: str, key: str, standing: Standing) -> None:
        self.session = session
        self.run = run
        self.key = key
        self.standing = standing
        self.attempts: list[Attempt] = []
        self.label = ""
        self.phase = ""
        self.agent_type = ""
        self.model = ""
        self.preview = ""
        self.prompt_sha = ""
        self.ticket = ""
        self.parent = ""
        self.launched_at: float | None = None
        self.queued_at: float | None = None
        self.ended_at: float | None = None
        self.deaths: list[tuple[float, Refusal]] = []
        self.revivals = 0
        self.continued = 0
        self.held = 0.0
        self.told_tool_uses: int | None = None
        self.log_tokens = usage.none()
        self.tickets: list[Requeue] = []
        self.earlier_tickets = 0
        self.requeued_as: str | None = None
        self.replaces: str | None = None

    @property
    def agent_id(self) -> str | None:
        """The agent that worked on it last, or None when there never was one."""
        return self.attempts[-1].agent if self.attempts else None

    @property
    def agent_ids(self) -> list[str]:
        """Every agent that worked on it in this run."""
        return [attempt.agent for attempt in self.attempts]

    @property
    def died_at(self) -> float:
        """When it died, as far as known (epoch seconds, 0.0 when not)."""
        if self.deaths:
            return max(at for at, _ in self.deaths)
        return self.ended_at or self.launched_at or 0.0

    @property
    def tokens(self) -> dict[str, int]:
        """Tokens by kind, of all its attempts."""
        told = [attempt.rows.usage.tokens for attempt in self.attempts if attempt.rows]
        return usage.total(*told) if told else dict(self.log_tokens)

    @property
    def wasted(self) -> int:
        """Charged tokens of attempts that died and were not continued."""
        if self.standing.state in (state.COMPLETED, *state.ALIVE) and not self.requeued_elsewhere:
            lost = self.attempts[:-1]
        elif self.standing.state == state.STOPPED:
            return 0
        else:
            lost = self.attempts
            if not any(attempt.rows for attempt in lost):
                return usage.charged(self.log_tokens)
        return sum(attempt.rows.usage.charged() for attempt in lost if attempt.rows)

    @property
    def requeued_elsewhere(self) -> bool:
        """Whether another agent took its place, so that its own tokens bought nothing."""
        return self.requeued_as is not None and self.requeued_as not in self.agent_ids

    @property
    def saved(self) -> int:
        """Charged tokens a relaunch would have paid again, an estimate; nothing of a lost one."""
        if self.standing.state in (state.DROPPED, state.STOPPED) or self.requeued_elsewhere:
            return 0
        return sum(attempt.rows.kept for attempt in self.attempts if attempt.rows)


class Run:
    """One fan-out: the agents of one assistant message, or one workflow.

    Attributes:
        run: its id: the message's, or the workflow's.
        session: its session's id.
        kind: ``agents`` or ``workflow``.
        name: of the workflow's script, or "".
        entries: what was launched.
        open: a workflow that has not ended, whatever its items say.
        stopped: a workflow a person ended.
        started_at, ended_at: epoch seconds, or None.
    """

    def __init__(self, run: str, session: str, kind: str) -> None:
        self.run = run
        self.session = session
        self.kind = kind
        self.name = ""
        self.entries: list[Entry] = []
        self.open = False
        self.stopped = False
        self.started_at: float | None = None
        self.ended_at: float | None = None

    def census(self) -> dict[str, int]:
        """Return how many were launched, and how many stand how."""
        states = [entry.standing.state for entry in self.entries]
        return {
            "launched": len(states),
            "completed": states.count(state.COMPLETED),
            "dropped": states.count(state.DROPPED),
            "running": sum(one in state.ALIVE for one in states),
            "stopped": states.count(state.STOPPED),
        }

    def verdict(self) -> str:
        """Return ``running``, ``complete`` (every launched one delivered) or ``degraded``."""
        count = self.census()
        if count["running"] or self.open:
            return "running"
        return "complete" if count["completed"] == count["launched"] else "degraded"


class Session:
    """What the manifest tells of one session beside its runs.

    Attributes:
        session: its id.
        runs: its runs.
        completions: completion scripts that were started: when, and as which run ("" so far).
        timeline: holds, grants, refusals and revivals from the event log.
        incidents: refusals with nobody's id, collapsed: ``[cause, first, last, count]``.
        main_errors: refusals of the main thread's own requests.
        main_tokens: its tokens by kind, or None when they were not asked for.
        unknown: error texts the classifier did not know.
        ignored: agents that nobody launched: the client's own helpers.
        account: or "".
        seen: epoch seconds of the last sign of life.
    """

    def __init__(self, session: str) -> None:
        self.session = session
        self.runs: list[Run] = []
        self.completions: dict[str, tuple[float, str]] = {}
        self.timeline: list[dict[str, Any]] = []
        self.incidents: list[list[Any]] = []
        self.main_errors: list[tuple[float, Refusal]] = []
        self.main_tokens: dict[str, int] | None = None
        self.unknown: list[str] = []
        self.ignored = 0
        self.account = ""
        self.seen = 0.0
