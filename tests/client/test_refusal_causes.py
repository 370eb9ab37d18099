"""Every cause of a refusal on the real client: the right verdict, and what can be delivered is.

[P1] [P5] [P6] of the design, for Agent calls and workflows, with the gate (2.1.332) and without
(2.1.240), with an API key and as a subscriber. Where agents die, the main thread is a script that
does what Paceline's text says and nothing else.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from paceline_bench.client import Fanout, fanout
from paceline_bench.simapi.config import Config, Fault
from refusal_runs import all_delivered, finished, paid_once, refused, run, runs_of, stops

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.client, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parents[2]
ROOMY = Config(itpm=4_000_000)
PLAN = replace(ROOMY, headers="subscriber", number_in_text=False)
WIDE = {"CLAUDE_CODE_WORKFLOW_MAX_CONCURRENT_AGENTS": "8"}
"""All at once on a small machine too."""
SMALL = Fanout(
    plugin_dir=ROOT,
    agents=4,
    reads=2,
    read_bytes=20_000,
    max_retries=1,
    role="obey",
    env=WIDE,
    timeout_s=240,
)
GATE, HOOKS = "2.1.332", "2.1.240"
KINDS = ("agent", "workflow")
DEAD = tuple(f"reader-{number:02d}" for number in range(1, 6))
"""The five that die where five have to."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", ["overload", "server_error"])
def test_an_overload_is_waited_out_and_nobody_is_lost(
    client: Callable[[str], Path], kind: Any, fault: str
) -> None:
    """[§6 overload] Two agents' second requests are refused until the client has given up."""
    client(GATE)
    faults = (Fault(kind=fault, who="agents", labels=DEAD[:2], step=1, times=2),)
    spec = replace(SMALL, kind=kind, role="main", api=replace(ROOMY, faults=faults))
    with fanout(spec) as result:
        assert result.counts.refusals == 4
        assert result.counts.delivered == result.counts.launched == 4, result.debug
        found = run(result)
    assert found["verdict"] == "complete"
    assert found["dropped"] == 0


