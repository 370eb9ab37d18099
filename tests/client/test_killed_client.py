"""A client that is killed while its agents are held: what is lost, and how it comes back."""

from __future__ import annotations

import subprocess
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from paceline import jsonl
from paceline.manifest import build_manifest
from paceline.recovery import requeue
from paceline_bench.client import Fanout, processes
from paceline_bench.client.home import environment
from paceline_bench.client.spec import main_script, write_files
from paceline_bench.client.tell import telling
from paceline_bench.simapi import running
from paceline_bench.simapi.config import Config
from paceline_bench.simapi.script import script_text

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.client, pytest.mark.timeout(240)]

ROOT = Path(__file__).resolve().parents[2]
AGENTS = 3
LOOK_S = 0.1
BOUND_S = 100.0


def started(
    command: list[str], env: dict[str, str], root: Path, prompt: str
) -> subprocess.Popen[bytes]:
    (root / "prompt.txt").write_text(prompt, encoding="utf-8")
    with (root / "prompt.txt").open("rb") as stdin, (root / "out").open("ab") as out:
        return processes.start(command, cwd=root / "work", env=env, stdin=stdin, out=out, err=out)


def ran(
    command: list[str],
    env: dict[str, str],
    root: Path,
    prompt: str,
    enough: Callable[[], bool] = lambda: False,
) -> bool:
    """Run a client to its end, or kill it with all its processes as soon as it is enough."""
    mark = uuid.uuid4().hex
    process = started(command, env | {processes.MARK: mark}, root, prompt)
    until = time.monotonic() + BOUND_S
    try:
        while time.monotonic() < until and not enough():
            try:
                return process.wait(LOOK_S) == 0
            except subprocess.TimeoutExpired:
                continue
        return False
    finally:
        processes.end(process, mark)


def test_agents_that_a_killed_client_left_deliver_when_a_person_asks_for_them(
    client: Callable[[str], Path], tmp_path: Path
) -> None:
    """[P1] [P5] [P6] Killed while they wait for the limit; what was paid is not paid again."""
    home = tmp_path / "home"
    for folder in (home / "tmp", tmp_path / "work", tmp_path / "files"):
        folder.mkdir(parents=True)
    spec = Fanout(
        plugin_dir=ROOT,
        agents=AGENTS,
        reads=1,
        read_bytes=40_000,
        background=True,
        role="obey",
        api=Config(itpm=60_000, itpm_capacity=20_000, headers="none"),
    )
    script = script_text(main_script(spec, write_files(spec, tmp_path / "files")))
    telling(spec)(home)
    state, projects = home / "state", home / ".claude" / "projects"

    def held() -> set[str]:
        return {
            line["agent"]
            for log in state.glob("sessions/*/events.jsonl")
            for line in jsonl.read(str(log))[0]
            if line["e"] == "request.wait" and line["agent"]
        }

    def states() -> list[str]:
        told = build_manifest(str(projects), str(state), now=time.time())
        return [one["state"] for run in told["runs"] for one in run["agents"]]

    with running(spec.api) as api:
        env = environment(spec, home, api.url)
        command = [str(client("2.1.332")), "-p", "--dangerously-skip-permissions"]
        command += ["--plugin-dir", str(ROOT)]
        go_on = [*command, "--continue"]
        ran(
            command,
            env,
            tmp_path,
            f"Run the fan-out of this script. {script}",
            lambda: len(held()) >= AGENTS - 1,
        )
        assert len(held()) >= AGENTS - 1
        assert ran(go_on, env, tmp_path, "Hello again.")
        lost = sum(state != "completed" for state in states())
        assert lost >= AGENTS - 1
        given = requeue(str(projects), str(state), now=time.time(), others=True)
        assert sum(one["state"] in {"open", "issued"} for one in given["tickets"]) == lost
        assert ran(go_on, env, tmp_path, given["advice"])
        assert states() == ["completed"] * AGENTS
        paid = [(r.label, r.step) for r in api.records() if r.role == "agent" and r.cost]
        assert len(paid) == len(set(paid))
