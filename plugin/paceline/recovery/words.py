"""What Claude and a person are told of dead agents. Short, of ids, counts and causes only. Pure."""

from __future__ import annotations

from paceline import paths
from paceline.transcripts.prompts import TICKET

from .tickets import AGENT, NEVER, SEND_MESSAGE, SPENT, WORKFLOW, Ticket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LIST_MAX = 20
"""Agents named at most; the rest is a count and a tool to ask."""

GO_ON = "Your last request was refused by a rate limit, nothing is wrong with your work. Go on."
LOOK_FIRST = "Check first what you already changed or published, and do not repeat it."


def for_claude(
    tickets: Sequence[Ticket], now: float, scripts: Mapping[str, str] | None = None
) -> str:
    """Return what Claude is asked to do, or "" when there is nothing.

    Args:
        tickets: of :func:`paceline.recovery.plan`.
        now: epoch seconds.
        scripts: path of the completion script by run id; a run without one is not asked for.
    """
    scripts = scripts or {}
    to_do = [one for one in tickets if one.to_do and (one.how != WORKFLOW or one.run in scripts)]
    if not to_do:
        return ""
    dead = f"Paceline: {count(len(to_do), 'agent')} did not deliver: {causes(to_do)}."
    lines = [f"{dead} Their part is unverified, not refuted. Bring them back before you go on:"]
    later = max((one.not_before for one in to_do if one.not_before), default=None)
    if later is not None:
        lines.append(f"- The limit resets in {minutes(later - now)}; what you start waits for it.")
    single = [one for one in to_do if one.how in (SEND_MESSAGE, AGENT)]
    lines += [_step(one) for one in single[:LIST_MAX]]
    if len(single) > LIST_MAX:
        lines.append(f"- {len(single) - LIST_MAX} more: call requeue_dropped when these are done.")
    for run in dict.fromkeys(one.run for one in to_do if one.how == WORKFLOW):
        items = [one for one in to_do if one.run == run]
        lines.append(
            f'- Workflow({{scriptPath: "{_path(scripts[run])}"}}): finished results are in it,'
            f" only the {count(len(items), 'dead agent')} run again."
        )
        if any(one.check_first for one in items):
            lines.append(f"  Some of them had changed something. {LOOK_FIRST}")
    given_up = sum(one.state in (NEVER, SPENT) for one in tickets)
    if given_up:
        lines.append(f"Not brought back: {given_up} (see run_manifest for why).")
    return "\n".join(lines)


def for_person(tickets: Sequence[Ticket]) -> str:
    """Return one line for a person, or "" when there is nothing."""
    to_do = [one for one in tickets if one.to_do]
    if not to_do:
        return ""
    return (
        f"Paceline: {count(len(to_do), 'agent')} did not deliver ({causes(to_do)});"
        " next: paceline requeue"
    )


def _step(one: Ticket) -> str:
    agent = one.agent if paths.is_id(one.agent) else ""
    look = f" {LOOK_FIRST}" if one.check_first else ""
    if one.how == SEND_MESSAGE:
        return f'- SendMessage(to: "{agent}", summary: "go on", message: "{GO_ON}{look}")'
    which = f"agent {agent}" if agent else "the call that failed"
    return (
        f"- Agent again, with the prompt you gave {which} and the line"
        f' "{TICKET} {one.ticket}" at its end.{look}'
    )


def _path(path: str) -> str:
    """Return a path as it stands in a string literal; the client takes slashes on Windows too."""
    return path.replace("\\", "/").replace('"', "%22")


def causes(tickets: Sequence[Ticket]) -> str:
    """Return the causes with their counts, most frequent first."""
    names = [one.cause for one in tickets]
    ordered = sorted(set(names), key=lambda name: (-names.count(name), name))
    return ", ".join(f"{names.count(name)} {name}" for name in ordered)


def count(number: int, what: str) -> str:
    """Return ``1 agent`` or ``3 agents``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def minutes(seconds: float) -> str:
    """Return a span for a person: ``40 s``, ``12 min``, ``3 h 5 min``."""
    whole = max(0, round(seconds))
    if whole < 60:  # noqa: PLR2004
        return f"{whole} s"
    if whole < 3600:  # noqa: PLR2004
        return f"{-(-whole // 60)} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
