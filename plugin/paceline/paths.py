"""Where Paceline keeps its state. On a hook's fast path: standard library only.

``<state>/ledger/<account>.json``            one ledger an account, with ``.lock`` beside it
``<state>/ledger/aside/``                    damaged files, kept for a person to look at
``<state>/sessions/<session>/events.jsonl``  the event log of one session
``<state>/sessions/<session>/gate``          touched while a gate is alive in that session
``<state>/salt``                             32 random bytes that make account ids unlinkable
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

APP = "paceline"
ID_MAX = 128
_ID_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def is_id(text: object) -> bool:
    """Whether ``text`` may become part of a path: 1 to 128 of ``[A-Za-z0-9_-]``."""
    return isinstance(text, str) and 0 < len(text) <= ID_MAX and _ID_CHARS.issuperset(text)


def home(env: Mapping[str, str] | None = None, platform: str | None = None) -> str:
    """Return the person's own folder, where the client takes it from on each system.

    On Windows a ``HOME`` is some shell's own and not looked at.
    """
    env = os.environ if env is None else env
    platform = sys.platform if platform is None else platform
    told = env.get("USERPROFILE" if platform == "win32" else "HOME")
    return told or os.path.expanduser("~")


def state_dir(env: Mapping[str, str] | None = None, platform: str | None = None) -> str:
    """Return the state directory: ``PACELINE_STATE_DIR``, else the user's state directory.

    The second is what ``platformdirs.user_state_dir("paceline", appauthor=False)`` gives; it is
    spelled out here because a hook pays for each import, and a test holds the two together.
    An empty variable counts as unset.
    """
    env = os.environ if env is None else env
    platform = sys.platform if platform is None else platform
    told = env.get("PACELINE_STATE_DIR") or env.get("CLAUDE_PLUGIN_OPTION_STATE_DIR")
    if told and "${" not in told:
        return os.path.abspath(os.path.expanduser(told))
    own = home(env, platform)
    if platform == "win32":
        base = env.get("LOCALAPPDATA") or os.path.join(own, "AppData", "Local")
    elif platform == "darwin":
        base = os.path.join(own, "Library", "Application Support")
    else:
        base = (env.get("XDG_STATE_HOME") or "").strip() or os.path.join(own, ".local", "state")
    return os.path.join(base, APP)


def session_dir(state: str, session: str) -> str:
    """Return the folder of one session. The id must have passed :func:`is_id`."""
    if not is_id(session):
        msg = "not a session id"
        raise ValueError(msg)
    return os.path.join(state, "sessions", session)


def events_file(state: str, session: str) -> str:
    """Return the event log of one session."""
    return os.path.join(session_dir(state, session), "events.jsonl")


def ledger_dir(state: str) -> str:
    """Return the folder of the ledgers."""
    return os.path.join(state, "ledger")


def make_private(path: str) -> None:
    """Create a folder (and its parents) that only its owner can enter.

    Raises:
        OSError: it cannot be made.
    """
    os.makedirs(path, mode=0o700, exist_ok=True)
