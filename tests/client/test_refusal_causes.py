"""Every cause of a refusal on the real client: the right verdict, and what can be delivered is.

[P1] [P5] [P6] of the design, for Agent calls and workflows, with the gate (2.1.332) and without.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from paceline.manifest import build_manifest
from paceline_bench.client import Fanout, fanout
from paceline_bench.simapi.config import Config, Fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from paceline_bench.client.result import RunResult

pytestmark = [pytest.mark.client, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parents[2]
ROOMY = Config(itpm=4_000_000)
PLAN = replace(ROOMY, headers="subscriber", number_in_text=False)
SMALL = Fanout(plugin_dir=ROOT, agents=4, reads=2, read_bytes=20_000, max_retries=1, timeout_s=120)
GATE, HOOKS = "2.1.332", "2.1.240"


def runs_of(result: RunResult) -> list[dict[str, Any]]:
    projects = str(Path(result.home, ".claude", "projects"))
    return list(
        build_manifest(projects, str(result.state), result.session, now=time.time())["runs"]
    )


def run(result: RunResult) -> dict[str, Any]:
    (found,) = runs_of(result)
    return found


@pytest.mark.parametrize("kind", ["agent", "workflow"])
@pytest.mark.parametrize("fault", ["overload", "server_error"])
def test_an_overload_is_waited_out_and_nobody_is_lost(
    client: Callable[[str], Path], kind: Any, fault: str
) -> None:
    """[§6 overload] Four seconds in which every agent's request is refused."""
    client(GATE)
    faults = (Fault(kind=fault, after=3.0, until=7.0, who="agents"),)
    spec = replace(SMALL, kind=kind, api=replace(ROOMY, faults=faults))
    with fanout(spec) as result:
        assert result.counts.refusals > 0, "nothing was refused: the test tests nothing"
        assert result.counts.delivered == result.counts.launched == 4, result.debug
        found = run(result)
    assert found["verdict"] == "complete"
    assert found["dropped"] == 0


def test_a_plan_quota_is_waited_out_with_one_probe(client: Callable[[str], Path]) -> None:
    """[§6 quota] [CASE 25] Alone the client gives up at once: retry-after is over 60 s."""
    client(GATE)
    faults = (Fault(kind="quota", after=4.0, until=20.0),)
    api = replace(PLAN, faults=faults, retry_after=75.0)
    spec = replace(SMALL, kind="agent", auth="oauth", api=api, agents=8)
    with fanout(spec) as result:
        counts = result.counts
        assert 0 < counts.refusals + counts.main_refusals <= 8 + 1
        assert counts.delivered == counts.launched == 8, result.debug
        assert result.exit_code == 0
        assert not result.is_error
        found = run(result)
    assert found["verdict"] == "complete"


@pytest.mark.parametrize(
    ("fault", "cause"), [("entitlement", "entitlement"), ("auth", "auth"), ("spend", "spend")]
)
def test_what_waiting_cannot_help_is_told_with_its_cause_and_not_tried_again(
    client: Callable[[str], Path], fault: str, cause: str
) -> None:
    """[§6 entitlement] [§6 auth] [§6 spend] [CASE 5]"""
    client(GATE)
    faults = (Fault(kind=fault, after=0.0, who="agents"),)
    spec = replace(SMALL, kind="workflow", api=replace(ROOMY, faults=faults))
    with fanout(spec) as result:
        assert result.counts.delivered == 0
        assert result.counts.refusals <= 2 * 4, "it was tried again"
        found = run(result)
    assert found["verdict"] == "degraded"
    assert found["dropped"] == 4
    assert {agent["cause"] for agent in found["agents"]} == {cause}
    assert not any(agent["retryable"] for agent in found["agents"])


@pytest.mark.parametrize("kind", ["agent", "workflow"])
def test_without_a_gate_the_dead_are_brought_back_by_what_claude_is_told(
    client: Callable[[str], Path], kind: Any
) -> None:
    """[P1] [P6] Five die on 2.1.240; a model that does as the hooks say brings back just those."""
    client(HOOKS)
    faults = (Fault(kind="throttle", after=0.0, until=9.0, who="agents"),)
    spec = replace(
        SMALL,
        version=HOOKS,
        kind=kind,
        role="obey",
        api=replace(ROOMY, faults=faults),
        agents=5,
    )
    with fanout(spec) as result:
        assert result.counts.refusals > 0
        assert result.counts.delivered == result.counts.launched == 5, result.debug
        found = runs_of(result)
    drops = [agent for one in found for agent in one["agents"] if agent["state"] == "dropped"]
    assert all(agent["requeued_as"] for agent in drops)
    assert {one["verdict"] for one in found} == {"complete"}
