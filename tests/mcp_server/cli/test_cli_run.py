"""``paceline run`` as a process, around a program that stands where the client stands."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headless_client
from fanout_files import (
    T0,
    Files,
    agent_id,
    answer,
    delivered,
    error,
    launch,
    launched,
    prompt,
)
from paceline import paths
from paceline_mcp.headless import tree
from paceline_mcp.headless.drive import SLOTS_MS
from paceline_mcp.headless.newest import slug

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 60
A1, A2 = agent_id(1), agent_id(2)
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


def session_with_an_early_slot() -> str:
    """Return an id that waits a few milliseconds longer than the reset, not seconds."""
    ids = (str(uuid.UUID(int=number, version=4)) for number in range(10**6))
    return next(one for one in ids if zlib.crc32(one.encode()) % SLOTS_MS < 20)


class Bench:
    """A home of its own, and the plan of the program that is started."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / "work place"
        self.work.mkdir()
        self.calls_file = root / "calls"
        self.env = {
            **{name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ},
            "HOME": str(root),
            "USERPROFILE": str(root),
            "CLAUDE_CONFIG_DIR": str(root / "config"),
            "PACELINE_STATE_DIR": str(root / "state"),
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PLAN": str(root / "plan.json"),
            "CALLS": str(self.calls_file),
        }

    def plan(self, *steps: dict[str, Any]) -> None:
        Path(self.env["PLAN"]).write_text(json.dumps(steps), encoding="utf-8")

    def files(self, *agents: list[Any], tail: Any = None) -> dict[str, str]:
        """Return what a session leaves whose agents left these rows."""
        made = Files(self.root / "made" / uuid.uuid4().hex)
        calls = [launch(f"toolu_{at}", f"reader {at}") for at, _ in enumerate(agents)]
        rows = [prompt("Go."), answer(*calls, stop="tool_use")] if calls else [prompt("Go.")]
        rows += [launched(f"toolu_{at}", agent_id(at + 1)) for at, _ in enumerate(agents)]
        made.main([*rows, tail or answer("All done.", at=9.0)])
        for at, told in enumerate(agents):
            made.agent(agent_id(at + 1), told, toolUseId=f"toolu_{at}")
        return {
            path.relative_to(made.projects)
            .as_posix()
            .replace(made.session, "{session}"): path.read_text(encoding="utf-8")
            for path in made.projects.rglob("*")
            if path.is_file()
        }

    def command(self, *words: str, options: tuple[str, ...] = ()) -> list[str]:
        client = [sys.executable, headless_client.__file__, "claude"]
        return [sys.executable, "-m", "paceline_mcp", "run", *options, "--", *client, *words]

    def run(
        self, *words: str, options: tuple[str, ...] = (), stdin: str | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            self.command(*words, options=options),
            cwd=self.work,
            env=self.env,
            input=None if stdin is None else stdin.encode(),
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )

    @contextlib.contextmanager
    def started(self, *words: str, **more: Any) -> Iterator[subprocess.Popen[bytes]]:
        """Start it; whatever is left of it ends with the block."""
        with subprocess.Popen(
            self.command(*words, **more),
            cwd=self.work,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    tree.kill(process.pid)  # the client below it, too: nothing else would end it

    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.calls_file.read_text("utf-8").splitlines()]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def lines(done: subprocess.CompletedProcess[bytes]) -> list[str]:
    return done.stderr.decode("utf-8").splitlines()


LOST = [prompt("Read it.")]


def closed(resets: int) -> dict[str, Any]:
    """Return the main thread's row of a plan's window that opens again at ``resets``."""
    quota = {"status": "rejected", "resetsAt": resets, "rateLimitType": "five_hour"}
    now = time.time() - T0
    text = "You've hit your 5-hour limit"
    return error(text, at=now, kind="rate_limit", isSidechain=False, quotaLimits=quota)


