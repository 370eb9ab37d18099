from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from paceline_bench.client import ClientMissing, Fanout, fanout, find_client, run_fanout
from paceline_bench.client.find import binary
from paceline_bench.client.home import environment
from paceline_bench.client.result import count
from paceline_bench.client.spec import main_script, prose, write_files
from paceline_bench.simapi import Config, Record

VERSION = "1.2.3"
T0 = 1_789_041_600.0

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a Python script where the client of ``VERSION`` would be."""
    monkeypatch.setenv("PACELINE_CLIENT_DIR", str(tmp_path / "clients"))

    def write(source: str) -> None:
        path = binary(VERSION)
        path.parent.mkdir(parents=True)
        path.write_text(f"#!{sys.executable}\n{source}", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    return write


def test_a_client_that_is_not_installed_and_cannot_be_is_missing_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PACELINE_CLIENT_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClientMissing, match="npm is not on PATH; install Node"):
        find_client(VERSION)
    with pytest.raises(ClientMissing, match="is not in"):
        find_client(VERSION, install=False)


@pytest.mark.parametrize("version", ["../../etc", "latest", "", "1.2.3;x"])
def test_what_is_no_version_never_meets_a_path_or_npm(version: str) -> None:
    with pytest.raises(ClientMissing, match="is no version"):
        find_client(version)


def test_a_failed_install_leaves_nothing_behind_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text("#!/bin/sh\necho 'npm error 404 not there' >&2\nexit 1\n", encoding="utf-8")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{npm.parent}:/usr/bin:/bin")
    monkeypatch.setenv("PACELINE_CLIENT_DIR", str(tmp_path / "clients"))
    with pytest.raises(ClientMissing, match="npm error 404 not there"):
        find_client(VERSION)
    assert list((tmp_path / "clients").iterdir()) == []


def test_an_install_appears_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_CLIENT_DIR", str(tmp_path / "clients"))
    inside = binary(VERSION).relative_to(tmp_path / "clients" / VERSION)
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    script = (
        '#!/bin/sh\nwhile [ "$1" != --prefix ]; do shift; done\n'
        f'mkdir -p "$2/{inside.parent}"\necho hello > "$2/{inside}"\n'
    )
    npm.write_text(script, encoding="utf-8")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{npm.parent}:/usr/bin:/bin")
    assert find_client(VERSION).read_text(encoding="utf-8") == "hello\n"
    assert [path.name for path in (tmp_path / "clients").iterdir()] == [VERSION]


def test_the_client_sees_an_empty_home_and_no_variable_of_the_person(
    stand_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", "1")
    stand_in(
        "import json, os, sys\n"
        "print(json.dumps({'type': 'result', 'result': json.dumps(dict(os.environ))}))\n"
        "print(json.dumps(os.listdir(os.environ['HOME'])), file=sys.stderr)\n"
    )
    with fanout(Fanout(version=VERSION, env={"EXTRA": "x"}, timeout_s=30)) as run:
        assert run.exit_code == 0
        assert run.errors.strip() == '["tmp"]'
        assert "SECRET_OF_MINE" not in str(run.result)
        assert '"EXTRA": "x"' in str(run.result)
        home = run.home
        assert home.is_dir()
    assert not home.exists()


def test_at_the_timeout_the_client_and_all_it_started_are_killed(stand_in: Any) -> None:
    stand_in(
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],\n"
        "                         start_new_session=True)\n"
        'print(\'{"type": "x", "pid": %d}\' % child.pid, flush=True)\n'
        "child.wait()\n"
    )
    with fanout(Fanout(version=VERSION, timeout_s=5.0)) as run:
        assert (run.timed_out, run.exit_code) == (True, None)
        pid = int(run.stream.read_text(encoding="utf-8").split('"pid": ')[1].split("}")[0])
    if Path("/proc").is_dir():
        assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text()


def test_a_client_that_fails_is_reported_with_its_own_words(stand_in: Any) -> None:
    stand_in("import sys\nprint('no such flag', file=sys.stderr)\nsys.exit(7)\n")
    run = run_fanout(Fanout(version=VERSION, timeout_s=30))
    assert (run.exit_code, run.errors, run.result) == (7, "no such flag\n", None)
    assert run.counts.delivered == 0
    assert run.to_json()["dropped"] == 6


def test_progress_is_told_while_it_runs(stand_in: Any) -> None:
    stand_in("import time\ntime.sleep(0.6)\n")
    seen: list[float] = []
    run_fanout(Fanout(version=VERSION, timeout_s=30), progress=lambda now: seen.append(now.elapsed))
    assert len(seen) >= 2
    assert seen == sorted(seen)


def test_the_script_names_files_that_exist_and_differ(tmp_path: Path) -> None:
    spec = Fanout(agents=3, reads=2, read_bytes=5_000)
    agents = write_files(spec, tmp_path)
    paths = [path for agent in agents for step in agent["steps"] for path in step]
    texts = {Path(path).read_bytes() for path in paths}
    assert len(texts) == 6
    assert {len(text) for text in texts} == {5_000}
    assert main_script(spec, agents)["fanout"]["agents"] == agents
    assert main_script(Fanout(kind="none"), agents)["steps"] == []


def test_the_same_topic_gives_the_same_prose() -> None:
    assert prose(3_000, "1.1") == prose(3_000, "1.1")
    assert prose(3_000, "1.1") != prose(3_000, "1.2")


def test_width_is_the_variable_of_the_kind(tmp_path: Path) -> None:
    workflow = environment(Fanout(kind="workflow", width=15), tmp_path, "http://x")
    assert workflow["CLAUDE_CODE_WORKFLOW_MAX_CONCURRENT_AGENTS"] == "15"
    agents = environment(Fanout(kind="agent", agents=40), tmp_path, "http://x")
    assert agents["CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS"] == "40"
    assert "CLAUDE_CODE_MAX_RETRIES" not in environment(
        Fanout(max_retries=None), tmp_path, "http://x"
    )


def test_a_plan_login_stands_instead_of_a_key(tmp_path: Path) -> None:
    env = environment(Fanout(auth="oauth"), tmp_path, "http://x")
    assert "ANTHROPIC_API_KEY" not in env
    assert env["CLAUDE_CODE_OAUTH_TOKEN"]
    assert env["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)


def record(number: int, t: float, label: str | None, **more: Any) -> Record:
    told: dict[str, Any] = {
        "number": number,
        "t": T0 + t,
        "end": T0 + t + 1,
        "session": "s",
        "agent": f"a{label}" if label else None,
        "role": "agent" if label else "main",
        "label": label,
        "step": 0,
        "model": "m",
        "stream": True,
        "attempt": 0,
        "outcome": "ok",
        "kind": None,
        "input": 0,
        "cache_creation": 0,
        "cache_read": 0,
        "output": 10,
        "cost": 0,
        "asked": 0,
        "before": 60_000.0,
        "after": 0.0,
        "ttfb": 0.1,
        "delivered": None,
    }
    return Record(**(told | more))


def test_a_run_is_counted_from_what_the_api_saw() -> None:
    records = [
        record(0, 0, None, cost=12_000),
        record(1, 1, "one", cost=8_000, before=60_000.0),
        record(2, 1, "two", cost=8_000),
        record(3, 3, "one", cost=30_000, cache_read=8_000, delivered="one"),
        record(4, 4, "two", outcome="refused", kind="input", end=T0 + 4),
        record(5, 6, "two", outcome="refused", kind="input", end=T0 + 6),
        record(6, 7, None, outcome="refused", kind="input"),
    ]
    counts = count(records, 2, Config(itpm=60_000), T0)
    assert (counts.delivered, counts.dropped, counts.labels) == (1, 1, ("one",))
    assert (counts.requests, counts.refusals, counts.main_refusals) == (5, 2, 1)
    assert (counts.uncached_tokens, counts.wasted_tokens) == (46_000, 8_000)
    assert (counts.total_uncached, counts.cache_read) == (58_000, 8_000)
    assert counts.span_s == 5.0
    assert counts.bound_s == 2.0
    assert counts.ratio == 2.5


def test_the_least_span_waits_for_tokens_the_bucket_did_not_hold() -> None:
    records = [
        record(0, 10, "one", cost=50_000, before=60_000.0, delivered="one"),
        record(1, 50, "two", cost=50_000, delivered="two"),
    ]
    counts = count(records, 2, Config(itpm=60_000), T0)
    assert counts.bound_s == 41.0
    assert counts.span_s == 41.0
    slower = Config(itpm=60_000, itpm_schedule=((30.0, 30_000),))
    assert count(records, 2, slower, T0).bound_s == 61.0


def test_from_a_shell_a_missing_client_is_an_error_with_its_reason(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "paceline_bench.client", "run", "--version", VERSION],
        env={"PACELINE_CLIENT_DIR": str(tmp_path), "PATH": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "npm is not on PATH" in done.stderr
    assert done.stdout == ""
