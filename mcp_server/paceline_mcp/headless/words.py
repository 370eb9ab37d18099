"""What a person reads on stderr: short lines, the last one is the verdict. Pure."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from paceline import paths
from paceline.recovery.words import GO_ON, count, minutes
from paceline_mcp.cli.output import plain
from paceline_mcp.headless.decide import COMPLETE

if TYPE_CHECKING:
    from paceline_mcp.headless.decide import Done, Resume, Spent, Wait
    from paceline_mcp.headless.ended import Ended

AGENTS_MAX = 20
NO_PLUGIN = (
    "no Paceline plugin in this command: its agents are not paced, only checked and brought back;"
    " next: paceline run --plugin (from a checkout), or claude plugin install paceline@paceline"
)
NOT_KEPT = "a session that is not kept cannot be resumed; next: leave out --no-session-persistence"
STOPPING = "stopping the client; once more kills it"
KILLING = "killing the client and all it started"


def for_claude(advice: str, *, refused: bool) -> str:
    """Return the prompt of a resumed session.

    Args:
        advice: what the recovery asks for, or "".
        refused: the main thread itself died of a refusal.
    """
    if not refused:
        return advice
    return f"{GO_ON}\n{advice}" if advice else GO_ON


def waiting(wait: Wait, now: float) -> str:
    """Say until when and for what the run waits."""
    at = time.strftime("%a %H:%M:%S", time.localtime(wait.until))
    return f"waiting {minutes(wait.until - now)}, until {at}, for {wait.why}; Ctrl-C ends it"


def resuming(resume: Resume, session: str, spent: Spent, attempts: int) -> str:
    """Say what is brought back now."""
    what = count(resume.most, "agent") if resume.dead else "the main thread"
    what += f" of {resume.dead}" if resume.most < resume.dead else ""
    return f"resuming {session} to bring back {what} (resume {spent.resumes + 1} of {attempts})"


def census(ended: Ended) -> list[str]:
    """Return a line a run, and one for each agent that did not deliver."""
    told: list[str] = []
    left = AGENTS_MAX
    for run in ended.manifest["runs"]:
        parts = [f"{run['completed']} of {run['launched']} delivered"]
        parts += [f"{run[name]} {name}" for name in ("dropped", "stopped") if run[name]]
        name = f" {plain(run['name'])}" if run.get("name") else ""
        told.append(f"{plain(run['run_id'])}{name} ({run['kind']}): {', '.join(parts)}")
        for agent in run["agents"]:
            if agent["state"] == "completed":
                continue
            if left > 0:
                told.append("  " + _agent(agent))
            left -= 1
    if left < 0:
        told.append(f"  and {-left} more")
    return told


def verdict(ended: Ended, done: Done, spent: Spent, session: str) -> str:
    """Return the last line: the verdict, what it cost, and the next thing to type."""
    told = ended.manifest["census"]
    delivered = (
        f"{told['completed']} of {count(told['launched'], 'agent')} delivered"
        if told["launched"]
        else "no agents were launched"
    )
    cost = [count(spent.resumes, "resume")] if spent.resumes else []
    cost += [f"waited {minutes(spent.waited)}"] if spent.waited >= 1.0 else []
    line = f"{done.verdict}: {delivered}"
    line += f" ({', '.join(cost)})" if cost else ""
    line += f"; {done.why}" if done.why else ""
    following = next_to_type(done, session)
    return f"{line}; next: {following}" if following else line


def next_to_type(done: Done, session: str) -> str:
    """Return the next thing to type, "" when nothing is to do."""
    if done.verdict == COMPLETE:
        return ""
    if not paths.is_id(session):
        return "paceline manifest"
    return f"paceline manifest --session {session}"


def as_json(ended: Ended, done: Done, spent: Spent, session: str) -> dict[str, Any]:
    """Return the verdict as one JSON value."""
    agents = [agent for run in ended.manifest["runs"] for agent in run["agents"]]
    causes: dict[str, int] = {}
    for agent in agents:
        if agent["state"] == "dropped":
            causes[agent["cause"]] = causes.get(agent["cause"], 0) + 1
    return {
        "verdict": done.verdict,
        "exit_code": done.exit_code,
        "why": done.why or None,
        "session_id": session or None,
        "resumes": spent.resumes,
        "waited_s": round(spent.waited, 3),
        "client_exit_code": ended.code,
        "census": dict(ended.manifest["census"]),
        "causes": causes,
        "next": next_to_type(done, session) or None,
    }


def _agent(agent: dict[str, Any]) -> str:
    name = plain(agent["label"] or "label unknown")
    state = f"{agent['state']}, {agent['cause']}" if agent["cause"] else str(agent["state"])
    why = f" ({plain(agent['why'])})" if agent.get("why") else ""
    return f"{plain(agent['agent_id'] or '-')}  {name}: {state}{why}"
