"""Where the corpus comes from: published packages at fixed versions, unpacked into a cache folder.

Nothing of it is committed; the versions below make it the same everywhere. A package that cannot
be had is passed over and named, so the fit says what it was made from.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

WHEELS = (
    "ansible-core==2.21.5",
    "bokeh==3.10.2",
    "homeassistant==2025.1.4",
    "jupyterlab==4.6.6",
    "mimesis==22.2.0",
    "mkdocs-material==9.8.2",
    "sphinx==9.1.1",
    "statsmodels==0.15.0",
    "vega-datasets==0.9.0",
    "wagtail==8.0.1",
)
SDISTS = (
    "bokeh==3.10.2",
    "django==6.1.3",
    "fastapi==0.165.0",
    "jpype1==1.7.1",
    "pygments==2.21.0",
    "pythonnet==3.2.1",
    "sqlfluff==4.5.0",
)
NPM = (
    "bootstrap@5.3.9",
    "d3@7.9.2",
    "date-fns@4.4.0",
    "element-plus@2.14.8",
    "@fortawesome/fontawesome-free@7.3.1",
    "lodash@4.18.1",
    "react-dom@19.3.1",
    "react-native@0.86.3",
    "rxjs@7.8.2",
    "three@0.187.0",
    "typescript@7.0.2",
    "vue@3.5.45",
    "zod@4.6.7",
)
# Debian's packages of sources: only where apt is; unpinned, as a Debian release pins them.
DEBIAN = (
    "golang-github-gorilla-mux-dev",
    "golang-github-spf13-cobra-dev",
    "golang-golang-x-net-dev",
    "libhtml-parser-perl",
    "librust-regex-dev",
    "librust-serde-dev",
    "librust-tokio-dev",
    "php-guzzlehttp-psr7",
    "php-symfony-console",
    "ruby-rack",
)


def fetch(cache: Path) -> tuple[Path, list[str]]:
    """Return the folder of unpacked sources and the packages that could not be had."""
    root = cache / "sources"
    missing: list[str] = []
    for spec in WHEELS:
        _one(root, "wheel", spec, _pip("--only-binary=:all:"), missing)
    for spec in SDISTS:
        _one(root, "sdist", spec, _pip("--no-binary=:all:"), missing)
    for spec in NPM:
        _one(root, "npm", spec, ["npm", "pack", "--silent"], missing)
    for spec in DEBIAN:
        _one(root, "debian", spec, ["apt-get", "download", "-qq"], missing)
    return root, missing


def _pip(form: str) -> list[str]:
    return [sys.executable, "-m", "pip", "download", "-q", "--no-deps", form, "-d", "."]


def _one(root: Path, group: str, spec: str, command: list[str], missing: list[str]) -> None:
    name = spec.lstrip("@").replace("/", "-").split("@")[0].split("==")[0]
    goal = root / f"{group}-{name}"
    if goal.is_dir():
        return
    work = root / f".{group}-{name}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    program = shutil.which(command[0])
    try:
        if program is None:
            raise FileNotFoundError(command[0])
        subprocess.run(
            [program, *command[1:], spec],
            cwd=work,
            check=True,
            timeout=600,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        archive = next(path for path in sorted(work.iterdir()) if path.is_file())
        _unpack(archive, work / "tree")
        (work / "tree").replace(goal)
    except (OSError, subprocess.SubprocessError, StopIteration, tarfile.TarError) as err:
        missing.append(f"{spec} ({type(err).__name__})")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _unpack(archive: Path, goal: Path) -> None:
    goal.mkdir()
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as file:
            file.extractall(goal)
    elif archive.suffix == ".deb":
        subprocess.run(["dpkg-deb", "-x", str(archive), str(goal)], check=True, timeout=120)
    else:
        with tarfile.open(archive) as file:
            file.extractall(goal, filter="data")
