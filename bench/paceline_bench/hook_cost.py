"""Run ``python -m paceline_bench.hook_cost``: what a hook costs, as a whole process.

Every hook is started as the client starts it, in turn with ``python -I -S -c pass``, so that both
meet the same load of the machine; the ratios of the minima and of the medians are printed, and of
the least processor time where the system tells it (not on Windows). A hook is over the budget (2.5,
docs/start-up.md) when all its ratios are: other work on the machine can spoil one, hardly all. A
gate counts as alive, so no hook holds; the limit is known and ample.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from paceline import paths
from paceline.ledger import belief
from paceline.ledger.store import FileStore

BUDGET = 2.5
"""Times a bare start of the interpreter."""
ROOT = Path(__file__).parents[2]

_LINE = "def handle(event, env, now):  # a line of ordinary code, as a Read would show it\n"
_ACCOUNT = "0123456789abcdef"
_FIRST_LINE = json.dumps({"t": 0.0, "e": "session.start", "account": _ACCOUNT}) + "\n"
_AGENT = {"agent_id": "a6fc8f83dfc56c1e0", "agent_type": "general-purpose"}
_REPORT = (
    "API Error: Request rejected (429) · This request would exceed your organization's rate limit"
)


@dataclass(frozen=True)
class Figure:
    """The times of one hook, in milliseconds, and its ratios to a bare start.

    Attributes:
        hook: what was started.
        fast: whether the budget holds for it (a rare hook may cost more).
        minimum: of all runs.
        median: of all runs.
        minimum_ratio: ``minimum`` / the bare start's minimum.
        median_ratio: ``median`` / the bare start's median.
        cpu_ratio: least processor time / the bare start's, None where the system does not tell.
    """

    hook: str
    fast: bool
    minimum: float
    median: float
    minimum_ratio: float
    median_ratio: float
    cpu_ratio: float | None

    @property
    def ratio(self) -> float:
        """The least disturbed of the ratios."""
        told = (self.minimum_ratio, self.median_ratio, self.cpu_ratio)
        return min(ratio for ratio in told if ratio is not None)


def events(file: Path) -> dict[str, tuple[bool, dict[str, Any]]]:
    """Return the hooks that are measured: whether they are on the fast path, and their input."""
    read = {"tool_name": "Read", "tool_use_id": "toolu_1"}
    shown = "".join(f"{n}\t{_LINE}" for n in range(1, 301))
    return {
        "PreToolUse of Read, 24 KB": (
            True,
            {"hook_event_name": "PreToolUse", **read, "tool_input": {"file_path": str(file)}},
        ),
        "PreToolUse of Bash": (
            True,
            {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}},
        ),
        "PostToolBatch, 24 KB": (
            True,
            {"hook_event_name": "PostToolBatch", "tool_calls": [{**read, "tool_response": shown}]},
        ),
        "SubagentStart": (True, {"hook_event_name": "SubagentStart"}),
        "SubagentStop": (True, {"hook_event_name": "SubagentStop"}),
        "UserPromptSubmit": (True, {"hook_event_name": "UserPromptSubmit", "prompt": "hello"}),
        "Stop": (True, {"hook_event_name": "Stop", "agent_id": None}),
        "PreToolUse of Agent": (
            False,
            {
                "hook_event_name": "PreToolUse",
                "tool_name": "Agent",
                "tool_input": {"prompt": "x", "description": "y"},
                "agent_id": None,
            },
        ),
        "SessionStart": (False, {"hook_event_name": "SessionStart", "source": "startup"}),
        "StopFailure": (
            False,
            {
                "hook_event_name": "StopFailure",
                "error": "rate_limit",
                "last_assistant_message": _REPORT,
            },
        ),
    }


def measure(runs: int, python: str = sys.executable) -> list[Figure]:
    """Return the figures of a bare start and of every hook, interleaved, ``runs`` times each."""
    bare = [python, "-I", "-S", "-c", "pass"]
    hook = [python, "-I", "-S", "-X", "utf8", str(ROOT / "hooks" / "run.py")]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "read.py")
        file.write_text(_LINE * 300, encoding="utf-8")
        state = Path(folder, "state")
        store = FileStore(paths.ledger_dir(str(state)), _ACCOUNT)
        store.transact(
            lambda ledger, now: belief.tell(ledger, "all", "input", 2e6, now, source="set")
        )
        store.transact(lambda ledger, _: ledger.family("opus-5"))
        env = {**os.environ, "PACELINE_STATE_DIR": str(state), "PACELINE_MODE": "pace"}
        env["ANTHROPIC_API_KEY"] = "made-up"
        todo = [("python -I -S -c pass", False, bare, b"")]
        gates = []
        for name, (fast, event) in events(file).items():
            # A session each: what one leaves in its log is not another's to read.
            session = f"hook-cost-{len(todo)}"
            gates.append(state / "sessions" / session / "gate")
            gates[-1].parent.mkdir(parents=True)
            gates[-1].with_name("events.jsonl").write_text(_FIRST_LINE, encoding="utf-8")
            data = json.dumps({"session_id": session, **_AGENT, **event}).encode()
            todo.append((name, fast, hook, data))
        times: dict[str, list[float]] = {name: [] for name, *_ in todo}
        spent: dict[str, list[float]] = {name: [] for name, *_ in todo}
        for _ in range(runs):
            for gate in gates:
                gate.touch()
            for name, _fast, command, data in todo:
                start, before = time.perf_counter(), _children_cpu()
                subprocess.run(command, input=data, env=env, check=True, timeout=60)
                times[name].append((time.perf_counter() - start) * 1000)
                spent[name].append(_children_cpu() - before)
    bare_name = todo[0][0]
    least = min(times[bare_name])
    middle = statistics.median(times[bare_name])
    least_cpu = min(spent[bare_name])
    return [
        Figure(
            name,
            fast,
            min(times[name]),
            statistics.median(times[name]),
            min(times[name]) / least,
            statistics.median(times[name]) / middle,
            min(spent[name]) / least_cpu if least_cpu > 0 else None,
        )
        for name, fast, *_ in todo
    ]


def _children_cpu() -> float:
    """Return the processor seconds of the processes started and ended so far."""
    if sys.platform != "win32":
        import resource

        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime
    return 0.0


def over_budget(figures: list[Figure]) -> list[Figure]:
    """Return the hooks of the fast path that cost more than the budget."""
    return [figure for figure in figures if figure.fast and figure.ratio > BUDGET]


app = typer.Typer(add_completion=False, help=__doc__)


@app.command()
def main(
    runs: Annotated[int, typer.Option(help="Starts of each hook.", min=1)] = 40,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure every hook against a bare start; exit 3 when one on the fast path is over budget."""
    figures = measure(runs)
    if as_json:
        print(json.dumps([asdict(figure) for figure in figures], indent=1))
    else:
        print(f"{'':28} {'min ms':>8} {'x bare':>7} {'median':>8} {'x bare':>7} {'cpu':>7}")
        for figure in figures:
            print(
                f"{figure.hook:28} {figure.minimum:8.2f} {figure.minimum_ratio:7.2f}"
                f" {figure.median:8.2f} {figure.median_ratio:7.2f} {figure.cpu_ratio or 0:7.2f}"
            )
    late = over_budget(figures)
    for figure in late:
        print(f"over {BUDGET} x: {figure.hook}; see docs/start-up.md", file=sys.stderr)
    raise typer.Exit(3 if late else 0)


if __name__ == "__main__":
    app()
