"""What the plugin is for: the client alone loses agents and calls it a success."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import pytest

from paceline_bench.client import SEED_API, Fanout, fanout

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.client

NO_NUMBERS = replace(SEED_API, headers="none", number_in_text=False)


@pytest.mark.parametrize(
    ("version", "kind"),
    [("2.1.332", "workflow"), ("2.1.332", "agent"), ("2.1.240", "agent")],
)
def test_without_the_plugin_most_agents_are_lost_and_the_session_is_a_success(
    client: Callable[[str], Path], version: str, kind: Literal["agent", "workflow"]
) -> None:
    client(version)
    spec = Fanout(version=version, kind=kind, width=15, api=NO_NUMBERS, timeout_s=90)
    with fanout(spec) as run:
        assert run.exit_code == 0, run.errors
        assert not run.is_error
        assert run.counts.launched == 6
        assert run.counts.dropped >= 3
        assert run.counts.refusals >= run.counts.dropped * 2
        assert run.counts.wasted_tokens > 0
        assert run.leftovers == 0


def test_with_room_for_all_the_same_fan_out_loses_nobody(client: Callable[[str], Path]) -> None:
    client("2.1.332")
    spec = Fanout(kind="workflow", width=15, timeout_s=90)
    with fanout(spec) as run:
        assert run.counts.delivered == 6
        assert run.counts.refusals == 0
        assert run.counts.wasted_tokens == 0
