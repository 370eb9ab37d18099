"""Everything one server process holds: its session, its desk, its gate. Opened once, at start."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paceline import paths, settings
from paceline.ledger.own import policy_of, store_of
from paceline_mcp import outlived
from paceline_mcp.broker import Desk, GateDesk, Session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from paceline.ledger.store import FileStore
    from paceline.ledger.verdicts import Policy

NO_SESSION = "no-session"


@dataclass(slots=True)
class Office:
    """What the tools work with."""

    env: Mapping[str, str]
    settings: settings.Settings
    policy: Policy
    state: str
    store: FileStore
    session: Session
    desk: Desk
    gate: GateDesk


def point_hooks_here(state: str) -> None:
    """Leave word where ``filelock`` is, for hooks that have to wait (they see no site-packages)."""
    import filelock

    try:
        paths.make_private(state)
        path = os.path.join(state, "site")
        with open(path + ".tmp", "w", encoding="utf-8") as file:
            file.write(str(Path(filelock.__file__).parent.parent))
        os.replace(path + ".tmp", path)
    except OSError:
        return


@contextlib.asynccontextmanager
async def opened(env: Mapping[str, str] | None = None) -> AsyncIterator[Office]:
    """Open the office of this process; close it with its tickets and reservations given back."""
    env = os.environ if env is None else env
    told = settings.load(env)
    state = paths.state_dir(env)
    name = env.get("CLAUDE_CODE_SESSION_ID", "")
    session = Session(state, name if paths.is_id(name) else NO_SESSION, env)
    policy = policy_of(told)
    store = store_of(env, told)
    desk = Desk(store, policy)
    gate = GateDesk(desk, session, told)
    desk.beat = gate.beat
    point_hooks_here(state)
    outlived.remove_soon(state, time.time())
    async with desk:
        try:
            yield Office(env, told, policy, state, store, session, desk, gate)
        finally:
            session.quiet()
