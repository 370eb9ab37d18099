"""The hook as a process: whatever comes in, JSON or nothing comes out, and it ends with 0."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from paceline import jsonl, paths
from process.hook_process import BOUND, ROOT, command, environment, event, run

FULL = Path("/dev/full")


def lines(state: Path, session: str = "s1") -> list[dict[str, Any]]:
    return jsonl.read(paths.events_file(str(state), session))[0]


@pytest.mark.parametrize(
    ("data", "kinds"),
    [
        (b"", ["fault"]),
        (b"{", ["fault"]),
        (b"\xef\xbb\xbf" + event("Stop"), ["stop"]),
        (event("Stop", x="@").replace(b"@", b"\xc3\x28\xff"), ["stop"]),
        (event("SubagentStop", agent_transcript_path=None), ["agent.stop"]),
        (event("Invented"), ["fault"]),
        (b"\x00" * 100_000, ["fault"]),
        (b"[" * 100_000, ["fault"]),
    ],
    ids=["empty", "cut", "bom", "utf8", "null", "unknown", "nul", "deep"],
)
def test_bad_stdin_ends_with_0_and_nothing_on_stdout(
    tmp_path: Path, data: bytes, kinds: list[str]
) -> None:
    """[CASE 19]"""
    for _ in range(2):
        assert run(data, tmp_path, CLAUDE_CODE_SESSION_ID="s1") == (0, b"", b"")
    found = [line["e"] for line in lines(tmp_path)]
    assert found == (kinds if kinds == ["fault"] else kinds * 2)


def test_a_tools_answer_of_20_mb_is_measured_and_not_choked_on(tmp_path: Path) -> None:
    """[CASE 19]"""
    answer = {"type": "text", "file": {"content": "word " * 4_000_000, "startLine": 1}}
    data = event("PostToolUse", tool_name="Read", tool_use_id="t1", tool_response=answer)
    assert len(data) > 20_000_000
    assert run(data, tmp_path) == (0, b"", b"")
    (line,) = lines(tmp_path)
    assert line["tokens"] > 1_000_000


@pytest.mark.parametrize(
    ("data", "kind"), [(event("Stop"), "stop"), (b'{"session_id":', "fault"), (b"", "fault")]
)
def test_a_stdin_that_never_closes_is_waited_for_within_a_bound(
    tmp_path: Path, data: bytes, kind: str
) -> None:
    """[CASE 19] What came until then still counts."""
    env = environment(tmp_path, CLAUDE_CODE_SESSION_ID="s1")
    pipe, end = os.pipe()
    try:
        with subprocess.Popen(command(), stdin=pipe, stdout=subprocess.PIPE, env=env) as hook:
            os.write(end, data)
            try:
                out, _ = hook.communicate(timeout=BOUND)
            finally:
                hook.kill()
            assert (hook.returncode, out) == (0, b"")
    finally:
        os.close(pipe)
        os.close(end)
    assert [line["e"] for line in lines(tmp_path)] == [kind]


@pytest.mark.skipif(os.name != "posix", reason="closes a standard handle the POSIX way")
def test_closed_standard_handles_hurt_nobody(tmp_path: Path) -> None:
    shut = 'exec 0<&- 1>&- 2>&-; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", shut, "sh", *command()],
        env=environment(tmp_path, CLAUDE_CODE_SESSION_ID="s1"),
        timeout=BOUND,
        check=False,
    )
    assert done.returncode == 0
    assert [line["e"] for line in lines(tmp_path)] == ["fault"]


def test_a_state_directory_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_text("not a folder", encoding="utf-8")
    code, out, err = run(event("SubagentStart", agent_id="a1"), state)
    assert (code, out) == (0, b"")
    assert err.endswith(b"Type: paceline doctor\n")
    assert state.read_text(encoding="utf-8") == "not a folder"


@pytest.mark.parametrize("name", ["SubagentStart", "PostToolBatch", "SubagentStop", "StopFailure"])
def test_a_hold_that_cannot_be_made_lets_the_agent_go(tmp_path: Path, name: str) -> None:
    """[P7] No gate is alive, and where the ledger should be there is a file."""
    ledger = tmp_path / "ledger"
    ledger.write_text("not a folder", encoding="utf-8")
    done = run(
        event(name, agent_id="a1", error="rate_limit"),
        tmp_path / "state",
        PACELINE_MODE="pace",
        PACELINE_LEDGER=str(ledger),
    )
    assert done == (0, b"", b"")
    first, fault = lines(tmp_path / "state")
    assert (first["agent"], fault["e"], fault["where"]) == ("a1", "fault", f"hook.{name}")
    assert ledger.read_text(encoding="utf-8") == "not a folder"


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_a_full_disk_stops_nobody(tmp_path: Path) -> None:
    """``/dev/full`` takes no byte: writing the log fails as it does on a full disk."""
    folder = tmp_path / "sessions" / "s1"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").symlink_to(FULL)
    code, out, err = run(event("Stop"), tmp_path)
    assert (code, out) == (0, b"")
    assert b"No space left" in err


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_an_output_nobody_can_take_stops_nobody(tmp_path: Path) -> None:
    script = (
        "import os, sys; sys.path[:0] = sys.argv[1:]\n"
        "from paceline_hooks import dispatch\n"
        "dispatch.answer = lambda *a: {'systemMessage': 'x'}\n"
        "dispatch.main()"
    )
    with FULL.open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", script, str(ROOT / "hooks"), str(ROOT / "plugin")],
            input=b"{}",
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=BOUND,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_output_is_one_line_of_ascii_json(tmp_path: Path) -> None:
    script = (
        "import os, sys; sys.path[:0] = sys.argv[1:]\n"
        "from paceline_hooks import dispatch\n"
        "dispatch.answer = lambda *a: {'systemMessage': 'caf\\xe9 ' * 30000}\n"
        "dispatch.main()"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, str(ROOT / "hooks"), str(ROOT / "plugin")],
        input=b"{}",
        capture_output=True,
        timeout=BOUND,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert json.loads(done.stdout) == {"systemMessage": "café " * 30000}


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """A copy of the plugin under a path with a space and letters that are not ASCII."""
    root = tmp_path / "plug in ü 数"
    for room in ("hooks", "plugin"):
        shutil.copytree(
            ROOT / room, root / room, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
        )
    return root


def test_a_plugin_path_with_a_space_and_strange_letters_works(
    strange: Path, tmp_path: Path
) -> None:
    state = tmp_path / "stäte 数"
    read = {"tool_name": "Read", "tool_use_id": "t1", "tool_input": {"file_path": str(strange)}}
    assert run(event("PreToolUse", **read), state, strange) == (0, b"", b"")
    assert [line["tool"] for line in lines(state)] == ["Read"]


def test_the_second_start_finds_the_code_compiled(strange: Path, tmp_path: Path) -> None:
    run(event("Stop"), tmp_path / "state", strange)
    cached = {path.name.partition(".")[0] for path in strange.rglob("*.pyc")}
    assert {"dispatch", "stop", "record", "jsonl", "codec", "paths", "settings"} <= cached


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="its user can write every folder"
)
def test_a_read_only_plugin_keeps_its_compiled_code_in_the_plugins_data_folder(
    strange: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    for folder in [strange, *strange.rglob("*")]:
        if folder.is_dir():
            folder.chmod(0o555)
    try:
        done = run(event("Stop"), tmp_path / "state", strange, CLAUDE_PLUGIN_DATA=str(data))
    finally:
        for folder in [strange, *strange.rglob("*")]:
            if folder.is_dir():
                folder.chmod(0o755)
    assert done == (0, b"", b"")
    assert any(path.name.startswith("dispatch.") for path in data.rglob("*.pyc"))
    assert not list(strange.rglob("*.pyc"))


def test_a_plugin_with_a_damaged_module_stops_nobody(strange: Path, tmp_path: Path) -> None:
    (strange / "hooks" / "paceline_hooks" / "dispatch.py").write_text("((", encoding="utf-8")
    assert run(event("PreToolUse"), tmp_path, strange) == (0, b"", b"")


def test_python_settings_of_the_user_do_not_reach_a_hook(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(3)", encoding="utf-8")
    (tmp_path / "paceline").mkdir()
    start = str(tmp_path / "json.py")
    state = tmp_path / "state"
    done = run(event("Stop"), state, PYTHONPATH=str(tmp_path), PYTHONSTARTUP=start)
    assert done == (0, b"", b"")
    assert [line["e"] for line in lines(tmp_path / "state")] == ["stop"]


def test_switched_off_nothing_is_written(tmp_path: Path) -> None:
    assert run(event("Stop"), tmp_path / "state", PACELINE_MODE="off") == (0, b"", b"")
    assert not (tmp_path / "state").exists()


def test_a_hook_leaves_no_child(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("asks the process group")
    with subprocess.Popen(
        command(), stdin=subprocess.PIPE, env=environment(tmp_path), start_new_session=True
    ) as hook:
        hook.communicate(event("SessionStart", source="startup"), timeout=BOUND)
    with pytest.raises(ProcessLookupError):
        os.killpg(hook.pid, 0)


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_the_state_is_its_owners_alone(tmp_path: Path) -> None:
    run(event("SessionStart"), tmp_path / "state", ANTHROPIC_API_KEY="made-up")
    modes = {
        p.relative_to(tmp_path).as_posix(): p.stat().st_mode & 0o777 for p in tmp_path.rglob("*")
    }
    assert modes == {
        "state": 0o700,
        "state/salt": 0o600,
        "state/sessions": 0o700,
        "state/sessions/s1": 0o700,
        "state/sessions/s1/events.jsonl": 0o600,
    }


def test_hooks_that_write_at_once_leave_whole_lines(tmp_path: Path) -> None:
    """Also two interpreters that both run every event: each line is whole, ids repeat."""
    calls = [
        event("PreToolUse", tool_name="Bash", tool_use_id=f"t{n % 16}", agent_id=f"a{n % 16}")
        for n in range(32)
    ]
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda call: run(call, tmp_path), calls))
    assert set(done) == {(0, b"", b"")}
    assert Counter(line["id"] for line in lines(tmp_path)) == dict.fromkeys(
        (f"t{n}" for n in range(16)), 2
    )
