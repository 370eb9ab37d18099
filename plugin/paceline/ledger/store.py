"""The ledger on disk: one JSON file an account, replaced atomically under a lock.

With ``lock`` this is all of the ledger that touches files. What a process wrote last it need not
read again while nobody else wrote.

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
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar  # noqa: TID253 - off the hook's fast path

from paceline import jsonl, paths
from paceline.errors import StateError
from paceline.ledger import lock
from paceline.ledger.document import VERSION, from_json, to_json
from paceline.ledger.values import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

LOCK_TIMEOUT_S = 10.0
REPLACE_TRIES = 12
"""On Windows a file that anyone has open cannot be replaced; readers hold it for milliseconds."""
ASIDE_KEEP = 20
_BINARY = getattr(os, "O_BINARY", 0)


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
        self._known: tuple[bytes, Ledger] | None = None
        self._swept = False

    def transact(self, change: Callable[[Ledger, float], T], timeout: float = LOCK_TIMEOUT_S) -> T:
        """Run ``change(ledger, now)`` under the lock and keep what it made of the ledger.

        An exception of ``change`` leaves the file as it was. The ledger belongs to the transaction:
        nothing of it may be changed afterwards.

        Raises:
            StateError: the lock was not had in time, or the state cannot be read or written.
        """
        try:
            with self._lock(timeout):
                ledger = self._load()
                result = change(ledger, self._now())
                self._save(ledger)
                return result
        except TimeoutError as err:
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

    def _now(self) -> float:
        """Return the time to the millisecond, which is what requests can be told apart by."""
        return round(self.clock(), 3)

    @contextmanager
    def _lock(self, timeout: float) -> Iterator[None]:
        """Hold the lock, in a folder made when it is needed."""
        path = self.path + ".lock"
        try:
            fd = lock.acquire(path, timeout)
        except FileNotFoundError:
            paths.make_private(self.folder)
            fd = lock.acquire(path, timeout)
        try:
            yield
        finally:
            lock.release(fd)

    def _load(self) -> Ledger:
        known, self._known = self._known, None
        try:
            with open(self.path, "rb", buffering=0) as file:
                data = file.read()
        except FileNotFoundError:
            return Ledger(account=self.account, clock=self._now())
        if known is not None and known[0] == data:
            return known[1]  # nobody wrote since: what it says was read before
        try:
            return from_json(self._mine(jsonl.loads(data)))
        except ValueError:
            return self._recovered(data)

    def _mine(self, value: Any) -> Any:
        """Return the value, unless a newer version wrote it."""
        version = value.get("v") if isinstance(value, dict) else None
        if isinstance(version, int) and version > VERSION:
            raise StateError("the ledger is of a newer Paceline: update this one", self.path)
        return value

    def _recovered(self, data: bytes) -> Ledger:
        """Return what stands before stray bytes, else a new ledger; set the file aside."""
        try:
            value, _ = json.JSONDecoder().raw_decode(data.decode("utf-8", "replace").lstrip())
            ledger = from_json(self._mine(value))
        except (ValueError, RecursionError):
            ledger = Ledger(account=self.account, clock=self._now())
        aside = os.path.join(self.folder, "aside")
        paths.make_private(aside)
        kept = sorted(os.listdir(aside))
        for name in kept[: max(0, len(kept) - ASIDE_KEEP + 1)]:
            _unlink(os.path.join(aside, name))
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(self.clock()))
        _replace(self.path, os.path.join(aside, f"{self.account}.{stamp}.{os.getpid()}.json"))
        return ledger

    def _save(self, ledger: Ledger) -> None:
        data = jsonl.dumps(to_json(ledger)).encode("ascii")
        if not self._swept:
            self._sweep()
        temporary = f"{self.path}.{os.getpid()}.tmp"
        try:
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, 0o600)
            try:
                _write(fd, data)
            finally:
                os.close(fd)
            _replace(temporary, self.path)
        except BaseException:
            _unlink(temporary)
            raise
        self._known = data, ledger

    def _sweep(self) -> None:
        """Remove what processes left behind that died while they wrote."""
        self._swept = True
        prefix = os.path.basename(self.path) + "."
        with os.scandir(self.folder) as found:
            for entry in found:
                if entry.name.startswith(prefix) and entry.name.endswith(".tmp"):
                    _unlink(entry.path)


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


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
