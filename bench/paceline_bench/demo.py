"""The demo: the seed's fan-out twice against the simulated API, without and with the plugin.

With the real client where one is to be had, else with the stand-in, which drives the plugin's own
hooks and ledger. What is shown is counted from the API's log.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from paceline_bench.client.find import ClientMissing, find_client
from paceline_bench.client.run import Progress, fanout
from paceline_bench.client.spec import Fanout
from paceline_bench.simapi.config import Config
from paceline_bench.standin import run_stand_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from paceline_bench.client.result import Counts, RunResult

API = Config(
    itpm=120_000,
    itpm_capacity=60_000,
    headers="none",
    number_in_text=False,
    retry_after=False,
    bytes_per_token=3.2,
)
"""A small limit that nobody tells: refusals carry no number and no header, as on a plan."""

READ_BYTES = 64_000
RETRIES = 1
TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """One side of the demo.

    Attributes:
        counts: the fan-out in numbers.
        wall_s: seconds it took.
        says: what the client itself says of the session: ``success`` or ``error``.
        verdict: what Paceline's manifest says: ``complete``, ``degraded``, ``running``; None
            without the plugin, or when it has no manifest.
        completed: agents that are completed in that manifest, None likewise.
    """

    counts: Counts
    wall_s: float
    says: str
    verdict: str | None
    completed: int | None

    @property
    def whole(self) -> bool:
        """Whether every agent delivered."""
        return self.counts.dropped == 0


@dataclass(frozen=True, slots=True)
class Story:
    """Both sides, and what they were played with.

    Attributes:
        driver: ``client`` or ``stand-in``.
        version: the client's version, None with the stand-in.
        reason: why it is the stand-in, else None.
    """

    driver: Literal["client", "stand-in"]
    version: str | None
    reason: str | None
    without: Outcome
    paced: Outcome

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON holds it, the sides under ``without`` and ``with``."""
        return {
            "driver": self.driver,
            "client": self.version,
            "reason": self.reason,
            "api": API.to_json(),
            "client_retries": RETRIES,
            "without": _flat(self.without),
            "with": _flat(self.paced),
        }


@dataclass(frozen=True, slots=True)
class Demo:
    """What to play.

    Attributes:
        plugin: the plugin's root.
        agents: how many.
        version: the client's version.
        simulated: play with the stand-in although a client may be there.
    """

    plugin: Path
    agents: int = 6
    version: str = "2.1.332"
    simulated: bool = False

    def play(self, show: Callable[[str, Progress | None], None]) -> Story:
        """Play both sides, one after the other.

        Args:
            show: called with what is going on: ``client`` while it is looked for, ``without`` and
                ``with`` with the progress of that side.
        """
        show("client", None)
        reason = self._why_stand_in()
        played: dict[str, Outcome] = {}
        for side in ("without", "with"):
            spec = self._spec(side, real=reason is None)
            drive = _real if reason is None else _stand_in
            played[side] = drive(spec, partial(show, side))
        return Story(
            driver="stand-in" if reason else "client",
            version=None if reason else self.version,
            reason=reason,
            without=played["without"],
            paced=played["with"],
        )

    def _why_stand_in(self) -> str | None:
        if self.simulated:
            return "asked for"
        try:
            find_client(self.version)
        except ClientMissing as err:
            return str(err)
        return None

    def _spec(self, side: str, *, real: bool) -> Fanout:
        return Fanout(
            version=self.version,
            plugin_dir=self.plugin if side == "with" else None,
            kind="workflow" if real else "agent",
            agents=self.agents,
            read_bytes=READ_BYTES,
            width=max(2, self.agents),
            max_retries=RETRIES,
            api=API,
            timeout_s=TIMEOUT_S,
        )


def plugin_root(package_file: str) -> Path | None:
    """Return the checkout a package of this project lies in, None when it is none."""
    for folder in Path(package_file).resolve().parents:
        if (folder / ".claude-plugin" / "plugin.json").is_file():
            return folder
    return None


def _real(spec: Fanout, show: Callable[[Progress], None]) -> Outcome:
    with fanout(spec, progress=show) as run:
        return _outcome(spec, run)


def _stand_in(spec: Fanout, show: Callable[[Progress], None]) -> Outcome:
    """Play the stand-in. It has no gate to learn a limit nobody tells, so it is told."""
    if spec.plugin_dir is None:
        with run_stand_in(spec, progress=show) as run:
            return _outcome(spec, run)
    told = replace(spec, env={**spec.env, "PACELINE_MODE": "pace"})
    with run_stand_in(told, progress=show, prepare=_tell_limit) as run:
        return _outcome(told, run)


def _tell_limit(home: Path, env: dict[str, str]) -> None:
    del home
    limit = ["limits", "set", "--model", "all", "--itpm", str(API.itpm)]
    _paceline([*limit, "--capacity", str(API.itpm_capacity)], env)


def _outcome(spec: Fanout, run: RunResult) -> Outcome:
    verdict, completed = _manifest(run) if spec.plugin_dir else (None, None)
    fine = run.exit_code == 0 and not run.is_error
    return Outcome(run.counts, run.wall_s, "success" if fine else "error", verdict, completed)


def _manifest(run: RunResult) -> tuple[str | None, int | None]:
    """Return the worst verdict and the completed agents of Paceline's own manifest."""
    projects = run.home / ".claude" / "projects"
    env = {**os.environ, "HOME": str(run.home), "PACELINE_STATE_DIR": str(run.state)}
    command = ["manifest", "--session", str(run.session), "--projects-dir", str(projects), "--json"]
    try:
        runs = json.loads(_paceline(command, env))["runs"]
        verdicts = {one["verdict"] for one in runs}
        completed = sum(one["completed"] for one in runs)
    except (ValueError, KeyError, TypeError):
        return None, None
    worst = next((v for v in ("degraded", "running", "complete") if v in verdicts), None)
    return worst, completed


def _paceline(words: list[str], env: dict[str, str]) -> str:
    """Run a command of Paceline's command line and return what it printed."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "paceline_mcp", *words],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def _flat(outcome: Outcome) -> dict[str, Any]:
    return asdict(outcome.counts) | {
        "wall_s": outcome.wall_s,
        "says": outcome.says,
        "verdict": outcome.verdict,
        "completed": outcome.completed,
    }
