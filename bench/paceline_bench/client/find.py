"""Where the real client is, and how it gets there.

It is on npm, a native binary of its own for each platform, proprietary: it is installed for
tests and the demo into a folder outside the checkout and never copied into it.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import platformdirs

from paceline_mcp.launcher.install import certificates

VERSIONS = ("2.1.332", "2.1.240")
"""The versions the tests drive: one with the gate's module, one with hooks alone."""

INSTALL_SECONDS = 300
_VERSION = re.compile(r"\d+\.\d+\.\d+")


class ClientMissing(Exception):  # noqa: N818 - a state of this machine, named as people say it
    """The client is not to be had here; the text says why and what to type."""


def cache_dir() -> Path:
    """Return the folder of the clients: ``PACELINE_CLIENT_DIR``, else the user's cache."""
    told = os.environ.get("PACELINE_CLIENT_DIR")
    if told:
        return Path(told)
    return Path(platformdirs.user_cache_dir("paceline", appauthor=False)) / "clients"


def package() -> str:
    """Return the npm package of this platform. :class:`ClientMissing` where there is none."""
    systems = {"linux": "linux", "darwin": "darwin", "win32": "win32"}
    machines = {"x86_64": "x64", "amd64": "x64", "arm64": "arm64", "aarch64": "arm64"}
    system = systems.get(sys.platform)
    machine = machines.get(platform.machine().lower())
    if not system or not machine:
        raise ClientMissing(f"no client is published for {sys.platform} {platform.machine()}")
    musl = "-musl" if system == "linux" and platform.libc_ver()[0] != "glibc" else ""
    return f"claude-code-{system}-{machine}{musl}"


def binary(version: str) -> Path:
    """Return where the client's binary stands once it is installed."""
    name = "claude.exe" if sys.platform == "win32" else "claude"
    return cache_dir() / version / "node_modules" / "@anthropic-ai" / package() / name


def find_client(version: str, *, install: bool = True) -> Path:
    """Return the client's binary, installed with npm when it is not there yet.

    Raises:
        ClientMissing: npm is missing or failed, or no client is published for this platform.
    """
    if not _VERSION.fullmatch(version):
        raise ClientMissing(f"{version!r} is no version; try {VERSIONS[0]}")
    found = binary(version)
    if not found.is_file():
        if not install:
            raise ClientMissing(f"the client {version} is not in {cache_dir()}")
        _install(version)
    if not found.is_file():
        raise ClientMissing(f"npm installed {package()} {version}, but {found} is not there")
    return found


def _install(version: str) -> None:
    npm = shutil.which("npm")
    if not npm:
        raise ClientMissing(
            f"the client {version} is not in {cache_dir()} and npm is not on PATH; install Node.js"
        )
    target = cache_dir() / version
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{version}-") as made:
            _npm_install(npm, version, made)
            _put(Path(made), target)
    except OSError as err:
        raise ClientMissing(f"the client cannot be kept in {target.parent}: {err}") from err


def _npm_install(npm: str, version: str, folder: str) -> None:
    name = f"@anthropic-ai/{package()}@{version}"
    command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder]
    command += ["--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]
    # npm brings certificates of its own, which do not know a company's inspecting proxy.
    store = certificates()
    trusted = {"NODE_EXTRA_CA_CERTS": store} if store else {}
    try:
        done = subprocess.run(
            [*command, name],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=INSTALL_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env=trusted | os.environ,
        )
    except subprocess.TimeoutExpired as err:
        raise ClientMissing(f"npm install {name} took over {INSTALL_SECONDS} s") from err
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "log of this run" not in line]
        last = next((line for line in reversed(said) if line.strip()), "no message")[:200]
        raise ClientMissing(f"npm install {name} failed: {last}")


def _put(made: Path, target: Path) -> None:
    """Move a finished install into place; another process may have been first."""
    stage = made.with_name(made.name + "-done")
    shutil.move(str(made), stage)
    made.mkdir()
    try:
        stage.rename(target)
    except OSError:
        shutil.rmtree(stage, ignore_errors=True)
        if not target.is_dir():
            raise
