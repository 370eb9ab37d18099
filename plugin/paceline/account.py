"""Whose limit is spent: an id that says which account, and nothing else about it.

Every process of a session must come to the same id, so only what all of them see counts. The
client takes ``CLAUDE_CODE_OAUTH_TOKEN`` out of the environment of its hooks and servers (seen on
2.1.240 and 2.1.332), so that variable is not looked at: such a session goes by its base URL.
``PACELINE_ACCOUNT`` (any word) tells accounts apart where nothing else can.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT = "default"
"""The account where nothing tells one."""

SALT_BYTES = 32
_LOGIN_MAX = 64 * 1024 * 1024
_CLOUDS = {
    "BEDROCK": ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_REGION"),
    "VERTEX": ("ANTHROPIC_VERTEX_PROJECT_ID", "CLOUD_ML_REGION"),
    "FOUNDRY": ("ANTHROPIC_FOUNDRY_RESOURCE", "ANTHROPIC_FOUNDRY_BASE_URL"),
}
"""Provider (``CLAUDE_CODE_USE_<name>``) and what tells its accounts apart."""


def account_id(env: Mapping[str, str], state_dir: str) -> str:
    """Return 16 hex digits that stand for the account in use, or ``default``.

    The order is the client's: a cloud provider, an API key, an auth token, the login written in
    ``.claude.json``, the base URL. What is hashed (with this machine's salt) is never kept.

    Args:
        env: the client's environment.
        state_dir: where the salt is; created there when missing. Without one that can be written
            the id is unsalted, and nothing is stored anyway.
    """
    kind, secret = _identity(env)
    if not secret:
        return DEFAULT
    import hashlib  # costs a third of a bare start: only where an id is needed

    # Not a password: a key has too many bits to guess, the salt keeps two machines unlinkable.
    mark = hashlib.sha256(salt(state_dir) + kind.encode() + b"\0")
    mark.update(secret.encode("utf-8", "surrogatepass"))
    return mark.hexdigest()[:16]


def of_session(log: str) -> str:
    """Return the account that a session's event log begins with, "" where it tells none."""
    from paceline import jsonl, paths

    try:
        with open(log, "rb") as file:
            first = jsonl.loads(file.readline(jsonl.LINE_MAX))
    except (OSError, ValueError):
        return ""
    found = first.get("account") if isinstance(first, dict) else None
    return found if isinstance(found, str) and paths.is_id(found) else ""


def _identity(env: Mapping[str, str]) -> tuple[str, str]:
    """Return what kind of sign tells the account, and the sign; two empty strings for none."""
    named = env.get("PACELINE_ACCOUNT", "").strip()
    if named:
        return "named", named
    for cloud, names in _CLOUDS.items():
        if _on(env.get("CLAUDE_CODE_USE_" + cloud, "")):
            return cloud, "\0".join([cloud, *(env.get(name, "") for name in names)])
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        if env.get(name, "").strip():
            return name, env[name].strip()
    login = _login(env)
    if login:
        return "login", login
    url = env.get("ANTHROPIC_BASE_URL", "").strip().rstrip("/").lower()
    return ("url", url) if url else ("", "")


def _on(value: str) -> bool:
    return value.strip().lower() in ("1", "true", "yes", "on")


def _login(env: Mapping[str, str]) -> str:
    """Return the ids of the login the client wrote down, ``""`` where there is none."""
    from paceline import jsonl, paths

    folder = env.get("CLAUDE_CONFIG_DIR") or paths.home(env)
    try:
        with open(os.path.join(folder, ".claude.json"), "rb") as file:
            value = jsonl.loads(file.read(_LOGIN_MAX))
    except (OSError, ValueError):
        return ""
    login = value.get("oauthAccount") if isinstance(value, dict) else None
    if not isinstance(login, dict):
        return ""
    ids = [login.get(name) for name in ("accountUuid", "organizationUuid")]
    return "\0".join(part for part in ids if isinstance(part, str) and part)


def salt(state_dir: str) -> bytes:
    """Return this machine's salt, created once; empty where it can be neither read nor created.

    It appears under its name whole or not at all, and the first of several writers wins. One that
    something else cut short is used as it is: an account must keep its id.
    """
    path = os.path.join(state_dir, "salt")
    found = _bytes_of(path)
    if found is None:
        try:  # noqa: SIM105 - contextlib costs more than this file
            _create(state_dir, path)
        except OSError:
            pass  # unwritable, or another process was first
        found = _bytes_of(path)
    return found or b""


def _bytes_of(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(SALT_BYTES)
    except OSError:
        return None


def _create(state_dir: str, path: str) -> None:
    from paceline import paths

    paths.make_private(state_dir)
    mine = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    fd = os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        try:
            if os.write(fd, os.urandom(SALT_BYTES)) != SALT_BYTES:
                raise OSError("disk full")
        finally:
            os.close(fd)
        try:
            os.link(mine, path)  # fails where the name is taken, unlike a POSIX rename
        except FileExistsError:
            pass
        except (OSError, AttributeError):
            os.rename(mine, path)  # no hard links here; on Windows it fails where the name is taken
    finally:
        try:  # noqa: SIM105 - contextlib costs more than this file
            os.unlink(mine)
        except OSError:
            pass
