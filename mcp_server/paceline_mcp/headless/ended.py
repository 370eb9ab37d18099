"""What a session is when its process is gone. Pure, but for :func:`end_of`.

Nothing works on in a session without a process, whatever its files look like: who had no end is
lost now, not in the half hour after which the manifest would give it up by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paceline import refusals
from paceline.manifest import build_manifest, worst
from paceline.transcripts import place
from paceline.transcripts.lines import last_rows
from paceline_mcp.headless.again import next_steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paceline.refusals import Refusal

ALIVE = frozenset({"queued", "running", "held", "parked", "requeued"})
GONE = "still at work when the client ended"
OPEN = "the client ended before this workflow did"
ROWS = 40
"""Rows at a transcript's end among which the main thread's last answer is looked for."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How the client left a session.

    Attributes:
        code: its exit code; negative for a signal.
        at: epoch seconds of its end.
        manifest: of the session, with nobody at work any more.
        main: the refusal the main thread's last request died of, or None.
        known: whether any trace of the session was found.
        since: epoch seconds of the client's begin, where it resumed the session; else 0.0.
    """

    code: int
    at: float
    manifest: Mapping[str, Any]
    main: Refusal | None = None
    known: bool = True
    since: float = 0.0

    def died_now(self) -> set[str]:
        """Return the keys of the agents that died while this client ran."""
        return {
            str(agent["key"])
            for run in self.manifest["runs"]
            for agent in run["agents"]
            if max((one["t"] for one in agent.get("deaths") or ()), default=self.at) >= self.since
        }

    @property
    def missing(self) -> int:
        """How many launched agents have not delivered."""
        census = self.manifest["census"]
        return int(census["launched"]) - int(census["completed"])

    @property
    def whole(self) -> bool:
        """Whether every launched agent delivered, and the main thread came to its own end."""
        return self.known and self.main is None and self.manifest["verdict"] == "complete"


def end_of(
    projects: str,
    state: str,
    session: str,
    code: int,
    now: float,
    *,
    stopped: bool,
    since: float = 0.0,
) -> Ended:
    """Read what the client left of a session.

    Args:
        projects: the client's projects folder.
        state: Paceline's state folder.
        session: its id, or "" where nobody knows it.
        code: the client's exit code.
        now: epoch seconds.
        stopped: a person ended it.
        since: epoch seconds of its begin, where it was a resume; else 0.0.
    """
    if not session:
        return Ended(code, now, over({"runs": [], "sessions": []}, stopped=stopped), known=False)
    told = over(build_manifest(projects, state, session, now=now), stopped=stopped)
    transcript = place.of_session(projects, session)
    rows = last_rows(transcript, ROWS) if transcript else []
    known = bool(transcript) or bool(told["runs"])
    main = refusal_at_end(rows, now)
    told = next_steps(told, 0.0 if main is not None else since)
    return Ended(code, now, told, main, known, since)


def refusal_at_end(rows: list[dict[str, Any]], now: float) -> Refusal | None:
    """Return what the main thread died of: the refusal in its last answer, or None."""
    for row in reversed(rows):
        if row.get("isSidechain") is True or row.get("type") not in {"assistant", "user"}:
            continue
        return refusals.from_row(row, now) if row.get("type") == "assistant" else None
    return None


def over(manifest: Mapping[str, Any], *, stopped: bool) -> dict[str, Any]:
    """Return a manifest in which nobody is at work: they are dropped, or stopped by a person."""
    runs = [_over(run, stopped=stopped) for run in manifest["runs"]]
    names = ("launched", "completed", "dropped", "running", "stopped")
    return {
        **manifest,
        "runs": runs,
        "verdict": worst(run["verdict"] for run in runs),
        "census": {name: sum(run[name] for run in runs) for name in names},
    }


def _over(run: Mapping[str, Any], *, stopped: bool) -> dict[str, Any]:
    agents = [_lost(agent, stopped=stopped) for agent in run["agents"]]
    states = [agent["state"] for agent in agents]
    unfinished = run["verdict"] == "running" and run["kind"] == "workflow"
    whole = states.count("completed") == len(states) and not unfinished
    return {
        **run,
        "agents": agents,
        "completed": states.count("completed"),
        "dropped": states.count("dropped"),
        "stopped": states.count("stopped"),
        "running": 0,
        "verdict": "complete" if whole else "degraded",
        "note": OPEN if unfinished else run.get("note"),
    }


def _lost(agent: Mapping[str, Any], *, stopped: bool) -> dict[str, Any]:
    if agent["state"] not in ALIVE:
        return dict(agent)
    if stopped:
        return {**agent, "state": "stopped", "why": GONE}
    # Nothing was wrong with its work: it may go on from where it was.
    return {**agent, "state": "dropped", "cause": "client", "retryable": True, "why": GONE}
