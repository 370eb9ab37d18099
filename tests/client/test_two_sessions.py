"""Two sessions of one account on the real client share one budget fairly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from paceline_bench.client import Fanout, run_together, telling
from paceline_bench.simapi.config import Config

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.client, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parents[2]
API = Config(itpm=240_000, itpm_capacity=30_000)


def test_a_small_session_is_not_starved_by_a_large_one(
    client: Callable[[str], Path], tmp_path: Path
) -> None:
    """[P8] [I7] Its span is at most 1.3 of what half the limit takes; one may be refused."""
    client("2.1.332")
    state = tmp_path / "state"
    small = Fanout(
        plugin_dir=ROOT,
        kind="workflow",
        agents=3,
        reads=2,
        width=8,
        api=API,
        max_retries=1,
        state_dir=state,
        timeout_s=200,
    )
    large = replace(small, agents=8)
    telling(small)(tmp_path)
    of_large, of_small = run_together([large, small])
    for result, agents in ((of_large, 8), (of_small, 3)):
        assert result.counts.delivered == agents, result.debug
        assert result.counts.refusals <= 1
    share = of_small.counts.uncached_tokens / (API.itpm / 2 / 60)
    assert of_small.counts.span_s <= 1.3 * share + 2.0, (of_small.counts, share)
