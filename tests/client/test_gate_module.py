"""The gate's own tests, run by the client's test kit: no session, no network."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from paceline_bench.client import Fanout
from paceline_bench.client.home import environment

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.client

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60


def test_the_gate_does_what_its_own_tests_say(
    client: Callable[[str], Path], tmp_path: Path
) -> None:
    """[P7] Among them: without a server nothing is held, and nothing of the session is changed."""
    plugin = tmp_path / "plugin"
    for part in (".claude-plugin", "hooks"):
        shutil.copytree(ROOT / part, plugin / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "tests" / "hooks" / "gate.test.ts", plugin)
    home = tmp_path / "home"
    (home / "tmp").mkdir(parents=True)
    done = subprocess.run(
        [str(client("2.1.332")), "plugin", "test", str(plugin)],
        env=environment(Fanout(), home, "http://127.0.0.1:9"),
        cwd=home,
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    said = done.stdout + done.stderr
    passed = re.search(r"(\d+) pass", said)
    assert done.returncode == 0, said
    assert passed is not None, said
    assert int(passed[1]) >= 20, said
