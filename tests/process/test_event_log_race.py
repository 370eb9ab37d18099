"""Real processes that append to one event log, all at once."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from paceline import jsonl

if TYPE_CHECKING:
    from pathlib import Path

WORKERS, LINES, BOUND = 6, 60, 60
APPEND = """
import sys
from paceline import jsonl
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    jsonl.append(sys.argv[1], {"by": sys.argv[2], "n": number, "text": sys.argv[2] * 9000})
"""


def test_lines_that_many_hooks_append_at_once_are_all_there_and_whole(tmp_path: Path) -> None:
    """[P5] a line lost is an agent nobody counts; the long ones would be torn first."""
    log = tmp_path / "events.jsonl"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", APPEND, str(log), str(number), str(LINES)],
            stdin=subprocess.PIPE,
            env=env,
        )
        for number in range(WORKERS)
    ]
    try:
        for one in started:
            assert one.stdin is not None
            one.stdin.write(b"go\n")
            one.stdin.flush()
        for one in started:
            one.communicate(timeout=BOUND)
    finally:
        for one in started:
            one.kill()
            one.wait(BOUND)
    assert [one.returncode for one in started] == [0] * WORKERS
    found, end = jsonl.read(str(log))
    assert end == log.stat().st_size
    assert b"\r" not in log.read_bytes()
    assert len(found) == WORKERS * LINES
    for number in range(WORKERS):
        mine = [line for line in found if line["by"] == str(number)]
        assert [line["n"] for line in mine] == list(range(LINES))
        assert {line["text"] for line in mine} == {str(number) * 9000}
