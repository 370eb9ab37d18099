"""Makes the server's environment: with uv where it is on PATH, else with venv and pip.

Both install the same pinned and hashed packages. One process at a time; the others find it ready.
"""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from paceline_mcp.launcher import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

UNUSED_AFTER_S = 14 * 24 * 3600
"""An environment nobody started for this long is removed when a new one is made."""

CERTIFICATES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
)
IMPORTS = "import mcp.server, pydantic, filelock, platformdirs, typer, rich"
STEPS = frozenset({"pip", "venv", "ensurepip", "install", "sync", "-c"})
"""The words of a failed command that tell a person which step it was."""
# Settings of a person's pip that would put packages anywhere but into the environment.
FOREIGN = ("PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_ROOT", "PYTHONPATH", "PYTHONHOME")


def install(root: Path, folder: Path) -> Path:
    """Return a ready environment in ``folder``. ``OSError`` or ``CalledProcessError`` when not."""
    venv = folder / places.key(root)
    folder.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(folder / ".lock"):
        if not places.is_ready(venv):
            shutil.rmtree(venv, ignore_errors=True)
            fill(venv, root)
            (venv / places.READY).touch()
            remove_unused(folder, keep=venv)
    return venv


def fill(venv: Path, root: Path) -> None:
    """Make ``venv`` and install what is pinned, then import what the server will import."""
    env = clean_env(os.environ)
    uv = shutil.which("uv")
    if uv is None or not with_uv(uv, venv, root, env):
        with_pip(venv, places.requirements(root), env)
    # Proves it whole, and leaves the compiled modules that make the first start a fast one.
    python = str(places.python_of(venv))
    subprocess.run([python, "-I", "-c", IMPORTS], check=True, env=env, cwd=venv)


def with_uv(uv: str, venv: Path, root: Path, env: dict[str, str]) -> bool:
    """Whether uv could do it.

    First as uv.lock says, which needs no index and, with a warm cache, no network. Where that is
    out of reach its own settings may name a mirror; those of the current folder never count.
    """
    python = str(places.python_of(venv))
    sync = [uv, "sync", "--quiet", "--frozen", "--no-dev", "--no-install-project"]
    sync += ["--project", str(root), "--python", sys.executable]
    make = [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(venv)]
    fetch = [uv, "pip", "install", "--quiet", "--python", python, "--require-hashes", "--no-deps"]
    fetch += ["-r", str(places.requirements(root))]
    told = env | {"UV_PROJECT_ENVIRONMENT": str(venv)}

    def done(step: list[str]) -> bool:
        return subprocess.run(step, check=False, env=told, cwd=venv.parent).returncode == 0

    return done(sync) or (done(make) and done(fetch))


def with_pip(venv: Path, requirements: Path, env: dict[str, str]) -> None:
    """Install with pip, without compiling the thousands of modules the server never imports."""
    fetch = ["install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-compile"]
    pinned = ["--require-hashes", "--no-deps", "--prefer-binary", "--retries", "2"]
    pip = make_venv(venv, env, clear=True)
    subprocess.run([*pip, *fetch, *pinned, "-r", str(requirements)], check=True, env=env, cwd=venv)


def make_venv(venv: Path, env: dict[str, str], *, clear: bool = False) -> list[str]:
    """Make an empty environment and return the pip command that fills it.

    The pip outside is preferred: it saves the seconds of installing one inside, and Debian ships
    Python without the part that could.
    """
    outside = [sys.executable, "-I", "-m", "pip", "--python", str(places.python_of(venv))]
    bare = [sys.executable, "-I", "-m", "venv", "--without-pip", str(venv)]
    bare += ["--clear"] if clear else []
    subprocess.run(bare, check=True, env=env, cwd=venv.parent)
    quiet = subprocess.DEVNULL
    works = subprocess.run(
        [*outside, "--version"], check=False, env=env, stdout=quiet, stderr=quiet
    )
    if works.returncode == 0:
        return outside
    inside = [str(places.python_of(venv)), "-I", "-m"]
    subprocess.run([*inside, "ensurepip", "--default-pip"], check=True, env=env, stdout=quiet)
    return [*inside, "pip"]


def reason(err: OSError | subprocess.CalledProcessError) -> str:
    """Return an error as a short line: a step's name and its exit code, not its arguments."""
    if isinstance(err, subprocess.CalledProcessError):
        steps = [word for word in map(str, err.cmd) if word in STEPS]
        return f"{' '.join(steps) or Path(err.cmd[0]).name} ended with {err.returncode}"
    return str(err)


def clean_env(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of pip and uv: a person's mirrors stay, foreign targets do not."""
    kept = {name: value for name, value in env.items() if name not in FOREIGN}
    kept.pop("VIRTUAL_ENV", None)
    kept.setdefault("UV_PYTHON_DOWNLOADS", "never")
    if sys.platform in {"win32", "darwin"} or certificates():
        # uv brings certificates of its own, which do not know a company's inspecting proxy.
        kept.setdefault("UV_SYSTEM_CERTS", "1")
    return kept


def certificates() -> str | None:
    """Return the file of certificates this machine trusts, where it has one."""
    found = ssl.get_default_verify_paths().cafile
    known = (found, *CERTIFICATES) if found else CERTIFICATES
    return next((name for name in known if Path(name).is_file()), None)


def remove_unused(folder: Path, keep: Path) -> None:
    """Remove environments of earlier versions that nobody started for two weeks."""
    for other in folder.iterdir():
        stamp = other / places.READY
        if other == keep or not stamp.is_file():
            continue
        if time.time() - stamp.stat().st_mtime > UNUSED_AFTER_S:
            stamp.unlink()  # first: where a file is in use (Windows) not all of it can be removed
            shutil.rmtree(other, ignore_errors=True)


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Hold a file lock that the system frees when its holder dies.

    Not filelock, the project's lock elsewhere: it is among what is about to be installed.
    """
    with path.open("a+b") as file:
        if sys.platform == "win32":
            import msvcrt

            while True:
                try:
                    file.seek(0)
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                    break
                except OSError:  # not had within ten seconds: the other one still installs
                    continue
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield
