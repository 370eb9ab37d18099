"""Which session a command worked in, where neither its words nor its output say so."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from paceline import paths
from paceline.transcripts import find

if TYPE_CHECKING:
    from collections.abc import Mapping

SLUG_MAX = 200
"""Characters of a project's folder name, after which the client puts a hash."""
SLACK_S = 2.0
"""File systems keep times of a second or two."""


def session_since(env: Mapping[str, str], cwd: str, begun: float) -> str:
    """Return the session of this folder that was written to last since ``begun``, "" for none.

    Args:
        env: the client's environment.
        cwd: the folder it worked in.
        begun: epoch seconds of its start.
    """
    named = env.get("CLAUDE_CODE_PROJECT_DIR_NAME", "")
    names = {named} if named else {slug(cwd), slug(os.path.realpath(cwd))}
    slugs = {os.path.normcase(one[:SLUG_MAX]) for one in names}  # C: is c: as well
    newest = ("", begun - SLACK_S)
    for folder in _folders(Path(find.projects_dir(env))):
        if os.path.normcase(folder.name[:SLUG_MAX]) not in slugs:
            continue
        for file in folder.glob("*.jsonl"):
            at = _written(file)
            if at > newest[1] and paths.is_id(file.stem):
                newest = (file.stem, at)
    return newest[0]


def slug(folder: str) -> str:
    """Return the name the client gives to a folder's project.

    It counts in UTF-16, as JavaScript does: a letter beyond the first 65,536 makes two dashes.
    """
    return re.sub(r"[^A-Za-z0-9]", lambda found: "-" * (1 + (found[0] > "\uffff")), folder)


def _folders(projects: Path) -> list[Path]:
    try:
        return [folder for folder in projects.iterdir() if folder.is_dir()]
    except OSError:
        return []


def _written(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
