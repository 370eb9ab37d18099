"""The ledger's file and whatever can be the matter with it."""

from __future__ import annotations

import json
import os
import stat
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock

from paceline.errors import StateError, UsageError
from paceline.ledger import belief
from paceline.ledger import lock as locks
from paceline.ledger.document import VERSION, to_json
from paceline.ledger.store import FileStore
from paceline.ledger.values import Ledger
from strategies_ledger import FAMILY, T0, ask

if TYPE_CHECKING:
    from collections.abc import Callable

ACCOUNT = "a1b2c3"


def _store(folder: Path, now: float = T0) -> FileStore:
    return FileStore(str(folder), ACCOUNT, clock=lambda: now)


def _tell(ledger: Ledger, now: float) -> None:
    belief.tell(ledger, FAMILY, "input", 60_000.0, now, source="set")


def _ask(ticket: str, ledger: Ledger, now: float) -> None:
    ask(ledger, ticket, now)


def _limit(store: FileStore) -> float | None:
    buckets = store.snapshot().families.get(FAMILY)
    return buckets.buckets["input"].limit if buckets is not None else None


def _aside(folder: Path) -> list[Path]:
    return sorted((folder / "aside").glob("*"))


def test_what_one_transaction_made_the_next_one_finds(tmp_path: Path) -> None:
    """Also another store, as in another process, and also after that one wrote in between."""
    one, two = _store(tmp_path / "new" / "folder"), _store(tmp_path / "new" / "folder")
    one.transact(_tell)
    assert _limit(two) == 60_000.0
    for store in (two, one, one, two, one):
        store.transact(lambda ledger, now: ask(ledger, f"t{len(ledger.tickets)}", now))
    assert list(one.snapshot().tickets) == ["t0", "t1", "t2", "t3", "t4"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    store = _store(tmp_path / "state" / "ledger")
    store.transact(_tell)
    assert stat.S_IMODE((tmp_path / "state" / "ledger").stat().st_mode) == 0o700
    for file in (tmp_path / "state" / "ledger").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("account", ["", "../up", "a/b", "a b", "x" * 200, "a\0"])
def test_an_account_that_could_be_a_path_is_none(tmp_path: Path, account: str) -> None:
    with pytest.raises(ValueError, match="account"):
        FileStore(str(tmp_path), account)


def test_a_change_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """[I2] and what it did to the value before it failed is forgotten with it."""
    store = _store(tmp_path)
    store.transact(_tell)
    before = Path(store.path).read_bytes()

    def half(ledger: Ledger, now: float) -> None:
        ask(ledger, "a", now)
        raise UsageError("no")

    with pytest.raises(UsageError):
        store.transact(half)
    assert Path(store.path).read_bytes() == before
    assert store.transact(lambda ledger, now: list(ledger.tickets)) == []


TORN: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "torn": lambda data: data[: len(data) // 2],
    "zeros": lambda data: b"\0" * len(data),
    "nonsense": lambda data: b"hello",
    "another value": lambda data: b"[1,2,3]",
    "not a number": lambda data: data.replace(b"60000.0", b"NaN", 1),
    "infinite": lambda data: data.replace(b"60000.0", b"1e999", 1),
    "a text for a number": lambda data: data.replace(b"60000.0", b'"many"', 1),
    "deep": lambda data: b"[" * 100_000,
    "not text": lambda data: data[:9] + b"\xff\xfe" + data[9:],
}


@pytest.mark.parametrize("how", TORN)
def test_a_damaged_file_is_set_aside_and_a_new_ledger_begun(tmp_path: Path, how: str) -> None:
    """[CASE 23] never fatal; the original is kept for a person to look at."""
    store = _store(tmp_path)
    store.transact(_tell)
    damaged = TORN[how](Path(store.path).read_bytes())
    Path(store.path).write_bytes(damaged)
    assert _limit(store) is None or how == "not text"
    store.transact(_tell)
    assert _limit(store) == 60_000.0
    (kept,) = _aside(tmp_path)
    assert kept.read_bytes() == damaged


@pytest.mark.parametrize("stray", [b"     ", b"\n{}", b"}}}}}", b"\0\0\0\0\0", b'{"v":1'])
def test_a_whole_ledger_before_stray_bytes_is_recovered(tmp_path: Path, stray: bytes) -> None:
    """[CASE 23] a valid object plus five stray bytes: recovered, original kept aside."""
    store = _store(tmp_path)
    store.transact(_tell)
    damaged = Path(store.path).read_bytes() + stray
    Path(store.path).write_bytes(damaged)
    assert store.transact(lambda ledger, now: ledger.families[FAMILY].buckets["input"].limit)
    assert [file.read_bytes() for file in _aside(tmp_path)] == ([damaged] if stray.strip() else [])


def test_damaged_files_do_not_pile_up(tmp_path: Path) -> None:
    for second in range(40):
        store = _store(tmp_path, T0 + second)
        store.transact(_tell)
        Path(store.path).write_bytes(b"broken")
    assert len(_aside(tmp_path)) <= 20


@pytest.mark.parametrize("stray", [b"", b"xxxxx"])
def test_a_file_of_a_newer_version_is_left_alone_and_said_so(tmp_path: Path, stray: bytes) -> None:
    store = _store(tmp_path)
    newer = json.dumps({**to_json(Ledger()), "v": VERSION + 1}).encode() + stray
    Path(store.path).write_bytes(newer)
    with pytest.raises(StateError, match="newer Paceline: update"):
        store.transact(_tell)
    assert Path(store.path).read_bytes() == newer
    assert _aside(tmp_path) == []
    assert store.snapshot() == Ledger(account=ACCOUNT)


def test_fields_of_a_newer_minor_version_outlive_an_older_writer(tmp_path: Path) -> None:
    """Two plugin versions share the file: unknown top-level fields are kept."""
    store = _store(tmp_path)
    store.transact(_tell)
    data = json.loads(Path(store.path).read_bytes())
    Path(store.path).write_text(json.dumps({**data, "of_tomorrow": [1]}), encoding="utf-8")
    store.transact(lambda ledger, now: ask(ledger, "a", now))
    assert json.loads(Path(store.path).read_bytes())["of_tomorrow"] == [1]


def test_a_state_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("mine", encoding="utf-8")
    for folder in (tmp_path / "state", tmp_path / "state" / "below"):
        with pytest.raises(StateError, match="cannot be used"):
            _store(folder).transact(_tell)
        assert _limit(_store(folder)) is None
    assert (tmp_path / "state").read_text(encoding="utf-8") == "mine"


def test_a_ledger_that_is_a_folder_is_told(tmp_path: Path) -> None:
    store = _store(tmp_path)
    Path(store.path).mkdir()
    with pytest.raises(StateError, match="cannot be used"):
        store.transact(_tell)
    assert Path(store.path).is_dir()


def test_what_a_dead_writer_left_is_swept_and_never_read(tmp_path: Path) -> None:
    store = _store(tmp_path)
    store.transact(_tell)
    for pid in (1, 99_999):
        Path(f"{store.path}.{pid}.tmp").write_bytes(b"half a led")
    other = tmp_path / "other.json.5.tmp"
    other.write_bytes(b"of another account")
    assert _limit(store) == 60_000.0
    _store(tmp_path).transact(lambda ledger, now: ask(ledger, "a", now))
    assert sorted(p.name for p in tmp_path.glob("*.tmp")) == [other.name]


def test_a_live_holder_is_waited_for_no_longer_than_told(tmp_path: Path) -> None:
    """[CASE 20] every hold of ours is bounded: the caller goes on without the ledger."""
    store = _store(tmp_path)
    store.transact(_tell)
    before = Path(store.path).read_bytes()
    with FileLock(store.path + ".lock"):
        with pytest.raises(StateError, match="locked by another process"):
            store.transact(_tell, timeout=0.05)
        with pytest.raises(StateError, match="locked by another process"):
            store.transact(_tell, timeout=0.0)
        assert _limit(store) == 60_000.0, "who only reads does not wait"
    assert Path(store.path).read_bytes() == before
    store.transact(_tell, timeout=0.0)


def test_our_lock_and_a_file_lock_exclude_each_other(tmp_path: Path) -> None:
    """An older version of the plugin holds a ``FileLock`` on the same file."""
    path = str(tmp_path / "x.lock")
    held = locks.acquire(path, 0.0)
    with pytest.raises(TimeoutError):
        FileLock(path).acquire(timeout=0.02, poll_interval=0.01)
    locks.release(held)
    with FileLock(path, timeout=1.0), pytest.raises(TimeoutError):
        locks.acquire(path, 0.02)


@pytest.mark.parametrize("content", [b"", b"4194304", b'{"pid": 1}', b"\0" * 64])
def test_what_stands_in_a_lock_file_holds_nobody_up(tmp_path: Path, content: bytes) -> None:
    """[CASE 23] zero bytes, or the id of a process long gone: only the system's lock counts."""
    store = _store(tmp_path)
    Path(store.path + ".lock").write_bytes(content)
    store.transact(_tell, timeout=0.0)
    assert _limit(store) == 60_000.0


def test_a_lock_file_removed_while_somebody_waits_locks_nobody_out(tmp_path: Path) -> None:
    """Who gets the lock of a removed file tries again, or two would hold one each."""
    if os.name == "nt":
        pytest.skip("Windows removes no open file")
    path = str(tmp_path / "x.lock")
    held = locks.acquire(path, 0.0)
    found: list[Any] = []
    waits = threading.Thread(target=lambda: found.append(locks.acquire(path, 30.0)))
    waits.start()
    Path(path).unlink()
    locks.release(held)
    waits.join(30.0)
    assert not waits.is_alive()
    with pytest.raises(TimeoutError):
        locks.acquire(path, 0.0)
    locks.release(found[0])
    locks.release(locks.acquire(path, 0.0))


def test_threads_of_one_process_do_not_lose_each_others_work(tmp_path: Path) -> None:
    store = _store(tmp_path)
    rounds, workers = 20, 4

    def work(name: int) -> None:
        own = store if name % 2 else _store(tmp_path)
        for i in range(rounds):
            own.transact(partial(_ask, f"{name}-{i}"))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert len(store.snapshot().tickets) == rounds * workers
