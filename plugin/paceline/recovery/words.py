"""What Claude and a person are told of dead agents. Short, of ids, counts and causes only. Pure."""

from __future__ import annotations

from paceline import paths
from paceline.transcripts.prompts import TICKET

from .tickets import AGENT, NEVER, SEND_MESSAGE, SPENT, WORKFLOW, Ticket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

LIST_MAX = 20
"""Agents named at most; the rest is a count and a tool to ask."""

GO_ON = "Your last request was refused by a rate limit, nothing is wrong with your work. Go on."
CUT_OFF = "You were cut off before your work was done, nothing is wrong with it. Go on."
LOOK_FIRST = "Check first what you already changed or published, and do not repeat it."


PATIENCE_S = 420.0
"""Seconds that a woken agent surely waits for a reset: a hook's hold, with a minute to spare."""


def for_claude(
    tickets: Sequence[Ticket],
    now: float,
    scripts: Mapping[str, str] | None = None,
    patience: float = PATIENCE_S,
) -> str:
    """Return what Claude is asked to do, or "" when there is nothing.

    Args:
        tickets: of :func:`paceline.recovery.plan`.
        now: epoch seconds.
        scripts: path of the completion script by run id; a run without one is not asked for.
        patience: seconds an agent that is started now waits for a reset by itself. What resets
            later is not to be started before.
    """
    scripts = scripts or {}
    to_do = [one for one in tickets if one.to_do and (one.how != WORKFLOW or one.run in scripts)]
    if not to_do:
        return ""
    late = {one.run for one in to_do if _wait(one, now) > patience}
    later = [one for one in to_do if _is_late(one, late, now, patience)]
    soon = [one for one in to_do if one not in later]
    dead = f"Paceline: {count(len(to_do), 'agent')} did not deliver: {causes(to_do)}."
    head = f"{dead} Their part is unverified, not refuted."
    lines = [f"{head} Bring them back before you go on:" if soon else head]
    lines += _steps(soon, now, scripts, "The limit resets in {}; what you start waits for it.")
    lines += _steps(later, now, scripts, "The limit resets in {}. Start these then, not before:")
    given_up = sum(one.state in (NEVER, SPENT) for one in tickets)
    if given_up:
        lines.append(f"Not brought back: {given_up} (see run_manifest for why).")
    return "\n".join(lines)


def for_person(tickets: Sequence[Ticket], now: float = 0.0) -> str:
    """Return one line for a person, or "" when there is nothing.

    Args:
        tickets: of :func:`paceline.recovery.plan`.
        now: epoch seconds, to tell when a limit resets; 0 tells nothing of it.
    """
    lost = [one for one in tickets if one.to_do or one.state == SPENT]
    if not lost:
        return ""
    said = f"Paceline: {count(len(lost), 'agent')} did not deliver ({causes(lost)})"
    wait = max((_wait(one, now) for one in lost if one.to_do), default=0.0) if now else 0.0
    if wait:
        said += f"; the limit resets in {minutes(wait)}"
    elif all(one.state == SPENT for one in lost):
        said += f", brought back {lost[0].attempt} times and refused again"
    return f"{said}; next: paceline requeue"


def _wait(one: Ticket, now: float) -> float:
    return 0.0 if one.not_before is None else max(0.0, one.not_before - now)


def _is_late(one: Ticket, late: Container[str], now: float, patience: float) -> bool:
    """Say whether work is not to be started now: a workflow's dead are started together."""
    return one.run in late if one.how == WORKFLOW else _wait(one, now) > patience


def _steps(
    some: Sequence[Ticket], now: float, scripts: Mapping[str, str], reset: str
) -> Iterator[str]:
    """Yield a line that tells of the reset, where there is one, and one for each step."""
    wait = max((_wait(one, now) for one in some), default=0.0)
    if wait:
        yield f"- {reset.format(minutes(wait))}"
    single = [one for one in some if one.how in (SEND_MESSAGE, AGENT)]
    yield from (_step(one) for one in single[:LIST_MAX])
    if len(single) > LIST_MAX:
        yield f"- {len(single) - LIST_MAX} more: call requeue_dropped when these are done."
    for run in dict.fromkeys(one.run for one in some if one.how == WORKFLOW):
        items = [one for one in some if one.run == run]
        yield (
            f'- Workflow({{scriptPath: "{_path(scripts[run])}"}}): finished results are in it,'
            f" only the {count(len(items), 'dead agent')} run again."
        )
        if any(one.check_first for one in items):
            yield f"  Some of them had changed something. {LOOK_FIRST}"


def _step(one: Ticket) -> str:
    agent = one.agent if paths.is_id(one.agent) else ""
    look = f" {LOOK_FIRST}" if one.check_first else ""
    if one.how == SEND_MESSAGE:
        text = CUT_OFF if one.asked else GO_ON
        return f'- SendMessage(to: "{agent}", summary: "go on", message: "{text}{look}")'
    which = f"agent {agent}" if agent else "the call that failed"
    if one.label:
        which += f' ("{one.label}")'
    return (
        f"- Agent again, with the prompt you gave {which} and the line"
        f' "{TICKET} {one.ticket}" at its end.{look}'
    )


def _path(path: str) -> str:
    """Return a path as it stands in a string literal; the client takes slashes on Windows too."""
    return path.replace("\\", "/").replace('"', "%22")


def causes(tickets: Sequence[Ticket]) -> str:
    """Return the causes with their counts, most frequent first."""
    names = [one.cause or "cut off" for one in tickets]
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
