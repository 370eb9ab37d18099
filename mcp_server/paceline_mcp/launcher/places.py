"""Where the server's environment may stand, and whether one is ready.

An environment is keyed by what it was made of, so a plugin update makes a new one beside the old
and a session that still runs on the old one is not disturbed. A stamp written last makes it ready.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

READY = ".paceline-ready"
CHECKOUT_READY = ".paceline-setup"


def python_of(venv: Path) -> Path:
    """Return the interpreter of an environment, whether it exists or not."""
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def requirements(root: Path) -> Path:
    """Return the file of pinned and hashed packages."""
    return root / "mcp_server" / "requirements.lock"


def key(root: Path) -> str:
    """Return 16 hex digits for these packages on this interpreter. ``OSError`` without the list."""
    made_of = requirements(root).read_bytes() + f"{sys.version}{sys.platform}".encode()
    return hashlib.sha256(made_of).hexdigest()[:16]


def checkout_key(root: Path) -> str:
    """Return the first line of the stamp ``make setup`` leaves: the server's packages are there.

    The place counts too: the scripts of an environment that was moved no longer start.
    """
    made_of = requirements(root).read_bytes() + os.fsencode(root)
    return hashlib.sha256(made_of).hexdigest()


def checkout_venv(root: Path) -> Path | None:
    """Return the ``.venv`` of a checkout that was set up with the server's packages of today."""
    venv = root / ".venv"
    try:
        stamped = (venv / CHECKOUT_READY).read_text(encoding="utf-8").split("\n", 1)[0]
        fits = stamped == checkout_key(root)
    except (OSError, ValueError):
        return None
    return venv if fits and python_of(venv).exists() else None


def folders(env: Mapping[str, str]) -> list[Path]:
    """Return the folders that may hold environments, the plugin's own data folder first."""
    data = env.get("CLAUDE_PLUGIN_DATA", "")
    own = [Path(data, "venv")] if data and "${" not in data else []
    return [*own, cache_dir(env) / "venv"]


def cache_dir(env: Mapping[str, str]) -> Path:
    """Return what ``platformdirs.user_cache_path("paceline", appauthor=False)`` gives.

    Spelled out because platformdirs is among what is yet to be installed; a test holds them equal.
    """
    home = Path("~").expanduser()
    if sys.platform == "win32":
        base = env.get("LOCALAPPDATA") or str(home / "AppData" / "Local")
        return Path(base, "paceline", "Cache")
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "paceline"
    return Path(env.get("XDG_CACHE_HOME", "").strip() or home / ".cache", "paceline")


def is_ready(venv: Path) -> bool:
    """Whether everything was installed there, and its interpreter still exists."""
    return (venv / READY).is_file() and python_of(venv).exists()


def ready(root: Path, env: Mapping[str, str]) -> Path | None:
    """Return the environment to start in, or None when one has to be made first."""
    checkout = checkout_venv(root)
    if checkout is not None:
        return checkout
    name = key(root)
    return next((f / name for f in folders(env) if is_ready(f / name)), None)


def writable(env: Mapping[str, str]) -> Path | None:
    """Return the first folder an environment can be made in."""
    for folder in folders(env):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            probe = folder / f".probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError:
            continue
        return folder
    return None