@pytest.mark.parametrize(("kind", "auth"), [("agent", "api_key"), ("workflow", "oauth")])
@pytest.mark.parametrize("version", [GATE, HOOKS])
def test_a_throttle_that_names_no_limit_is_outlived(
    client: Callable[[str], Path], version: str, kind: Any, auth: Any
) -> None:
    """[P1] [§6 throttle] Each work's first request is refused until its agent is dead or revived.

    A subscriber is told that it is not their usage limit: the seed's own situation.
    """
    client(version)
    faults = (Fault(kind="throttle", who="agents", labels=DEAD[:2], step=0, times=2),)
    api = replace(PLAN if auth == "oauth" else ROOMY, faults=faults)
    spec = replace(SMALL, version=version, kind=kind, auth=auth, api=api, agents=3, reads=1)
    with fanout(spec) as result:
        assert result.counts.refusals == 4, "each of the two is refused twice"
        dead = all_delivered(result)
        assert len(dead) == (2 if version == HOOKS else 0)
        paid_once(result, (f"reader-{number:02d}" for number in range(1, 4)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_quota_is_waited_out_with_one_probe(
    client: Callable[[str], Path], kind: Any
) -> None:
    """[§6 quota] [CASE 25] Alone the client gives up at once: retry-after is over 60 s."""
    client(GATE)
    faults = (Fault(kind="quota", until=12.0, set_off=1),)
    api = replace(PLAN, faults=faults, retry_after=75.0)
    spec = replace(SMALL, kind=kind, role="main", auth="oauth", api=api, agents=8)
    with fanout(spec) as result:
        counts = result.counts
        assert 0 < counts.refusals + counts.main_refusals <= 8 + 1
        assert counts.delivered == counts.launched == 8, result.debug
        assert result.exit_code == 0
        assert not result.is_error
        found = run(result)
    assert found["verdict"] == "complete"


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_gate_a_quota_parks_whom_it_did_not_kill_and_those_are_woken_after_it(
    client: Callable[[str], Path], kind: Any
) -> None:
    """[§6 quota] [P6] Who starts while the window is closed waits in its hook, to the second."""
    client(HOOKS)
    faults = (Fault(kind="quota", until=12.0, set_off=0),)
    api = replace(PLAN, faults=faults, retry_after=75.0)
    spec = replace(SMALL, version=HOOKS, kind=kind, auth="oauth", api=api, agents=5)
    with fanout(spec) as result:
        assert 0 < result.counts.refusals <= 5, refused(result)  # once each: nobody knocks again
        dead = all_delivered(result)
        assert len(dead) == result.counts.refusals
        assert {death["cause"] for agent in dead for death in agent["deaths"]} == {"quota"}
        paid_once(result, (f"reader-{number:02d}" for number in range(1, 6)))


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_gate_the_main_thread_waits_for_the_quota_too_where_nobody_watches(
    client: Callable[[str], Path], kind: Any
) -> None:
    """[P1] [§6 quota] The only agent died; ``claude -p``, refused as well, would end."""
    client(HOOKS)
    faults = (Fault(kind="quota", until=12.0, set_off=1),)
    api = replace(PLAN, faults=faults, retry_after=75.0)
    spec = replace(SMALL, version=HOOKS, kind=kind, auth="oauth", api=api, agents=1, reads=1)
    with fanout(spec) as result:
        assert (result.counts.refusals, result.counts.main_refusals) == (1, 0), refused(result)
        assert len(all_delivered(result)) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_quota_beyond_all_patience_is_told_and_what_it_killed_is_woken_after_its_reset(
    client: Callable[[str], Path], kind: Any
) -> None:
    """[§6 quota] [P5] The gate parks for five seconds only; the stop of `claude -p` waits."""
    client(GATE)
    faults = (Fault(kind="quota", until=14.0, set_off=1, who="agents", step=1),)
    api = replace(PLAN, faults=faults, retry_after=75.0)
    env = WIDE | {"PACELINE_PARK_MAX": "5s"}
    spec = replace(SMALL, kind=kind, auth="oauth", api=api, env=env)
    with fanout(spec) as result:
        dead = all_delivered(result)
        assert result.counts.refusals == 4, refused(result)  # nobody knocked before the reset
        assert len(dead) == 4
        blocked = [line for line in stops(result) if line["blocked"]]
        assert len(blocked) == 1
        if kind == "agent":
            paid_once(result, DEAD[:4])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", [GATE, HOOKS])
@pytest.mark.parametrize(
    ("fault", "cause"), [("entitlement", "entitlement"), ("auth", "auth"), ("spend", "spend")]
)
def test_what_waiting_cannot_help_is_told_with_its_cause_and_not_tried_again(
    client: Callable[[str], Path], fault: str, cause: str, version: str, kind: Any
) -> None:
    """[§6 entitlement] [§6 auth] [§6 spend] [CASE 5]"""
    client(version)
    faults = (Fault(kind=fault, after=0.0, who="agents"),)
    spec = replace(SMALL, version=version, kind=kind, api=replace(ROOMY, faults=faults))
    with fanout(spec) as result:
        assert result.counts.delivered == 0
        assert result.counts.refusals <= 2 * 4, "it was tried again"
        found = run(result)
    assert found["verdict"] == "degraded"
    assert found["dropped"] == 4
    assert {agent["cause"] for agent in found["agents"]} == {cause}
    assert not any(agent["retryable"] for agent in found["agents"])


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_gate_five_dead_are_brought_back_by_what_claude_is_told(
    client: Callable[[str], Path], kind: Any
) -> None:
    """[P1] [P5] [P6] [§6 overload] Five of six die at their second request; no more is redone."""
    client(HOOKS)
    faults = (Fault(kind="overload", who="agents", labels=DEAD, step=1, times=2),)
    spec = replace(SMALL, version=HOOKS, kind=kind, api=replace(ROOMY, faults=faults), agents=6)
    with fanout(spec) as result:
        assert result.counts.refusals == 10, "two tries each"
        dead = all_delivered(result)
        assert sorted(agent["label"] for agent in dead) == list(DEAD)
        assert finished(result) == {"reader-06"}
        if kind == "agent":
            # Each went on from its transcript: not even the dead paid a step twice.
            assert all(agent["requeued_as"] == agent["agent_id"] for agent in dead)
            paid_once(result, [*DEAD, "reader-06"])
        else:
            first, second = runs_of(result)
            assert (first["launched"], second["launched"]) == (6, 5)
            paid_once(result, ["reader-06"])


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_gate_a_short_throttle_costs_nobody(
    client: Callable[[str], Path], kind: Any
) -> None:
    """[P1] [P6] Who has not begun is held; the few that died are brought back, and only those."""
    client(HOOKS)
    faults = (Fault(kind="throttle", until=6.0, set_off=0, who="agents"),)
    api = replace(ROOMY, faults=faults)
    spec = replace(SMALL, version=HOOKS, kind=kind, api=api, agents=5, reads=1)
    with fanout(spec) as result:
        assert result.counts.refusals > 0
        dead = all_delivered(result)
        assert len(dead) < 5
        paid_once(result, (f"reader-{number:02d}" for number in range(1, 6)))