def test_output_goes_through_unchanged_and_the_last_line_is_the_verdict(bench: Bench) -> None:
    bench.plan({"out": "ä\x1b[1mb\r\n\x00no end", "err": "a warning\n", "files": bench.files()})
    done = bench.run("-p", "do it")
    assert done.returncode == 0
    assert done.stdout == "ä\x1b[1mb\r\n\x00no end".encode()
    assert "a warning" in lines(done)
    assert lines(done)[-1] == "paceline: complete: no agents were launched"
    (call,) = bench.calls()
    assert call["argv"][:2] == ["claude", "--session-id"]
    assert call["argv"][3:] == ["-p", "do it"]
    assert call["env"]["CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS"] == "0"
    assert call["env"]["PACELINE_STATE_DIR"] == bench.env["PACELINE_STATE_DIR"]


def test_a_lost_agent_is_brought_back_by_resuming_the_session(bench: Bench) -> None:
    """[P1] [P6]"""
    bench.plan(
        {"out": "one\n", "files": bench.files(LOST, delivered())},
        {"out": "two\n", "files": bench.files(delivered(), delivered())},
    )
    done = bench.run("-p", "--model", "m", "do it", "--verbose")
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"one\ntwo\n"
    first, second = bench.calls()
    session = first["argv"][2]
    assert second["argv"][:5] == ["claude", "--resume", session, "-p", second["argv"][4]]
    assert second["argv"][5:] == ["--model", "m", "--verbose"]
    assert f'SendMessage(to: "{A1}"' in second["argv"][4]
    assert A2 not in second["argv"][4]
    assert lines(done)[-1] == "paceline: complete: 2 of 2 agents delivered (1 resume)"
    assert sum("no Paceline plugin" in line for line in lines(done)) == 1


def test_a_prompt_on_stdin_is_replaced_on_stdin(bench: Bench) -> None:
    bench.plan({"files": bench.files(LOST)}, {"files": bench.files(delivered())})
    done = bench.run("-p", "--verbose", stdin="do it, große Datei\n")
    assert done.returncode == 0, done.stderr
    first, second = bench.calls()
    assert first["stdin"] == "do it, große Datei\n"
    assert second["argv"][3:] == ["-p", "--verbose"]
    assert A1 in second["stdin"]


def test_a_main_thread_that_died_of_a_quota_goes_on_after_its_reset(bench: Bench) -> None:
    """[§6 quota]"""
    resets = int(time.time()) + 2
    bench.plan({"code": 1, "files": bench.files(tail=closed(resets))}, {"files": bench.files()})
    session = session_with_an_early_slot()
    done = bench.run("-p", "--session-id", session, "do it")
    assert done.returncode == 0, done.stderr
    assert time.time() >= resets
    assert any("waiting" in line and "for the reset" in line for line in lines(done))
    _, second = bench.calls()
    assert second["argv"][2] == session
    assert second["argv"][4].startswith("Your last request was refused by a rate limit")


def test_a_reset_further_away_than_allowed_is_said_at_once(bench: Bench) -> None:
    bench.plan({"code": 1, "files": bench.files(tail=closed(int(time.time()) + 7200))})
    done = bench.run("-p", "do it", options=("--max-wait", "90m"))
    assert done.returncode == 3
    assert "--max-wait" in lines(done)[-1]
    assert "next: paceline manifest --session" in lines(done)[-1]


def test_once_looks_and_resumes_nothing(bench: Bench) -> None:
    """[P5]"""
    bench.plan({"files": bench.files(LOST, delivered())})
    done = bench.run("-p", "do it", options=("--once",))
    assert done.returncode == 3
    assert len(bench.calls()) == 1
    assert lines(done)[-1].startswith("paceline: degraded: 1 of 2 agents delivered")
    assert any(A1 in line and "dropped, client" in line for line in lines(done))


def test_resumes_are_bounded(bench: Bench) -> None:
    bench.plan({"files": bench.files(LOST)})
    done = bench.run("-p", "do it", options=("--attempts", "2"))
    assert done.returncode == 3
    assert len(bench.calls()) == 3
    assert bench.calls()[-1]["argv"][4].startswith("Paceline: 1 agent did not deliver")
    assert "resumed 2 times, as often as allowed" in lines(done)[-1]


