"""What to run: a fan-out of the real client against a simulated API, as one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from paceline_bench.simapi.config import Config

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Fanout:
    """A fan-out of scripted reading agents.

    Attributes:
        version: the client's version.
        plugin_dir: the plugin's root, or None for a client without it.
        kind: ``agent`` (Agent calls of one message), ``workflow`` (one Workflow call) or ``none``
            (a session without a fan-out).
        agents: how many.
        reads: steps of each agent, one Read each.
        read_bytes: size of each file; every agent has files of its own.
        width: agents at once; the client's own width when None. It is
            ``CLAUDE_CODE_WORKFLOW_MAX_CONCURRENT_AGENTS`` of a workflow (which otherwise follows
            the CPUs: min(16, CPUs - 2)), ``CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS`` of Agent calls.
        max_retries: ``CLAUDE_CODE_MAX_RETRIES``; the client's own (10) when None.
        auth: ``api_key``, or ``oauth`` to act as on a plan.
        background: whether Agent calls run in the background.
        role: the main thread's rule: ``main``, or ``obey`` to do as hooks tell it.
        api: the simulated API.
        env: further variables for the client.
        state_dir: ``PACELINE_STATE_DIR``; one in the temporary home when None.
        options: further options for the client.
        path: folders of PATH; those of python3, uv and sh when None.
        timeout_s: seconds after which the client and all it started are killed.
    """

    version: str = "2.1.332"
    plugin_dir: Path | None = None
    kind: Literal["agent", "workflow", "none"] = "agent"
    agents: int = 6
    reads: int = 1
    read_bytes: int = 60_000
    width: int | None = None
    max_retries: int | None = 1
    auth: Literal["api_key", "oauth"] = "api_key"
    background: bool = False
    role: str = "main"
    api: Config = field(default_factory=Config)
    env: dict[str, str] = field(default_factory=dict)
    state_dir: Path | None = None
    options: tuple[str, ...] = ()
    path: tuple[str, ...] | None = None
    timeout_s: float = 600.0


SEED_API = Config(itpm=120_000, itpm_capacity=60_000)
"""The small limit of the seed's failure: 120,000 input tokens a minute, a bucket of 60,000."""


def label(number: int) -> str:
    """Return the label of the agent with that number, from 1."""
    return f"reader-{number:02d}"


def write_files(spec: Fanout, folder: Path) -> list[dict[str, Any]]:
    """Write each agent's files and return the agents as a script's ``fanout`` holds them."""
    agents = []
    for number in range(1, spec.agents + 1):
        steps = []
        for read in range(1, spec.reads + 1):
            path = folder / f"{label(number)}-{read}.md"
            path.write_text(prose(spec.read_bytes, f"{number}.{read}"), encoding="utf-8")
            steps.append([str(path)])
        agents.append({"label": label(number), "steps": steps})
    return agents


def main_script(spec: Fanout, agents: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the script of the main thread."""
    if spec.kind == "none":
        return {"role": spec.role, "steps": []}
    fanout = {"kind": spec.kind, "agents": agents, "background": spec.background}
    return {"role": spec.role, "fanout": fanout}


def prose(size: int, topic: str) -> str:
    """Return ``size`` bytes of plain lines that no other topic shares."""
    lines: list[str] = []
    length = 0
    while length < size:
        number = len(lines) + 1
        line = (
            f"Section {topic}.{number}: the ledger of stage {number * 7919 % 104729} lists riders, "
            f"wheels and the wind at kilometre {number * 31 % 997}, noted by the team of {topic}.\n"
        )
        lines.append(line)
        length += len(line)
    return "".join(lines)[: max(0, size - 1)] + "\n"
