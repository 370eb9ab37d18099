"""``paceline run`` around the real client: what its agents lose is brought back by resumes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from paceline.manifest import build_manifest
from paceline_bench.client import SEED_API, Fanout, processes
from paceline_bench.client.home import environment
from paceline_bench.client.spec import main_script, write_files
from paceline_bench.simapi.config import Config, Fault, quota_closed
from paceline_bench.simapi.obey import obey
from paceline_bench.simapi.script import all_text, main, script_text
from paceline_bench.simapi.server import DEFAULT_RULES, Running, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from paceline_bench.simapi.script import Reply, Turn

pytestmark = [pytest.mark.client, pytest.mark.timeout(300)]

SECONDS = 240
TIGHT = replace(SEED_API, itpm=600_000, itpm_capacity=40_000, headers="none")
"""Four agents and a read each do not fit at once; all fits within seconds."""
WIDE = Config(headers="none")


def obey_us(turn: Turn) -> Reply:
    """Follow what Paceline asks for, not the client's own hint how a workflow may be resumed."""
    if "Paceline:" not in text_since_last_action(turn):
        return main(turn)
    messages = tuple(
        (role, [block for block in blocks if not is_hint(block)]) for role, blocks in turn.messages
    )
    return obey(replace(turn, messages=messages))


def text_since_last_action(turn: Turn) -> str:
    texts: list[str] = []
    for role, blocks in reversed(turn.messages):
        names = {block.get("name") for block in blocks if block.get("type") == "tool_use"}
        if role == "assistant" and names - {"ToolSearch"}:
            break
        texts += [all_text(block) for block in blocks if role == "user"]
    return "\n".join(texts)


def is_hint(block: dict[str, Any]) -> bool:
    return block.get("type") == "tool_result" and "Workflow launched" in json.dumps(block)


RULES: Mapping[str, Callable[[Turn], Reply]] = {**DEFAULT_RULES, "obey": obey_us}


@dataclass
class Bench:
    """One run of the command, its API and its home."""

    api: Running
    root: Path
    line: list[str]
    env: dict[str, str]
    mark: str

    def run(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.line,
            cwd=self.root / "work",
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )

    def session(self) -> str:
        (found,) = (self.root / "home" / ".claude" / "projects").glob("*/*.jsonl")
        return found.stem

    def manifest(self) -> dict[str, Any]:
        home = self.root / "home"
        return build_manifest(
            str(home / ".claude" / "projects"),
            str(home / "state"),
            self.session(),
            now=time.time(),
        )

    def delivered(self) -> list[str]:
        return sorted(one.delivered for one in self.api.records() if one.delivered)

    def agents(self) -> list[dict[str, Any]]:
        return [one for run in self.manifest()["runs"] for one in run["agents"]]


@contextlib.contextmanager
def bench(client: Path, tmp_path: Path, spec: Fanout, *words: str) -> Iterator[Bench]:
    for folder in ("home/tmp", "work", "files"):
        (tmp_path / folder).mkdir(parents=True)
    agents = write_files(spec, tmp_path / "files")
    prompt = f"Run the fan-out of this script. {script_text(main_script(spec, agents))}"
    mark = uuid.uuid4().hex
    with running(spec.api, rules=RULES) as api:
        env = environment(spec, tmp_path / "home", api.url)
        env |= {"PYTHONPATH": os.pathsep.join(sys.path), processes.MARK: mark}
        line = [sys.executable, "-m", "paceline_mcp", "run", *words, "--json", "--", str(client)]
        line += ["-p", "--dangerously-skip-permissions", prompt]
        try:
            yield Bench(api, tmp_path, line, env, mark)
        finally:
            for pid in processes.marked(mark):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
    return found


@pytest.mark.parametrize("version", ["2.1.332", "2.1.240"])
def test_agents_that_died_of_a_throttle_deliver_after_resumes(
    client: Callable[[str], Path], tmp_path: Path, version: str
) -> None:
    """[P1] [P6] [§6 throttle] No gate, no hooks: the files alone tell who died."""
    spec = Fanout(version=version, agents=5, read_bytes=40_000, role="obey", api=TIGHT)
    with bench(client(version), tmp_path, spec) as run:
        done = run.run()
        assert done.returncode == 0, done.stderr
        assert told(done)["verdict"] == "complete"
        assert told(done)["census"]["completed"] == 5
        assert told(done)["resumes"] >= 1
        assert run.delivered() == [f"reader-{number:02d}" for number in range(1, 6)]
        assert run.manifest()["verdict"] == "complete"
        again = [one for one in run.agents() if one["tickets"]]
        assert again
        assert all(one["requeued_as"] and one["state"] == "completed" for one in again)
        untouched = [one for one in run.agents() if not one["tickets"]]
        assert not any(one["requeued_as"] or one["deaths"] for one in untouched)
        assert processes.leftovers(run.mark) == 0


