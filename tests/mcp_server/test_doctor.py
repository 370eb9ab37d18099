"""What the doctor finds, on real folders and real (small) programs standing in its way."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING

import pytest

from paceline import account, paths
from paceline.ledger.belief import tell
from paceline.ledger.store import FileStore
from paceline_mcp.cli import run
from paceline_mcp.doctor import client, examine, interpreter
from paceline_mcp.doctor.ledger import ledger_row
from paceline_mcp.doctor.limits import limit_rows
from paceline_mcp.doctor.row import Level, Row
from paceline_mcp.doctor.server import server_row
from paceline_mcp.doctor.session import session_rows
from paceline_mcp.doctor.settings import settings_rows
from paceline_mcp.doctor.state import state_row
from paceline_mcp.launcher import places

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    return {
        "HOME": str(home),
        "PACELINE_STATE_DIR": str(tmp_path / "state"),
        "PATH": os.environ["PATH"],
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
    }


def program(folder: Path, name: str, body: str) -> str:
    """A program of our own on PATH, as a stub or an old client would be."""
    if os.name == "nt":
        pytest.skip("a shell script is no program on Windows")
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    file.chmod(0o700)
    return str(folder)


def write_log(env: dict[str, str], session: str, *lines: dict[str, object]) -> Path:
    folder = paths.session_dir(env["PACELINE_STATE_DIR"], session)
    paths.make_private(folder)
    log = paths.events_file(env["PACELINE_STATE_DIR"], session)
    with open(log, "a", encoding="utf-8") as file:  # noqa: PTH123 - paths are strings there
        file.writelines(json.dumps(line) + "\n" for line in lines)
    from pathlib import Path

    return Path(folder)


def test_a_state_folder_that_cannot_be_made_is_bad_and_one_that_can_is_left_clean(
    env: dict[str, str], tmp_path: Path
) -> None:
    assert state_row(env).level is Level.FINE
    assert list((tmp_path / "state").iterdir()) == []
    (tmp_path / "file").touch()
    row = state_row(env | {"PACELINE_STATE_DIR": str(tmp_path / "file" / "x")})
    assert row.level is Level.BAD
    assert "PACELINE_STATE_DIR" in row.next


@pytest.mark.parametrize(
    ("body", "level", "words"),
    [
        ("exit 49", Level.BAD, "stand-in"),
        ("exit 0", Level.BAD, "stand-in"),
        ("exit 1", Level.BAD, "ends with 1"),
        ("echo 3.9.18", Level.BAD, "3.11 or later"),
        ("echo 3.10.0", Level.BAD, "3.11 or later"),
        ("echo 3.11.0", Level.FINE, "is Python 3.11.0"),
        ("echo hello", Level.BAD, "ends with 0"),
    ],
)
def test_the_interpreter_of_the_hooks_is_started_and_judged(
    env: dict[str, str], tmp_path: Path, body: str, level: Level, words: str
) -> None:
    path = program(tmp_path / "bin", "python3", body)
    row = interpreter.interpreter_row(env | {"PATH": path})
    assert (row.level, words in row.found) == (level, True), row
    assert bool(row.next) == (level is Level.BAD)


def test_no_interpreter_on_path_is_bad(env: dict[str, str], tmp_path: Path) -> None:
    assert interpreter.interpreter_row(env | {"PATH": str(tmp_path)}).level is Level.BAD


def test_the_store_stub_of_windows_is_known_by_both_its_exit_codes() -> None:
    for code in (49, 9009):
        row = interpreter.judged("python3", code, "", "next")
        assert (row.level, "stand-in" in row.found) == (Level.BAD, True)


@pytest.mark.parametrize(
    ("said", "level"),
    [
        ("2.1.332 (Claude Code)", Level.FINE),
        ("2.1.287 (Claude Code)", Level.FINE),
        ("2.1.286 (Claude Code)", Level.NOTE),
        ("2.1.139 (Claude Code)", Level.NOTE),
        ("2.1.138 (Claude Code)", Level.BAD),
        ("2.0.999 (Claude Code)", Level.BAD),
        ("what?", Level.BAD),
    ],
)
def test_the_clients_version_tells_which_layers_it_carries(
    env: dict[str, str], tmp_path: Path, said: str, level: Level
) -> None:
    row = client.client_row(env | {"PATH": program(tmp_path / "bin", "claude", f"echo '{said}'")})
    assert row.level is level


def test_where_the_servers_packages_are(env: dict[str, str], tmp_path: Path) -> None:
    root = tmp_path / "plugin"
    (root / "mcp_server").mkdir(parents=True)
    (root / "mcp_server" / "launch.py").touch()
    (root / "mcp_server" / "requirements.lock").touch()
    env |= {"XDG_CACHE_HOME": str(tmp_path / "c"), "LOCALAPPDATA": str(tmp_path / "c")}
    assert server_row(env, root).level is Level.NOTE
    data = tmp_path / "home" / ".claude" / "plugins" / "data" / "paceline-market" / "venv"
    venv = data / "0123456789abcdef"
    python = places.python_of(venv)
    python.parent.mkdir(parents=True)
    (data / "install.log").touch()
    row = server_row(env, root)
    assert (row.level, "install.log" in row.found) == (Level.BAD, True)
    assert row.next.endswith("--install")
    python.touch()
    (venv / places.READY).touch()
    assert server_row(env, root) == Row("server's packages", Level.FINE, f"ready, {venv}")
    assert server_row(env, tmp_path).level is Level.FINE


def test_layers_are_alive_when_the_newest_session_shows_them(env: dict[str, str]) -> None:
    now = time.time()
    assert session_rows(env)[0].level is Level.NOTE
    old = write_log(env, "old", {"t": 1, "e": "session.start", "agent": None})
    os.utime(old / "events.jsonl", (now - 9000, now - 9000))
    folder = write_log(
        env,
        "new",
        {"t": now, "e": "tool.before", "agent": "a1"},
        {"t": now, "e": "request.grant", "agent": "a1", "by": "gate"},
    )
    rows = {row.name: row for row in session_rows(env)}
    assert "new" in rows["last session"].found
    assert rows["hooks"].level is Level.FINE
    assert rows["gate, server"].level is Level.FINE
    assert "1 by the gate" in rows["gate, server"].found
    assert "alive now" not in rows["gate, server"].found
    (folder / "gate").touch()
    rows = {row.name: row for row in session_rows(env)}
    assert "alive now" in rows["gate, server"].found


def test_layers_that_left_no_trace_are_told_with_what_to_look_at(env: dict[str, str]) -> None:
    write_log(env, "s", {"t": 1, "e": "request.grant", "agent": "a1", "by": "hook"})
    rows = {row.name: row for row in session_rows(env)}
    assert (rows["hooks"].level, rows["hooks"].next != "") == (Level.BAD, True)
    assert (rows["gate, server"].level, "1 by the hook" in rows["gate, server"].found) == (
        Level.NOTE,
        True,
    )


def test_faults_of_the_last_day_are_told_and_older_ones_are_not(env: dict[str, str]) -> None:
    """[P7] what failed open is told, once, with its place."""
    now = time.time()
    fault = {"e": "fault", "agent": None, "where": "hook.Stop", "what": "disk full"}
    write_log(env, "s", fault | {"t": now - 90_000})
    assert session_rows(env)[-1].level is Level.FINE
    write_log(env, "s", fault | {"t": now}, fault | {"t": now})
    row = session_rows(env)[-1]
    assert row.level is Level.NOTE
    assert row.found.startswith("1 thing failed open")
    assert "hook.Stop: disk full" in row.found


def test_a_damaged_log_is_read_as_far_as_it_goes(env: dict[str, str], tmp_path: Path) -> None:
    write_log(env, "s", {"t": 1, "e": "stop", "agent": None})
    log = tmp_path / "state" / "sessions" / "s" / "events.jsonl"
    log.write_bytes(b"\xff\xfe{\n[1]\n" + log.read_bytes() + b'{"e":"sto')
    rows = {row.name: row for row in session_rows(env)}
    assert rows["hooks"].found.startswith("alive: 1 event")


def test_the_believed_limit_is_told_with_its_source(env: dict[str, str]) -> None:
    assert limit_rows(env)[0].level is Level.NOTE
    state = env["PACELINE_STATE_DIR"]
    store = FileStore(paths.ledger_dir(state), account.account_id(env, state))
    store.transact(lambda ledger, now: tell(ledger, "all", "input", 60_000, now, source="text"))
    (row,) = limit_rows(env)
    assert "60,000 a minute, told in the text of a refusal" in row.found
    assert limit_rows(env | {"PACELINE_LEDGER": "redis://h/0"}) == [row]


def test_a_batch_file_named_python3_starts_no_hook() -> None:
    """pyenv for Windows puts ``python3.bat`` on PATH; the client starts programs, not shells."""
    assert interpreter.is_batch_file(r"C:\\pyenv\\shims\\python3.BAT", "win32")
    assert not interpreter.is_batch_file(r"C:\\Python312\\python3.exe", "win32")
    assert not interpreter.is_batch_file("/opt/odd/python3.bat", "linux")


def test_a_ledger_is_read_as_a_request_would_read_it(env: dict[str, str], tmp_path: Path) -> None:
    assert ledger_row(env).level is Level.FINE
    state = env["PACELINE_STATE_DIR"]
    store = FileStore(paths.ledger_dir(state), account.account_id(env, state))
    store.transact(lambda ledger, now: tell(ledger, "all", "input", 60_000, now, source="text"))
    assert ledger_row(env) == Row("ledger", Level.FINE, f"{store.path} can be read")
    file = tmp_path / "state" / "ledger" / f"{store.account}.json"
    for text, level, said in (
        ('{"v":99}', Level.BAD, "newer Paceline"),
        ("torn", Level.NOTE, "sets it aside"),
    ):
        file.write_text(text, encoding="utf-8")
        row = ledger_row(env)
        assert (row.level, said in row.found) == (level, True)
        assert file.read_text(encoding="utf-8") == text
    file.unlink()
    file.mkdir()
    row = ledger_row(env)
    assert (row.level, "cannot be read" in row.found) == (Level.BAD, True)
    assert "PACELINE_STATE_DIR" in row.next


def test_settings_that_cannot_be_used_are_named_wherever_they_stand(
    env: dict[str, str], tmp_path: Path
) -> None:
    nothing = tmp_path / "managed"
    assert [row.level for row in settings_rows(env, nothing)] == [Level.FINE]
    assert settings_rows(env | {"PACELINE_MODE": "loud"}, nothing)[0].level is Level.BAD
    assert settings_rows(env | {"PACELINE_MODE": "observe"}, nothing)[0].level is Level.NOTE
    own = tmp_path / "home" / ".claude" / "settings.json"
    told = {"pluginConfigs": {"paceline@paceline": {"options": {"headroom": 7}}, "x@y": 3}}
    own.write_text(json.dumps(told), encoding="utf-8")
    row = settings_rows(env, nothing)[0]
    assert (row.level, "HEADROOM" in row.found) == (Level.BAD, True)


def test_settings_that_silence_a_layer_are_found(env: dict[str, str], tmp_path: Path) -> None:
    managed = tmp_path / "managed"
    (managed / "managed-settings.d").mkdir(parents=True)
    (managed / "managed-settings.json").write_text('{"allowManagedModsOnly":true}', "utf-8")
    (managed / "managed-settings.d" / "10.json").write_text('{"disableAllHooks":true}', "utf-8")
    own = tmp_path / "home" / ".claude" / "settings.json"
    own.write_text('{"disableAllHooks":false}', encoding="utf-8")
    rows = settings_rows(env, managed)[1:]
    assert [(row.level, row.found.split()[0]) for row in rows] == [
        (Level.NOTE, "allowManagedModsOnly"),
        (Level.BAD, "disableAllHooks"),
    ]
    own.write_text("{ not json", encoding="utf-8")
    assert len(settings_rows(env, managed)) == 3


def test_the_doctor_is_degraded_exactly_when_a_row_is_bad(
    env: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    for mode, wanted in (("pace", 0), ("loud", 3)):
        monkeypatch.setenv("PACELINE_MODE", mode)
        bad = [row for row in examine() if row.level is Level.BAD]
        code = run(["doctor", "--json"])
        rows = json.loads(capsys.readouterr().out)
        assert [row["name"] for row in rows if row["level"] == "bad"] == [r.name for r in bad]
        assert code == (3 if bad else 0)
        assert code == wanted or sys.platform == "win32"
        assert all(set(row) == {"name", "level", "found", "next"} for row in rows)
        assert all(row["next"] for row in rows if row["level"] == "bad")
    assert run(["doctor"]) == 3
    assert "next: " in capsys.readouterr().out
