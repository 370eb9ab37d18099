"""The launcher as the client starts it: a process, a pipe, a folder for its packages.

Packages come from the cache that ``make setup`` filled; nothing here reaches the network.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import platformdirs
import pytest
from uv import find_uv_bin

from paceline_mcp.launcher import install, places, start

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 90
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    },
}


@pytest.fixture(scope="module")
def uv_cache() -> str:
    told = subprocess.run([find_uv_bin(), "cache", "dir"], capture_output=True, check=True)
    folder = told.stdout.decode("utf-8").strip()
    if not Path(folder).is_dir():
        pytest.skip("uv has no cache on this machine; make setup fills it")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A plugin as a marketplace copies it: no .venv beside it, odd letters in its path."""
    place = tmp_path / "plu gïn"
    for room in ("mcp_server", "plugin"):
        shutil.copytree(ROOT / room, place / room, ignore=shutil.ignore_patterns("__pycache__"))
    for page in ("pyproject.toml", "uv.lock", "README.md", "LICENSE"):
        shutil.copy(ROOT / page, place / page)
    return place


@pytest.fixture
def env(tmp_path: Path, uv_cache: str) -> dict[str, str]:
    home = tmp_path / "hôme"
    home.mkdir()
    kept = {name: os.environ[name] for name in ("SYSTEMROOT", "PATHEXT") if name in os.environ}
    return kept | {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "LOCALAPPDATA": str(home / "local"),
        "PATH": str(Path(find_uv_bin()).parent),
        "PACELINE_STATE_DIR": str(tmp_path / "state"),
        "CLAUDE_PLUGIN_DATA": str(tmp_path / "da ta"),
        "UV_CACHE_DIR": uv_cache,
        "UV_OFFLINE": "1",
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_CONFIG_FILE": os.devnull,
    }


def command(root: Path, *args: str) -> list[str]:
    return [sys.executable, "-I", "-X", "utf8", str(root / "mcp_server" / "launch.py"), *args]


