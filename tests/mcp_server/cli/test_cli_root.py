"""The command line's root: its table, its one error boundary, its exit codes."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from paceline import __version__, account, paths
from paceline.errors import PacelineError, StateError, UsageError
from paceline.ledger.store import FileStore
from paceline.ledger.values import Prefix
from paceline_mcp import cli
from paceline_mcp.cli.boundary import guarded, reader_left
from paceline_mcp.cli.output import plain, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS = 60


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PACELINE_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def failing(error: BaseException) -> int:
    def command(_: Sequence[str]) -> int:
        raise error

    return guarded(command, ["limits", "--secret=sk-1"])


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UsageError("a size is negative; next: paceline limits -h"), 2, "a size is negative"),
        (StateError("the disk is full", "/x"), 1, "the disk is full: /x"),
        (PacelineError("no such run"), 1, "no such run"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_an_expected_error_is_one_line_and_its_exit_code(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing(error) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"paceline: {said}")
    assert err.count("\n") == 1


def test_a_state_that_cannot_be_used_is_told_with_the_next_thing_to_type(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert failing(StateError("the disk is full", "/x")) == 1
    assert capsys.readouterr().err == "paceline: the disk is full: /x; next: paceline doctor\n"


def test_a_bug_leaves_a_report_without_the_arguments_and_says_where(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing(ZeroDivisionError("by\x1b[2J zero")) == 1
    (report,) = (state / "reports").iterdir()
    text = report.read_text(encoding="utf-8")
    assert "ZeroDivisionError" in text
    assert "command: limits\n" in text
    assert "sk-1" not in text
    err = capsys.readouterr().err
    assert str(report) in err
    assert "next: paceline doctor" in err
    assert "\x1b" not in err


def test_a_bug_is_shown_where_no_report_can_be_written(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state.touch()
    assert failing(ZeroDivisionError("zero")) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_every_command_of_the_table_has_help_and_json() -> None:
    words = [
        ["limits", "show"]
        if name == "limits"
        else ["ledger", "show"]
        if name == "ledger"
        else [name]
        for name in cli.COMMANDS
    ]
    for typed in words:
        done = paceline(*typed, "--help")
        assert done.returncode == 0, done.stderr
        assert "--json" in done.stdout, typed


def test_only_the_typed_command_is_imported() -> None:
    code = (
        "import sys; from paceline_mcp.cli import run; run(['doctor', '--help'])\n"
        "loaded = {m for m in sys.modules if m.startswith('paceline_mcp.cli.')}\n"
        "print(sorted(loaded - {'paceline_mcp.cli.boundary', 'paceline_mcp.cli.output'}),"
        " {'mcp', 'anthropic'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "['paceline_mcp.cli.doctor'] set()"


def test_usage_errors_exit_with_2_and_name_the_nearest_command() -> None:
    done = paceline("docter")
    assert done.returncode == 2
    assert "doctor" in done.stderr
    assert paceline("doctor", "--no-such-option").returncode == 2
    assert paceline("--version").stdout == f"paceline {__version__}\n"


def test_a_console_that_cannot_show_a_letter_shows_a_question_mark() -> None:
    code = "from paceline_mcp.cli.boundary import guarded; guarded(lambda a: print('ä→é') or 0, [])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        timeout=SECONDS,
        check=True,
    )
    assert done.stdout.split() == [b"???"]


def unread(command: list[str]) -> tuple[bytes, int]:
    """Run a command whose reader goes away at once; return its standard error and exit code."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        return child.stderr.read(), child.wait(SECONDS)


def test_a_reader_that_goes_away_is_no_error() -> None:
    code = (
        "from paceline_mcp.cli.boundary import guarded; import sys\n"
        "sys.exit(guarded(lambda a: [print('x' * 9999) for _ in range(999)] and 0, []))"
    )
    assert unread([sys.executable, "-c", code]) == (b"", 0)


def test_a_reader_that_goes_away_is_known_by_each_systems_sign() -> None:
    """Windows has no SIGPIPE and calls the write an invalid argument."""
    assert reader_left(BrokenPipeError(errno.EPIPE, "Broken pipe"), "linux")
    assert reader_left(OSError(errno.EINVAL, "Invalid argument"), "win32")
    assert not reader_left(OSError(errno.EINVAL, "Invalid argument"), "linux")
    assert not reader_left(OSError(errno.EINVAL, "Invalid argument", "C:/a?b"), "win32")


def test_a_real_command_whose_reader_goes_away_ends_in_silence() -> None:
    assert unread([sys.executable, "-m", "paceline_mcp", "doctor"]) == (b"", 0)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell's >&- and /dev/full")
