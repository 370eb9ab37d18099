"""The ledger on disk: one JSON file an account, replaced atomically under a lock.

This is the only module of the ledger that touches files, and the only one that takes a lock. It
imports ``filelock`` inside the function that waits (a hook's fast path never comes here).

What can go wrong, and what happens:

* another process holds the lock: wait at most ``timeout`` seconds, then ``StateError``
* the file is damaged (torn, stray bytes, not a ledger): it is moved to ``aside/`` and a new one is
  begun; when a whole ledger stands before stray bytes it is taken from there
* the file is of a newer version: ``StateError``, nothing is written
* the disk is full or read-only: ``StateError``, what was on disk stays
* a process dies at any byte: the temporary file is left, the ledger is the old one or the new one
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, TypeVar  # noqa: TID253 - off the hook's fast path

from paceline import jsonl, paths
from paceline.errors import StateError
from paceline.ledger.document import VERSION, from_json, to_json
from paceline.ledger.values import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

LOCK_TIMEOUT_S = 10.0
REPLACE_TRIES = 12
"""On Windows a file that anyone has open cannot be replaced; readers hold it for milliseconds."""
ASIDE_KEEP = 20


class FileStore:
    """The ledger of one account in a folder.

    Args:
        folder: where ledgers are kept; made on first use, for its owner only.
        account: the account's id (``account.account_id``).
        clock: gives epoch seconds.
    """

    def __init__(self, folder: str, account: str, clock: Callable[[], float] = time.time) -> None:
        if not paths.is_id(account):
            msg = "not an account id"
            raise ValueError(msg)
        self.folder = folder
        self.account = account
        self.clock = clock
        self.path = os.path.join(folder, f"{account}.json")

    def transact(self, change: Callable[[Ledger, float], T], timeout: float = LOCK_TIMEOUT_S) -> T:
        """Run ``change(ledger, now)`` under the lock and keep what it made of the ledger.

        An exception of ``change`` leaves the file as it was.

        Raises:
            StateError: the lock was not had in time, or the state cannot be read or written.
        """
        from filelock import FileLock, Timeout

        try:
            paths.make_private(self.folder)
            lock = FileLock(self.path + ".lock", timeout=timeout)
            with lock:
                ledger = self._load()
                result = change(ledger, self.clock())
                self._save(ledger)
                return result
        except Timeout as err:
            raise StateError("the ledger is locked by another process", self.path) from err
        except OSError as err:
            raise StateError(
                f"the ledger cannot be used ({err.strerror or err})", self.path
            ) from err

    def snapshot(self) -> Ledger:
        """Return the ledger as it is on disk, without a lock; an empty one when there is none."""
        try:
            with open(self.path, "rb") as file:
                return from_json(jsonl.loads(file.read()))
        except (OSError, ValueError):
            return Ledger(account=self.account)

    def _load(self) -> Ledger:
        try:
            with open(self.path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return Ledger(account=self.account, clock=self.clock())
        try:
            value = jsonl.loads(data)
            if isinstance(value, dict) and isinstance(value.get("v"), int) and value["v"] > VERSION:
                raise StateError("the ledger is of a newer Paceline: update this one", self.path)
            return from_json(value)
        except ValueError:
            return self._recovered(data)

    def _recovered(self, data: bytes) -> Ledger:
        aside = os.path.join(self.folder, "aside")
        paths.make_private(aside)
        kept = sorted(os.listdir(aside))
        for name in kept[: max(0, len(kept) - ASIDE_KEEP + 1)]:
            os.unlink(os.path.join(aside, name))
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(self.clock()))
        place = os.path.join(aside, f"{self.account}.{stamp}.{os.getpid()}.json")
        _replace(self.path, place)
        try:
            value, _ = json.JSONDecoder().raw_decode(data.decode("utf-8", "replace").lstrip())
            return from_json(value)
        except (ValueError, RecursionError):
            return Ledger(account=self.account, clock=self.clock())

    def _save(self, ledger: Ledger) -> None:
        data = jsonl.dumps(to_json(ledger)).encode("ascii")
        temporary = f"{self.path}.{os.getpid()}.tmp"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
            _replace(temporary, self.path)
        except BaseException:
            _unlink(temporary)
            raise


def _replace(source: str, target: str) -> None:
    for attempt in range(REPLACE_TRIES):
        try:
            os.replace(source, target)
        except PermissionError:
            if attempt == REPLACE_TRIES - 1:
                raise
            time.sleep(0.002 * 2.0 ** min(attempt, 6))
        else:
            return


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