def test_what_no_resume_mends_exits_3_at_once(bench: Bench) -> None:
    """[§6 entitlement]"""
    text = "API Error: Extra usage is required for long context requests."
    bench.plan({"files": bench.files([prompt("x"), error(text, at=5.0)], delivered())})
    done = bench.run("-p", "do it")
    assert done.returncode == 3
    assert len(bench.calls()) == 1


@pytest.mark.parametrize("code", [1, 7, 42])
def test_a_client_that_fails_by_itself_gives_its_exit_code(bench: Bench, code: int) -> None:
    bench.plan({"code": code, "err": "error: unknown option\n"})
    done = bench.run("-p", "do it")
    assert done.returncode == code
    assert len(bench.calls()) == 1


def test_a_success_that_left_no_session_is_not_called_complete(bench: Bench) -> None:
    """[P5]"""
    bench.plan({"out": "fine\n"})
    done = bench.run("-p", "do it")
    assert done.returncode == 3
    assert "nothing can be verified" in lines(done)[-1]


def test_a_session_that_is_not_kept_is_told_so_and_run_once(bench: Bench) -> None:
    bench.plan({"files": bench.files(LOST)})
    done = bench.run("-p", "--no-session-persistence", "do it")
    assert done.returncode == 3
    assert len(bench.calls()) == 1
    assert sum("--no-session-persistence" in line for line in lines(done)) == 1


def test_the_session_of_a_stream_is_read_off_it_while_it_passes(bench: Bench) -> None:
    session = str(uuid.uuid4())
    init = json.dumps({"type": "system", "subtype": "init", "session_id": session})
    bench.env["SESSION"] = session
    bench.plan(
        {"out": f"{init}\n", "files": bench.files(LOST)},
        {"out": f"{init}\n", "files": bench.files(delivered())},
    )
    done = bench.run("-p", "--output-format", "stream-json", "--verbose", "do it")
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == f"{init}\n{init}\n"
    first, second = bench.calls()
    assert "--session-id" not in first["argv"]
    assert second["argv"][2] == session


def test_a_stream_arrives_as_it_comes_not_at_its_end(bench: Bench) -> None:
    bench.plan({"out": '{"session_id":"x"}\n', "wait": True, "files": bench.files()})
    with bench.started("-p", "--output-format", "stream-json", "x") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b'{"session_id":"x"}\n'
        assert process.poll() is None


def test_a_continued_session_is_found_by_what_was_written(bench: Bench) -> None:
    bench.env["SESSION"] = "11111111-2222-4333-8444-555555555555"
    here = slug(str(bench.work))
    told = {
        name.replace("-home-user-project", here): text for name, text in bench.files(LOST).items()
    }
    bench.plan({"files": told}, {"files": dict.fromkeys(told, "")})
    bench.run("-p", "-c", "do it", options=("--attempts", "1"))
    first, second = bench.calls()
    assert first["argv"] == ["claude", "-p", "-c", "do it"]
    assert second["argv"][1:4] == ["--resume", bench.env["SESSION"], "-p"]


def test_json_is_the_last_line_on_stderr(bench: Bench) -> None:
    bench.plan({"out": "{}\n", "files": bench.files(LOST, delivered())})
    done = bench.run("-p", "do it", options=("--once", "--json"))
    told = json.loads(lines(done)[-1])
    assert done.stdout == b"{}\n"
    assert (told["verdict"], told["exit_code"], told["causes"]) == ("degraded", 3, {"client": 1})
    assert told["census"]["launched"] == 2
    assert told["session_id"] == bench.calls()[0]["argv"][2]


def test_the_plugin_of_this_checkout_is_added_when_asked(bench: Bench) -> None:
    bench.plan({"files": bench.files(LOST)}, {"files": bench.files(delivered())})
    done = bench.run("-p", "do it", options=("--plugin",))
    assert done.returncode == 0, done.stderr
    for call in bench.calls():
        folder = Path(call["argv"][call["argv"].index("--plugin-dir") + 1])
        assert (folder / ".claude-plugin" / "plugin.json").is_file()
        assert call["env"]["CLAUDE_CODE_MAX_RETRIES"] is None
    assert not any("no Paceline plugin" in line for line in lines(done))


