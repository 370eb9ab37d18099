"""The benchmarks of the ledger run and count what they say they count; no figure is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from paceline.ledger import history
from paceline.ledger.store import FileStore
from paceline_bench import hidden_limit, ledger_cost

if TYPE_CHECKING:
    from pathlib import Path


def test_the_file_measured_is_that_of_forty_agents(tmp_path: Path) -> None:
    store = FileStore(str(tmp_path), ledger_cost.ACCOUNT)
    ledger_cost.fill(store)
    ledger = store.snapshot()
    assert len(ledger.tickets) + len(ledger.reservations) == ledger_cost.AGENTS
    assert len(history.rows(ledger.families[ledger_cost.FAMILY].learner)) >= 150


@pytest.mark.parametrize("pace", ["busy", "hammer"])
def test_every_process_is_measured(pace: str) -> None:
    figure = ledger_cost.measured(2, pace, 0.3)
    assert (figure.processes, figure.pace) == (2, pace)
    assert figure.transactions >= 2
    assert 0 < figure.median <= figure.p99 <= figure.most


def test_the_core_alone_grants_one_request_after_the_other() -> None:
    assert ledger_cost.core(waiting=50, grants=100) > 0


def test_a_hidden_limit_leaves_no_agent_unaccounted_for() -> None:
    api = hidden_limit.Api(1_000.0, 60_000.0)
    found = hidden_limit.Run(hidden_limit.MIXES["mixed"], api, minutes=4.0).play()
    assert found.lost == 0
    assert len(found.minutes) == 4
    assert found.requests > 0
