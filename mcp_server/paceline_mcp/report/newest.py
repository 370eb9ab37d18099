"""Which session was alive last, and where its files lie. Looks at names and times alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from paceline import paths, settings
from paceline.ledger.own import store_seen
from paceline.transcripts import find

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from paceline.ledger.store import FileStore


def newest_session(projects: str, state: str, since: float = 0.0) -> str:
    """Return the session with the newest sign of life after ``since`` (epoch seconds), "" for none.

    Of sessions with an event log or agents of their own; one that launched nobody and was never
    seen by a hook has nothing to tell.
    """
    signs = [*_logged(state), *_fanned_out(projects)]
    name, at = max(signs, key=lambda sign: (sign[1], sign[0]), default=("", 0.0))
    return name if at > since else ""


def ledger_in_use(env: Mapping[str, str]) -> FileStore:
    """Return the ledger a person means: this environment's, or the newest session's.

    The second where this environment tells no account: a key may stand in the client's settings
    alone.
    """
    newest = newest_session(find.projects_dir(env), paths.state_dir(env))
    return store_seen(env, settings.load(env), newest)


def project_of(projects: str, session: str) -> str:
    """Return the one project's folder a session lies in, else all of them: less to look through."""
    for one in find.sessions(projects, only=session):
        return os.path.dirname(one.main)
    return projects


def _logged(state: str) -> Iterator[tuple[str, float]]:
    folder = os.path.join(state, "sessions")
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if paths.is_id(name):
            at = _written(paths.events_file(state, name))
            if at:
                yield name, at


def _fanned_out(projects: str) -> Iterator[tuple[str, float]]:
    for one in find.sessions(projects):
        if one.fanned_out():
            places = [one.main, os.path.join(one.folder, "subagents")]
            yield one.session, max(_written(place) for place in places)


def _written(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
