"""A hook that waits when its client is killed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import filelock
import pytest

from paceline import settings
from paceline.ledger import belief
from paceline.ledger.own import store_of
from process.hook_process import BOUND, command, environment, event, run

if TYPE_CHECKING:
    from paceline.ledger.store import FileStore

CLIENT = """
import subprocess, sys
hook = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE)
hook.communicate(sys.argv[1].encode())
"""


def waits(store: FileStore) -> bool:
    return bool(store.snapshot().tickets)


@pytest.mark.skipif(sys.platform == "win32", reason="a process there is not told of its parent")
def test_a_hook_whose_client_is_killed_gives_its_turn_back_and_ends(tmp_path: Path) -> None:
    """[I2] [P8] It waited on for minutes, and was granted what a dead agent does not need."""
    state = tmp_path / "state"
    state.mkdir()
    (state / "site").write_text(str(Path(filelock.__file__).parent.parent), encoding="utf-8")
    env = environment(state, PACELINE_MODE="pace")
    store = store_of(env, settings.load(env))
    store.transact(lambda led, now: belief.tell(led, "all", "input", 1, now, source="set"))
    run(event("SubagentStart", agent_id="a1"), state, PACELINE_MODE="pace")  # takes it all
    begins = event("SubagentStart", agent_id="a2").decode()
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, begins, *command()],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + BOUND
        while not waits(store) and time.monotonic() < until:
            assert client.poll() is None, "the hook did not wait"
            time.sleep(0.05)
        assert waits(store)
        client.kill()
        out, _ = client.communicate(timeout=BOUND)  # open until the hook has ended as well
    finally:
        client.kill()
        client.wait()
    assert out == b""
    left = store.snapshot()
    assert not left.tickets
    assert {held.agent for held in left.reservations.values()} == {"a1"}
