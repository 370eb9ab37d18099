"""The ledger that this environment spends from, for whoever needs it: hooks, server, command line.

One place says which file that is and which policy holds, so that no two processes of one account
keep a budget each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

from paceline import account, paths
from paceline.ledger.store import FileStore
from paceline.ledger.verdicts import Policy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paceline.settings import Settings


def store_of(env: Mapping[str, str], told: Settings) -> FileStore:
    """Return the ledger of the account that this environment spends from."""
    state = paths.state_dir(env)
    return FileStore(told.ledger or paths.ledger_dir(state), account.account_id(env, state))


def store_seen(env: Mapping[str, str], told: Settings, session: str) -> FileStore:
    """Return the ledger to look at beside a session: its own, where nothing here tells an account.

    A key may stand in the client's settings alone, and not in the shell that asks.
    """
    own = store_of(env, told)
    if own.account != account.DEFAULT or not session:
        return own
    seen = account.of_session(paths.events_file(paths.state_dir(env), session))
    return FileStore(own.folder, seen) if seen else own


def policy_of(told: Settings) -> Policy:
    """Return the ledger's policy for these settings."""
    return Policy(headroom=told.headroom, park_max=told.park_max)
