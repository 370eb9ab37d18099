"""What a person sees first: the demo with the real client."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.client, pytest.mark.timeout(240)]


def test_the_demo_loses_agents_without_the_plugin_and_none_with_it(
    client: Callable[[str], Path],
) -> None:
    """[P1]"""
    client("2.1.332")
    done = subprocess.run(
        [sys.executable, "-m", "paceline_mcp", "demo", "--agents", "4", "--json"],
        capture_output=True,
        encoding="utf-8",
        timeout=220,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["driver"], told["client"]) == ("client", "2.1.332")
    assert told["without"]["dropped"] > 0
    assert told["without"]["says"] == "success"
    assert told["with"]["delivered"] == 4
    assert told["with"]["wasted_tokens"] == 0
    assert (told["with"]["verdict"], told["with"]["completed"]) == ("complete", 4)