@pytest.mark.parametrize("words", ["--help", "limits show", "limits show --json"])
def test_an_output_nobody_can_take_is_no_bug(state: Path, words: str) -> None:
    command = f'"$1" -m paceline_mcp {words}'

    def run(where: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", f"{command} {where}", "sh", sys.executable],
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )

    closed = run(">&-")
    assert (closed.returncode, closed.stderr) == (0, "")
    if Path("/dev/full").exists():
        full = run(">/dev/full")
        assert full.returncode == 1
        assert full.stderr == ("paceline: the output cannot be written (No space left on device)\n")
    assert not (state / "reports").exists()


def test_no_line_of_the_help_is_cut() -> None:
    for words in ([], ["limits"], ["ledger"]):
        shown = paceline(*words, "--help").stdout
        assert "Commands:" in shown
        assert "..." not in shown.partition("Commands:")[2], shown


def test_a_short_name_is_the_model_used_last_and_no_family_of_its_own(tmp_path: Path) -> None:
    """A limit set for ``opus`` would be looked at by no request: each goes by its whole name."""
    setting = ["limits", "set", "--itpm", "5000", "--json", "--model"]
    done = paceline(*setting, "opus")
    assert done.returncode == 2
    assert "a whole name like claude-opus-" in done.stderr
    state = str(tmp_path / "state")
    name = account.account_id(os.environ, state)
    FileStore(paths.ledger_dir(state), name).transact(
        lambda ledger, now: ledger.prefixes.update({"claude-opus-5-5|x|y": Prefix(n=1, at=now)})
    )
    (row,) = json.loads(paceline(*setting, "opus").stdout)["limits"]
    assert row["family"] == "opus-5-5"


def test_an_account_or_a_model_that_is_none_is_a_usage_error() -> None:
    for words in (["show", "--account", "../x"], ["set", "--model", " ", "--itpm", "5"]):
        done = paceline("limits", *words)
        assert done.returncode == 2
        assert "; next: " in done.stderr


def test_what_goes_into_a_pipe_is_never_cut_to_a_terminals_width(tmp_path: Path) -> None:
    path = tmp_path / ("long " * 20) / ("name" * 30)
    for words in (["estimate", str(path)], ["plan", str(path), __file__]):
        done = paceline(*words, env={"COLUMNS": "40"})
        assert str(path) in done.stdout, done.stderr


def test_what_is_set_under_plugin_holds_for_the_command_too(tmp_path: Path) -> None:
    """Else it would look into another state folder than the session's hooks and server."""
    options = {"state_dir": str(tmp_path / "elsewhere"), "mode": "observe", "headroom": 0.1}
    options |= {"a=b": "no name", "ledger": "lone \ud800", "park_max": "nul\0"}
    told = {"pluginConfigs": {"paceline@paceline": {"options": options}, "other@x": 1}}
    (tmp_path / "settings.json").write_text(json.dumps(told), encoding="utf-8")
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path), "PACELINE_STATE_DIR": ""}

    assert paceline("ledger", "reserve", "--model", "m", "--input", "1", env=env).returncode == 0
    assert list((tmp_path / "elsewhere" / "ledger").glob("*.json"))
    assert json.loads(paceline("status", "--json", env=env).stdout)["mode"] == "observe"
    own = {**env, "PACELINE_MODE": "pace"}
    assert json.loads(paceline("status", "--json", env=own).stdout)["mode"] == "pace"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_who_stops_waiting_for_a_reservation_leaves_the_queue(tmp_path: Path) -> None:
    env = {"PACELINE_ACCOUNT": "one"}
    asking = ("ledger", "reserve", "--model", "opus-5", "--input", "90")
    assert paceline("limits", "set", "--model", "all", "--itpm", "100", env=env).returncode == 0
    assert paceline(*asking, env=env).returncode == 0
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from paceline_mcp.cli import main; sys.argv[1:1] = []; main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, *asking, "--wait", "60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | env,
    ) as child:
        while not waiting(env):
            assert child.poll() is None
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=SECONDS)
    assert child.returncode == 130
    assert waiting(env) == []


def waiting(env: dict[str, str]) -> list[object]:
    shown = json.loads(paceline("ledger", "show", "--json", env=env).stdout)
    waiters: list[object] = shown["waiters"]
    return waiters


def test_text_from_outside_cannot_move_the_cursor() -> None:
    assert plain("a\x1b]0;t\x07b\r\nc\u202ed\u200b\x9b2Je") == "a]0;tb cd2Je"


def test_json_is_strict_and_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": "ü\u2028"})
    out = capsys.readouterr().out
    assert out.isascii()
    assert json.loads(out) == {"a": "ü\u2028"}
    with pytest.raises(ValueError, match="JSON"):
        print_json(float("nan"))


def paceline(*args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "paceline_mcp", *args],
        capture_output=True,
        env=os.environ | (env or {}),
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