def launch(root: Path, env: dict[str, str], cwd: Path | None = None) -> tuple[list[Any], Any]:
    """Start it, say hello, close its stdin; return what came on stdout as JSON, and the process."""
    done = subprocess.run(
        command(root),
        input=json.dumps(HELLO) + "\n",
        capture_output=True,
        encoding="utf-8",
        env=env,
        cwd=cwd or root,
        timeout=SECONDS,
        check=False,
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done


def greeted(said: list[Any]) -> bool:
    return bool(said) and said[0]["result"]["serverInfo"]["name"] == "paceline"


def test_the_first_start_installs_and_later_ones_only_start(
    root: Path, env: dict[str, str]
) -> None:
    said, first = launch(root, env)
    assert greeted(said), first.stderr
    folder = Path(env["CLAUDE_PLUGIN_DATA"]) / "venv"
    (venv,) = [place for place in folder.iterdir() if place.is_dir()]
    assert venv.name == places.key(root)
    installed_at = (folder / start.LOG).stat().st_mtime_ns

    said, second = launch(root, env | {"PATH": ""})

    assert greeted(said), second.stderr
    assert (folder / start.LOG).stat().st_mtime_ns == installed_at


@pytest.mark.parametrize("data", ["unset", "empty", "unfilled", "a file in its way"])
def test_without_a_data_folder_the_users_cache_holds_the_packages(
    env: dict[str, str], tmp_path: Path, data: str
) -> None:
    del env["CLAUDE_PLUGIN_DATA"]
    if data == "empty":
        env["CLAUDE_PLUGIN_DATA"] = ""
    elif data == "unfilled":
        env["CLAUDE_PLUGIN_DATA"] = "${CLAUDE_PLUGIN_DATA}"
    elif data == "a file in its way":
        (tmp_path / "file").touch()
        env["CLAUDE_PLUGIN_DATA"] = str(tmp_path / "file" / "data")
    elsewhere = tmp_path / "cache"
    env["XDG_CACHE_HOME"] = str(elsewhere)

    folder = places.writable(env)

    assert folder == places.cache_dir(env) / "venv"


def install_there(root: Path, env: dict[str, str], folder: Path) -> Path:
    args = command(root, "--install", str(folder))
    done = subprocess.run(args, env=env, capture_output=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == b""
    first, *_, last = done.stderr.decode("utf-8").splitlines()
    assert first.startswith("paceline: installing"), "ten seconds without a word look like a hang"
    assert last.startswith("paceline: ready: ")
    return folder / places.key(root)


def test_two_sessions_that_start_at_once_share_one_installation(
    root: Path, env: dict[str, str]
) -> None:
    found: list[tuple[list[Any], Any]] = []
    threads = [threading.Thread(target=lambda: found.append(launch(root, env))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert [greeted(said) for said, _ in found] == [True, True], [done.stderr for _, done in found]


def test_a_half_made_environment_is_made_anew(root: Path, env: dict[str, str]) -> None:
    folder = Path(env["CLAUDE_PLUGIN_DATA"]) / "venv"
    half = folder / places.key(root)
    junk = half / "lib" / "junk"
    junk.parent.mkdir(parents=True)
    junk.touch()
    install_there(root, env, folder)
    assert places.is_ready(half)
    assert places.ready(root, env) == half
    assert not junk.exists()


def test_an_installation_outlives_the_client_that_gave_up_waiting(
    root: Path, env: dict[str, str], tmp_path: Path
) -> None:
    """A client waits 30 s; on a slow line the next session must not start over."""
    if sys.platform == "win32":
        pytest.skip("named pipes and signals of POSIX")
    import fcntl

    tools, arrived, go = tmp_path / "tools", tmp_path / "arrived", tmp_path / "go"
    tools.mkdir()
    os.mkfifo(arrived)
    os.mkfifo(go)
    slow = tools / "uv"
    slow.write_text(
        f'#!/bin/sh\n[ "$1" = sync ] && {{ echo > "{arrived}"; read _ < "{go}"; }}\n'
        f'exec "{find_uv_bin()}" "$@"\n',
        encoding="utf-8",
    )
    slow.chmod(0o700)
    with subprocess.Popen(
        command(root),
        env=env | {"PATH": f"{tools}:/bin:/usr/bin"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as launcher:
        arrived.read_bytes()  # the installation has begun
        os.killpg(launcher.pid, signal.SIGTERM)
        launcher.wait(SECONDS)
    go.write_bytes(b"\n")
    folder = Path(env["CLAUDE_PLUGIN_DATA"]) / "venv"
    with (folder / ".lock").open("a+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # held until the installation has ended
    assert places.is_ready(folder / places.key(root))


def test_without_network_and_packages_it_says_what_to_do(
    root: Path, env: dict[str, str], tmp_path: Path
) -> None:
    env |= {"UV_CACHE_DIR": str(tmp_path / "no cache"), "PIP_NO_CACHE_DIR": "1"}
    said, done = launch(root, env)
    assert said == []
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("paceline: next: ")
    assert last.endswith("--install")
    assert "Traceback" not in done.stderr
    assert places.ready(root, env) is None


def test_nowhere_to_install_is_told_with_the_folders_tried(
    root: Path, env: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    blocked = str(tmp_path / "file" / "x")
    homes = ("HOME", "USERPROFILE", "LOCALAPPDATA", "CLAUDE_PLUGIN_DATA", "XDG_CACHE_HOME")
    said, done = launch(root, env | dict.fromkeys(homes, blocked))
    assert (said, done.returncode) == ([], 1)
    assert str(Path(blocked) / "venv") in done.stderr
    assert "next:" in done.stderr.splitlines()[-1]


def test_the_project_a_person_works_in_cannot_stand_in_for_our_modules(
    env: dict[str, str], tmp_path: Path
) -> None:
    for name in ("mcp", "paceline", "paceline_mcp", "json", "pydantic"):
        (tmp_path / "project" / name).mkdir(parents=True)
        (tmp_path / "project" / name / "__init__.py").write_text("raise SystemExit(9)\n", "utf-8")
    made = fake_checkout(tmp_path)
    said, done = launch(made, env | {"PYTHONPATH": "."}, cwd=tmp_path / "project")
    assert greeted(said), done.stderr


def fake_checkout(tmp_path: Path) -> Path:
    """A checkout that was set up, on this very interpreter's packages."""
    place = tmp_path / "checkout"
    for room in ("mcp_server", "plugin"):
        shutil.copytree(ROOT / room, place / room, ignore=shutil.ignore_patterns("__pycache__"))
    python = places.python_of(place / ".venv")
    python.parent.mkdir(parents=True)
    if os.name == "nt":
        pytest.skip("a link to an interpreter is not enough on Windows")
    python.symlink_to(sys.executable)
    shutil.copy(Path(sys.prefix) / "pyvenv.cfg", place / ".venv" / "pyvenv.cfg")
    for name in ("lib", "lib64"):
        if (Path(sys.prefix) / name).exists():
            (place / ".venv" / name).symlink_to(Path(sys.prefix) / name)
    stamp = place / ".venv" / places.CHECKOUT_READY
    stamp.write_text(places.checkout_key(place) + "\n", encoding="utf-8")
    return place


def test_a_checkout_that_was_set_up_starts_on_its_own_packages(tmp_path: Path) -> None:
    place = fake_checkout(tmp_path)
    assert places.checkout_venv(place) == place / ".venv"
    (place / "mcp_server" / "requirements.lock").write_text("other==1\n", encoding="utf-8")
    assert places.checkout_venv(place) is None


def test_what_nobody_started_for_two_weeks_goes_when_something_new_is_made(tmp_path: Path) -> None:
    made: dict[str, Path] = {}
    for name, age in (("old", 15 * 86400), ("recent", 13 * 86400), ("new", 0)):
        made[name] = tmp_path / name
        made[name].mkdir()
        (made[name] / places.READY).touch()
        at = time.time() - age
        os.utime(made[name] / places.READY, (at, at))
    install.remove_unused(tmp_path, keep=made["new"])
    assert sorted(place.name for place in tmp_path.iterdir()) == ["new", "recent"]


def test_the_cache_folder_is_the_one_platformdirs_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for told in ("/tmp/some where", "", " "):
        monkeypatch.setenv("XDG_CACHE_HOME", told)
        wanted = platformdirs.user_cache_path("paceline", appauthor=False)
        assert places.cache_dir(os.environ) == wanted


@pytest.mark.parametrize("script", ["mcp_server/launch.py", ".ci/setup.py"])
def test_an_interpreter_too_old_can_at_least_read_the_script_that_tells_it_so(script: str) -> None:
    source = (ROOT / script).read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 7))
    newer = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.AsyncFunctionDef)
    assert not [node for node in ast.walk(tree) if isinstance(node, newer)]


def test_a_failed_step_is_told_by_its_name_not_by_its_arguments() -> None:
    failed = subprocess.CalledProcessError(
        3, ["/x/python", "-m", "pip", "install", "-r", "/secret"]
    )
    assert install.reason(failed) == "pip install ended with 3"
    assert install.reason(OSError("disk full")) == "disk full"


def test_a_persons_mirror_is_kept_and_a_foreign_target_is_not() -> None:
    told = {"PIP_INDEX_URL": "https://mirror", "PIP_TARGET": "/x", "VIRTUAL_ENV": "/y"}
    kept = install.clean_env(told | {"UV_SYSTEM_CERTS": "0"})
    assert kept["PIP_INDEX_URL"] == "https://mirror"
    assert kept["UV_SYSTEM_CERTS"] == "0"
    assert "PIP_TARGET" not in kept
    assert "VIRTUAL_ENV" not in kept
