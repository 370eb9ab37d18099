"""Each cause on each client, for each kind of fan-out and each way to sign in: forty short runs.

The seven minutes they take are for who asks: ``PACELINE_TEST_THOROUGH=1``. The same ground, one way
to sign in at a time, is in ``test_refusal_causes``, which always runs.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from paceline_bench.client import Fanout, fanout
from paceline_bench.simapi.config import Config, Fault
from refusal_runs import all_delivered, events, finished, paid_once, refused, run

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.client,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not os.environ.get("PACELINE_TEST_THOROUGH"), reason="PACELINE_TEST_THOROUGH=1 runs it"
    ),
]

GATE, HOOKS = "2.1.332", "2.1.240"
KEY, PLAN = "api_key", "oauth"
ONE = ("reader-01",)
PASSING: dict[str, Fault] = {
    "throttle": Fault("throttle", who="agents", labels=ONE, step=1, times=2),
    "overload": Fault("overload", who="agents", labels=ONE, step=1, times=2),
    "quota": Fault("quota", until=12.0, set_off=1),
}
LASTING: dict[str, Fault] = {
    "entitlement": Fault("entitlement", who="agents"),
    "auth": Fault("auth", who="agents"),
}


def spec(version: str, kind: Any, auth: Any, fault: Fault) -> Fanout:
    """Return two agents of one read each, with one retry, before an API with that fault."""
    api = Config(itpm=4_000_000, faults=(fault,))
    if auth == PLAN:
        api = replace(api, headers="subscriber", number_in_text=False, retry_after=75.0)
    return Fanout(
        version=version,
        plugin_dir=Path(__file__).resolve().parents[2],
        kind=kind,
        auth=auth,
        agents=2,
        reads=1,
        read_bytes=20_000,
        max_retries=1,
        role="obey",
        env={"CLAUDE_CODE_WORKFLOW_MAX_CONCURRENT_AGENTS": "8"},
        api=api,
        timeout_s=240,
    )


def causes(result: Any) -> set[str]:
    """Return the causes of all refusals of agents in the event log."""
    kinds = ("agent.failed", "request.refused")
    return {line["cause"] for line in events(result) if line["e"] in kinds and line["agent"]}


@pytest.mark.parametrize("auth", [KEY, PLAN])
@pytest.mark.parametrize("kind", ["agent", "workflow"])
@pytest.mark.parametrize("version", [GATE, HOOKS])
@pytest.mark.parametrize("cause", sorted(PASSING))
def test_what_passes_is_outlived_and_all_deliver(
    client: Callable[[str], Path], cause: str, version: str, kind: str, auth: str
) -> None:
    """[P1] [P5] [P6] [§6 throttle] [§6 overload] [§6 quota]"""
    client(version)
    fault = PASSING[cause]
    met, mortal = {cause}, version == HOOKS
    if cause == "quota" and auth == KEY:
        # A key has no plan: the client reads nothing of a window, says what the API says, and
        # waits itself for as long as its one retry was told to, unseen where no gate is.
        met, mortal, fault = {"throttle"}, False, replace(fault, who="agents")
    with fanout(spec(version, kind, auth, fault)) as result:
        dead = all_delivered(result)
        assert result.counts.refusals > 0
        assert result.counts.main_refusals == 0, refused(result)
        assert causes(result) == (met if mortal or version == GATE else set())
        assert bool(dead) == mortal
        assert {death["cause"] for agent in dead for death in agent["deaths"]} <= met
        whole = {"reader-01", "reader-02"} if kind == "agent" else finished(result)
        if whole:
            paid_once(result, whole)


@pytest.mark.parametrize("auth", [KEY, PLAN])
@pytest.mark.parametrize("kind", ["agent", "workflow"])
@pytest.mark.parametrize("version", [GATE, HOOKS])
@pytest.mark.parametrize("cause", sorted(LASTING))
def test_what_lasts_is_told_and_not_tried_again(
    client: Callable[[str], Path], cause: str, version: str, kind: str, auth: str
) -> None:
    """[P5] [§6 entitlement] [§6 auth]"""
    client(version)
    with fanout(spec(version, kind, auth, LASTING[cause])) as result:
        assert result.counts.delivered == 0
        assert result.counts.refusals <= 2 * 2, refused(result)
        assert causes(result) == {cause}
        found = run(result)
    assert (found["verdict"], found["dropped"]) == ("degraded", 2)
    assert {agent["cause"] for agent in found["agents"]} == {cause}
    assert not any(agent["retryable"] for agent in found["agents"])