def test_a_workflow_is_finished_by_its_generated_script(
    client: Callable[[str], Path], tmp_path: Path
) -> None:
    """[P6] [CASE 28]"""
    api = replace(TIGHT, itpm_capacity=36_000)
    spec = Fanout(kind="workflow", width=5, agents=5, read_bytes=40_000, role="obey", api=api)
    with bench(client(spec.version), tmp_path, spec) as run:
        done = run.run()
        assert done.returncode == 0, done.stderr
        assert told(done)["resumes"] >= 1
        assert run.delivered() == [f"reader-{number:02d}" for number in range(1, 6)]
        scripts = list((tmp_path / "home" / "state").glob("sessions/*/requeue/*.js"))
        assert len(scripts) == told(done)["resumes"]


def test_a_run_that_cannot_complete_exits_3_without_a_resume(
    client: Callable[[str], Path], tmp_path: Path
) -> None:
    """[§6 entitlement] [P5]"""
    api = replace(WIDE, faults=(Fault("entitlement", who="agents"),))
    spec = Fanout(agents=2, role="obey", api=api)
    with bench(client(spec.version), tmp_path, spec) as run:
        done = run.run()
        assert done.returncode == 3, done.stderr
        assert told(done)["causes"] == {"entitlement": 2}
        assert told(done)["resumes"] == 0


def test_a_credential_that_does_not_work_gives_the_clients_own_exit_code(
    client: Callable[[str], Path], tmp_path: Path
) -> None:
    """[§6 auth]"""
    spec = Fanout(agents=2, role="obey", api=replace(WIDE, faults=(Fault("auth"),)))
    with bench(client(spec.version), tmp_path, spec) as run:
        done = run.run()
        assert done.returncode == 1, done.stderr
        assert (told(done)["verdict"], told(done)["resumes"]) == ("failed", 0)


def test_a_main_thread_that_died_of_a_throttle_goes_on(
    client: Callable[[str], Path], tmp_path: Path
) -> None:
    """[§6 throttle]"""
    api = replace(WIDE, faults=(Fault("throttle", until=9.0, who="main"),))
    spec = Fanout(agents=2, role="obey", api=api)
    with bench(client(spec.version), tmp_path, spec) as run:
        done = run.run()
        assert done.returncode == 0, done.stderr
        assert told(done)["resumes"] >= 1
        assert run.delivered() == ["reader-01", "reader-02"]


def test_a_plans_closed_window_is_waited_for(client: Callable[[str], Path], tmp_path: Path) -> None:
    """[§6 quota] [P1] The client itself gives up at once: the reset is over a minute away to it."""
    api = Config(headers="subscriber", retry_after=75.0, faults=(quota_closed(2.5, 15.0),))
    spec = Fanout(agents=4, reads=2, role="obey", auth="oauth", api=api)
    with bench(client(spec.version), tmp_path, spec) as run:
        done = run.run()
        assert done.returncode == 0, done.stderr
        assert "for the reset" in done.stderr
        assert run.delivered() == [f"reader-{number:02d}" for number in range(1, 5)]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_stops_the_real_client_and_leaves_nothing_behind(
    client: Callable[[str], Path], tmp_path: Path
) -> None:
    api = replace(WIDE, ttfb_s=4.0)
    spec = Fanout(agents=2, role="obey", api=api)
    with bench(client(spec.version), tmp_path, spec) as run:
        line = [*run.line[:-1], "--output-format", "stream-json", "--verbose", run.line[-1]]
        with subprocess.Popen(
            line,
            cwd=tmp_path / "work",
            env=run.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        ) as process:
            assert process.stdout is not None
            while '"name":"Agent"' not in (row := process.stdout.readline()):
                assert row, "it ended before it launched an agent"
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert json.loads(err.splitlines()[-1])["verdict"] == "interrupted"
        assert processes.leftovers(run.mark) == 0
