"""One process at a time: the lock beside a ledger's file.

``filelock`` has the operating systems' locks. Its ``FileLock`` costs a tenth of a millisecond a
try, so that thirty waiting processes would spend the machine on asking; its bare descriptor lock is
one system call, and excludes those who hold a ``FileLock`` on the same file. The lock goes with the
process that holds it, however that ends; what stands in the file says nothing.
"""

from __future__ import annotations

import errno
import os
import random
import time
from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

if TYPE_CHECKING:
    from filelock import BaseFileLock

POLL_S = 0.0005
"""Seconds between the first tries: about half of a transaction."""
POLL_LATER_S = 0.002
"""The same after ``TRIES``: with so many waiting, asking more often only takes from the holder."""
TRIES = 40


def acquire(path: str, timeout: float) -> int | BaseFileLock:
    """Return what holds the lock at ``path``, to be given to :func:`release`.

    Raises:
        TimeoutError: it was not had in ``timeout`` seconds.
        OSError: the file cannot be opened or locked.
    """
    deadline = time.monotonic() + timeout
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _wait_for(fd, path, deadline)
            if os.name == "nt" or os.fstat(fd).st_nlink:
                return fd
        except OSError as err:
            os.close(fd)
            if err.errno != errno.ENOSYS:
                raise
            return _softly(path, timeout)
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # it was removed meanwhile: who comes next makes another one


def release(lock: int | BaseFileLock) -> None:
    """Let go."""
    if isinstance(lock, int):
        os.close(lock)
    else:
        lock.release()


def _wait_for(fd: int, path: str, deadline: float) -> None:
    from filelock import lock_descriptor

    tries = 0
    while not lock_descriptor(fd, blocking=False):
        if time.monotonic() >= deadline:
            raise TimeoutError(errno.ETIMEDOUT, "locked by another process", path)
        tries += 1
        poll = POLL_S if tries < TRIES else POLL_LATER_S
        time.sleep(poll * random.uniform(0.5, 1.5))  # noqa: S311 - spreads, hides nothing


def _softly(path: str, timeout: float) -> BaseFileLock:
    """Take it where the file system has no locks, in the way ``FileLock`` does there."""
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=timeout, poll_interval=POLL_LATER_S)
    try:
        lock.acquire()
    except Timeout as err:
        raise TimeoutError(errno.ETIMEDOUT, "locked by another process", path) from err
    return lock