def test_wrong_use_says_what_to_type(bench: Bench) -> None:
    bench.plan({})
    done = bench.run("do it")
    assert (done.returncode, "add -p" in lines(done)[-1]) == (2, True)
    done = bench.run("-p", "x", options=("--max-wait", "soon"))
    assert (done.returncode, "90m" in lines(done)[-1]) == (2, True)
    line = [sys.executable, "-m", "paceline_mcp", "run", "--", "./no-such-claude", "-p"]
    missing = subprocess.run(line, env=bench.env, capture_output=True, timeout=SECONDS, check=False)
    assert missing.returncode == 2
    assert b"cannot be started" in missing.stderr
    assert not bench.calls_file.exists()


def test_a_reader_that_goes_away_is_no_bug(bench: Bench) -> None:
    bench.plan({"out": "x" * 300_000 + "\n", "files": bench.files()})
    with bench.started("-p", "--output-format", "stream-json", "x") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        told = process.stderr.read().decode()
    assert "paceline: a bug" not in told
    assert told.splitlines()[-1].startswith("paceline: ")


@posix
def test_ctrl_c_stops_the_client_cleanly_and_prints_who_delivered(bench: Bench) -> None:
    bench.plan({"out": "up\n", "wait": True, "files": bench.files(LOST, delivered())})
    with bench.started("-p", "do it") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert out == b"stopped\n"
    assert process.returncode == 130
    told = err.decode().splitlines()
    assert any("once more kills it" in line for line in told)
    assert any("1 of 2 delivered, 1 stopped" in line for line in told)
    assert told[-1].startswith("paceline: interrupted: 1 of 2 agents delivered")
    assert len(bench.calls()) == 1


@posix
def test_ctrl_c_twice_kills_the_client_and_all_below_it(bench: Bench) -> None:
    bench.plan({"out": "up\n", "wait": True, "stubborn": True, "spawn": True})
    with bench.started("-p", "do it") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"up\n"
        below = int(bench.calls_file.with_suffix(".below").read_text("ascii"))
        os.kill(below, 0)
        process.send_signal(signal.SIGINT)
        while b"once more" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        told = process.stderr.read().decode()
        assert process.wait(SECONDS) == 130
    assert "killing the client" in told
    assert gone(below)


def gone(pid: int) -> bool:
    """Say whether a process has ended (an orphan's zombie counts: nobody here can reap it)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1]
    except OSError:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 0)
            return False
        return True
    return state == b"Z"


@posix
def test_a_cancelled_job_stops_the_client_too(bench: Bench) -> None:
    bench.plan({"out": "up\n", "wait": True, "files": bench.files(delivered())})
    with bench.started("-p", "do it") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=SECONDS)
    assert out == b"stopped\n"
    assert process.returncode == 143


@posix
def test_ctrl_c_ends_a_wait_at_once(bench: Bench) -> None:
    bench.plan({"code": 1, "files": bench.files(tail=closed(int(time.time()) + 3600))})
    with bench.started("-p", "do it") as process:
        assert process.stderr is not None
        while b"waiting" not in (line := process.stderr.readline()):
            assert line, "it ended before it waited"
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130
    assert len(bench.calls()) == 1


def test_tickets_are_noted_where_the_manifest_looks(bench: Bench) -> None:
    """[P6]"""
    bench.plan({"files": bench.files(LOST)}, {"files": bench.files(delivered())})
    bench.run("-p", "do it")
    session = bench.calls()[0]["argv"][2]
    log = Path(paths.events_file(bench.env["PACELINE_STATE_DIR"], session))
    kinds = [json.loads(line)["e"] for line in log.read_text("utf-8").splitlines()]
    assert kinds == ["requeue"]
