"""Processes that die, starve or meet an unusable state while they use the ledger's file."""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from paceline.errors import StateError
from paceline.ledger import admit, belief
from paceline.ledger.store import FileStore
from paceline.ledger.verdicts import Policy
from process.ledger_process import Process, processes
from strategies_ledger import Witness

if TYPE_CHECKING:
    from paceline.ledger.values import Ledger

ACCOUNT = "a1b2c3"
KILLS = int(os.environ.get("PACELINE_TEST_KILLS", "8"))

HOLD = """
def change(ledger, now):
    ask(ledger, "doomed", now, 20_000.0, lease=2.0)
    admit.tick(ledger, ["doomed"], now, EXACT)
    say("holding")
    time.sleep(600)
store.transact(change)
"""

WORK = """
draw = random.Random(told["number"])
going, done = [], 0
say("ready")
while True:
    def change(ledger, now):
        for reservation in list(going):
            if draw.random() < 0.5:
                going.remove(reservation)
                if draw.random() < 0.8:
                    usage = Usage(input=draw.uniform(0, 900))
                    settle.settle(ledger, reservation, usage, now, EXACT)
                else:
                    settle.release(ledger, reservation, now, EXACT)
        settle.renew(ledger, going, now, 2.0)
        ticket = f"p{told['number']}-{done}"
        ask(ledger, ticket, now, draw.uniform(0, 700), lease=2.0)
        verdict = admit.tick(ledger, [ticket], now, EXACT)[ticket]
        if isinstance(verdict, Grant):
            going.append(verdict.reservation)
    store.transact(change)
    done += 1
    if done % 20 == 0:
        say(done)
"""

RESERVE_AND_WAIT = """
def change(ledger, now):
    ask(ledger, "doomed", now, 20_000.0, lease=told["lease"])
    return admit.tick(ledger, ["doomed"], now, EXACT)["doomed"].reservation
say(store.transact(change))
heard()
"""

NO_SPACE = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    store.transact(lambda ledger, now: ask(ledger, "a", now, 1.0))
    say("written")
except StateError as err:
    say(str(err))
"""

READ_ONLY = """
os.chmod(told["folder"], 0o500)
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    store.transact(lambda ledger, now: ask(ledger, "a", now, 1.0))
    say("written")
except StateError as err:
    say(str(err))
"""


def _tell(ledger: Ledger, now: float) -> None:
    belief.tell(ledger, "opus-5", "input", 600_000.0, now, source="set")


def test_a_lock_held_by_a_killed_process_is_free_at_once_and_nothing_was_written(
    tmp_path: Path,
) -> None:
    """[CASE 23] it died in the middle of a transaction: the file is the one before it. [I2]"""
    store = FileStore(str(tmp_path), ACCOUNT)
    store.transact(_tell)
    before = Path(store.path).read_bytes()
    with Process(HOLD, tmp_path) as doomed:
        assert doomed.hear() == "holding"
        with pytest.raises(StateError, match="locked by another process"):
            store.transact(_tell, timeout=0.1)
        doomed.kill()
        assert Path(store.path).read_bytes() == before
        store.transact(_tell, timeout=20.0)
    assert store.snapshot().reservations == {}


def test_what_a_killed_process_reserved_comes_back_when_its_lease_is_over(tmp_path: Path) -> None:
    """[CASE 23] 20,000 tokens reserved, killed: the next one goes, and the tokens return. [I2]"""
    store = FileStore(str(tmp_path), ACCOUNT)
    store.transact(_tell)
    with Process(RESERVE_AND_WAIT, tmp_path, lease=30.0) as doomed:
        reservation = doomed.hear()
        doomed.kill()
    later = FileStore(str(tmp_path), ACCOUNT, clock=lambda: time.time() + 31.0)

    def look(ledger: Ledger, now: float) -> tuple[float, float]:
        admit.tick(ledger, [], now, Policy(headroom=0.0))
        return ledger.totals.expired, ledger.families["opus-5"].buckets["input"].level

    held = store.transact(lambda ledger, now: dict(ledger.reservations))
    assert list(held) == [reservation]
    assert later.transact(look) == (20_000.0, 600_000.0)


@pytest.mark.timeout(300)
def test_processes_killed_at_any_moment_lose_and_double_no_token(tmp_path: Path) -> None:
    """[I2] whatever byte they were at: the ledger is whole, the lock free, the totals add up."""
    store = FileStore(str(tmp_path), ACCOUNT)
    store.transact(_tell)
    draw = random.Random(4)
    for number in range(KILLS):
        with processes(3, WORK, tmp_path, [{"number": 3 * number + n} for n in range(3)]) as some:
            some.hear()
            for _ in range(draw.randrange(1, 4)):
                some[0].hear()
            for process in some:
                process.popen.kill()

        def look(ledger: Ledger, now: float) -> None:
            Witness.conserved(ledger)
            assert all(r.expires <= now + 2.1 for r in ledger.reservations.values())

        store.transact(look, timeout=20.0)
    assert not list((tmp_path / "aside").glob("*")) if (tmp_path / "aside").exists() else True
    later = FileStore(str(tmp_path), ACCOUNT, clock=lambda: time.time() + 60.0)
    later.transact(lambda ledger, now: admit.tick(ledger, [], now, Policy(headroom=0.0)))
    ledger = later.snapshot()
    assert ledger.reservations == {}
    assert ledger.tickets == {}
    Witness.conserved(ledger)
    assert ledger.totals.settled > 0
    assert sorted(p.name for p in tmp_path.glob("*.tmp")) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit on the size of a file to set")
def test_a_full_disk_is_told_and_what_was_there_stays(tmp_path: Path) -> None:
    store = FileStore(str(tmp_path), ACCOUNT)
    store.transact(_tell)
    before = Path(store.path).read_bytes()
    with Process(NO_SPACE, tmp_path) as process:
        assert "the ledger cannot be used" in process.hear()
    assert Path(store.path).read_bytes() == before
    assert sorted(p.name for p in tmp_path.glob("*.tmp")) == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """In a process that is no administrator: modes do not bind one."""
    if sys.platform == "win32":
        pytest.skip("Windows has no such modes")
    folder = tmp_path / "ledger"
    store = FileStore(str(folder), ACCOUNT)
    store.transact(_tell)
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.geteuid() and parent.is_relative_to(tmp_path.parent.parent):
            parent.chmod(0o755)
    before = Path(store.path).read_bytes()
    try:
        with Process(READ_ONLY, folder) as process:
            assert "the ledger cannot be used" in process.hear()
    finally:
        folder.chmod(0o700)
    assert Path(store.path).read_bytes() == before


OLD = """
import filelock
while True:
    number = heard()
    with filelock.FileLock(store.path + ".lock"):
        with open(store.path, encoding="utf-8") as file:
            data = json.load(file)
        data["of_tomorrow"] = number
        with open(store.path + ".other", "w", encoding="utf-8") as file:
            json.dump(data, file)
        os.replace(store.path + ".other", store.path)
    say(number)
"""


def test_two_versions_of_the_plugin_share_the_file(tmp_path: Path) -> None:
    """Another version, with fields and a writer of its own, loses nothing and nothing is lost."""
    store = FileStore(str(tmp_path), ACCOUNT)
    store.transact(_tell)
    with Process(OLD, tmp_path) as other:
        for number in range(10):
            other.tell(number)
            other.hear()
            seen: Any = store.transact(lambda ledger, now: dict(ledger.kept))
            assert seen == {"of_tomorrow": number}
    assert store.snapshot().families["opus-5"].buckets["input"].limit == 600_000.0
    assert not (tmp_path / "aside").exists()
