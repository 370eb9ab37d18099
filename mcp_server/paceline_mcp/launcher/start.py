"""Finds or makes the environment, then becomes the server.

Nothing but the server's protocol ever reaches stdout. The installation runs in a process of its
own that outlives a client which gives up waiting (30 s), so on a slow line the next session finds
it done instead of starting over.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from paceline import arriving, paths
from paceline_mcp.launcher import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LOG = "install.log"
TAIL_LINES = 6


def main(root: str, argv: Sequence[str]) -> int:
    """Run the launcher: ``--install`` only installs and shows how; the rest goes to the server."""
    here = Path(root)
    try:
        if list(argv[:1]) == ["--install"]:
            return install_only(here, argv[1:])
        venv = places.ready(here, os.environ) or told_while(installed, here)
    except OSError as err:
        say(f"the server cannot be started: {err}")
        say("next: paceline doctor, or reinstall the plugin with /plugin")
        return 1
    return 1 if venv is None else become_server(here, venv, argv)


def install_only(root: Path, told: Sequence[str]) -> int:
    """Install into ``told[0]`` or the first folder that can be written; output on stderr."""
    from paceline_mcp.launcher.install import install, reason

    folder = Path(told[0]) if told else places.writable(os.environ)
    if folder is None:
        return nowhere()
    sys.stdout = sys.stderr
    os.dup2(2, 1)
    try:
        if not places.is_ready(folder / places.key(root)):
            say(f"installing the server's packages into {folder}; this takes ten seconds or more")
        venv = install(root, folder)
    except (OSError, subprocess.CalledProcessError) as err:
        say(f"not installed: {reason(err)}")
        return 1
    say(f"ready: {venv}")
    return 0


def told_while(install: Callable[[Path], Path | None], root: Path) -> Path | None:
    """Run ``install`` and let the hooks know of it: a first session's first agents wait for it."""
    state = paths.state_dir()
    with suppress(OSError):
        arriving.begin(state)
    try:
        return install(root)
    finally:
        arriving.end(state)


def installed(root: Path) -> Path | None:
    """Return an environment made just now, or None after saying what went wrong."""
    folder = places.writable(os.environ)
    if folder is None:
        nowhere()
        return None
    script = str(root / "mcp_server" / "launch.py")
    log = folder / LOG
    with log.open("wb") as out:
        child = subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", script, "--install", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=folder,
            start_new_session=True,  # the client's signal ends the wait, not the installation
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    code = child.wait()
    venv = places.ready(root, os.environ)
    if code == 0 and venv is not None:
        return venv
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL_LINES:]:
        say(line.removeprefix("paceline: "))
    say("the server's packages could not be installed (is there a network?); no agent is held")
    say(f'next: "{sys.executable}" "{script}" --install')
    return None


def become_server(root: Path, venv: Path, argv: Sequence[str]) -> int:
    """Replace this process by the server; on Windows, where that cannot be, wait for it."""
    python = str(places.python_of(venv))
    # -P: ``-m`` would put the project a person works in first on sys.path.
    args = [python, "-P", "-X", "utf8", "-m", "paceline_mcp.server", *argv]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONHOME"}
    env["PYTHONPATH"] = os.pathsep.join(str(root / room) for room in ("plugin", "mcp_server"))
    with suppress(OSError):  # a checkout's .venv, or a read-only folder: only its age is not kept
        os.utime(venv / places.READY)
    if sys.platform == "win32":
        return subprocess.run(args, env=env, check=False).returncode
    return os.execve(python, args, env)


def nowhere() -> int:
    """Say that no folder can hold the environment."""
    tried = ", ".join(str(folder) for folder in places.folders(os.environ))
    say(f"no folder for the server's packages can be written (tried {tried})")
    say("next: free the first of them, or set CLAUDE_PLUGIN_DATA to a folder you own")
    return 1


def say(text: str) -> None:
    """Tell a person, on stderr; the client keeps it in its log of the server."""
    print(f"paceline: {text}", file=sys.stderr)  # noqa: T201 - the launcher's only voice
