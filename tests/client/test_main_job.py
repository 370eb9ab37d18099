"""The main job on the real client: what dies without the plugin is delivered with it."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from paceline import jsonl
from paceline.manifest import build_manifest
from paceline_bench.client import SEED_API, Fanout, fanout, telling
from paceline_bench.simapi.config import Fault
from paceline_bench.simapi.records import read_log

if TYPE_CHECKING:
    from collections.abc import Callable

    from paceline_bench.client.result import RunResult
    from paceline_bench.client.run import Progress

pytestmark = [pytest.mark.client, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parents[2]
SEED = Fanout(
    plugin_dir=ROOT,
    kind="workflow",
    agents=6,
    reads=1,
    max_retries=1,
    api=SEED_API,
    timeout_s=200,
)
SUBSCRIBER_API = replace(
    SEED_API, headers="subscriber", number_in_text=False, retry_after=False, refusal_headers=False
)


def manifest_of(result: RunResult) -> dict[str, Any]:
    projects = Path(result.home, ".claude", "projects")
    assert result.session is not None
    (run,) = build_manifest(str(projects), str(result.state), result.session, now=time.time())[
        "runs"
    ]
    return dict(run)


def events_of(result: RunResult) -> list[dict[str, Any]]:
    assert result.session is not None
    lines, _ = jsonl.read(str(Path(result.state, "sessions", result.session, "events.jsonl")))
    return lines


@pytest.mark.parametrize(
    ("auth", "api"), [("api_key", SEED_API), ("oauth", SUBSCRIBER_API)], ids=["key", "subscriber"]
)
def test_a_workflow_that_meets_a_limit_nobody_told_delivers_every_agent(
    client: Callable[[str], Path], auth: Any, api: Any
) -> None:
    """[P1] [P4] [P5] Without the plugin five of six die in four seconds (test_seed_failure)."""
    client("2.1.332")
    with fanout(replace(SEED, auth=auth, api=api)) as result:
        assert result.counts.delivered == result.counts.launched == 6, result.debug
        run = manifest_of(result)
        settled = [line for line in events_of(result) if line["e"] == "request.settle"]
    assert (run["verdict"], run["completed"], run["launched"]) == ("complete", 6, 6)
    assert all(agent["state"] == "completed" for agent in run["agents"])
    assert len(settled) >= 12


def test_hooks_alone_pace_an_older_client_that_is_told_its_limit(
    client: Callable[[str], Path],
) -> None:
    """[P1] No gate on 2.1.240: the same ledger, held in SubagentStart and PostToolBatch."""
    client("2.1.240")
    spec = replace(SEED, version="2.1.240", kind="agent")
    with fanout(spec, prepare=telling(spec)) as result:
        assert result.counts.delivered == result.counts.launched == 6, result.debug
        run = manifest_of(result)
        grants = [line for line in events_of(result) if line["e"] == "request.grant"]
    assert result.counts.refusals <= 6
    assert (run["verdict"], run["completed"]) == ("complete", 6)
    assert {line["by"] for line in grants} == {"hook"}


def test_with_its_server_killed_a_session_is_no_worse_than_without_the_plugin(
    client: Callable[[str], Path],
) -> None:
    """[P7] The server dies as soon as it has spoken; everything still ends, nothing hangs."""
    client("2.1.332")
    killed: list[int] = []

    def kill_the_server(progress: Progress) -> None:
        for gate in Path(progress.home, "state").glob("sessions/*/gate"):
            pid = int(gate.read_text(encoding="ascii") or "0")
            if pid and pid not in killed:
                killed.append(pid)
                os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))

    roomy = replace(SEED_API, itpm=2_000_000, itpm_capacity=None)
    spec = replace(SEED, kind="agent", agents=3, reads=2, api=roomy)
    with fanout(spec, progress=kill_the_server) as result:
        assert killed, "no server was seen"
        assert not result.timed_out
        assert result.exit_code == 0
        assert result.counts.delivered == result.counts.launched == 3


def test_a_fan_out_whose_server_is_killed_is_paced_on_by_the_one_started_in_its_place(
    client: Callable[[str], Path],
) -> None:
    """[P1] [P7] Let go at once, with no retries of their own, all but one of those held died."""
    client("2.1.332")
    killed: list[int] = []

    def kill_while_agents_are_held(progress: Progress) -> None:
        for log in Path(progress.home, "state").glob("sessions/*/events.jsonl"):
            if not killed and b'"request.wait"' in log.read_bytes():
                killed.append(int(log.with_name("gate").read_text(encoding="ascii")))
                os.kill(killed[0], getattr(signal, "SIGKILL", signal.SIGTERM))

    spec = replace(SEED, kind="agent")
    with fanout(spec, progress=kill_while_agents_are_held) as result:
        assert killed, "nobody was held"
        assert result.counts.delivered == result.counts.launched == 6, result.debug
        run = manifest_of(result)
        grants = [line["by"] for line in events_of(result) if line["e"] == "request.grant"]
    assert (run["verdict"], run["completed"]) == ("complete", 6)
    assert set(grants) == {"gate"}


def test_without_a_ledger_the_clients_own_retries_bring_the_refused_back(
    client: Callable[[str], Path], tmp_path: Path
) -> None:
    """[P7] The gate sets them to none while it answers; it cannot bring anybody back here."""
    client("2.1.332")
    (tmp_path / "ledger").write_text("in the way", encoding="utf-8")
    fault = Fault(kind="throttle", who="agents", step=0, times=1)
    api = replace(SEED_API, itpm=2_000_000, itpm_capacity=None, faults=(fault,))
    away = {"PACELINE_LEDGER": str(tmp_path / "ledger")}
    spec = replace(SEED, kind="agent", agents=2, reads=1, api=api, env=away, max_retries=3)
    with fanout(spec) as result:
        assert result.counts.refusals >= 1
        assert result.counts.delivered == result.counts.launched == 2, result.debug
        faults = [line for line in events_of(result) if line["e"] == "fault"]
    assert [line["where"] for line in faults] == ["gate"]


def test_a_reply_that_breaks_off_and_is_refused_then_loses_nobody(
    client: Callable[[str], Path],
) -> None:
    """[P1] [P7] The client asks for the whole answer then, and would try ten times without us."""
    client("2.1.332")
    fault = Fault(kind="overload_midway", who="agents", step=1, times=2)
    api = replace(SEED_API, itpm=2_000_000, itpm_capacity=None, faults=(fault,))
    spec = replace(SEED, kind="agent", agents=2, read_bytes=20_000, api=api, max_retries=None)
    with fanout(spec) as result:
        assert result.counts.delivered == result.counts.launched == 2, result.debug
        run = manifest_of(result)
        outcomes = Counter(record.outcome for record in read_log(result.api_log))
    assert (outcomes["broken"], outcomes["refused"]) == (2, 2)
    assert (run["verdict"], run["completed"], run["launched"]) == ("complete", 2, 2)


def test_a_client_that_has_another_model_falls_back_on_it_as_without_the_plugin(
    client: Callable[[str], Path],
) -> None:
    """[P7] [§6 overload] Held until the first model is back, nobody would ever be done here."""
    client("2.1.332")
    fault = Fault(kind="overload", who="agents", family="opus-5-5")
    api = replace(SEED_API, itpm=2_000_000, itpm_capacity=None, faults=(fault,))
    other = ("--fallback-model", "claude-haiku-5-5")
    spec = replace(SEED, kind="agent", agents=4, read_bytes=20_000, api=api, options=other)
    with fanout(replace(spec, max_retries=None, timeout_s=100)) as result:
        assert result.counts.delivered == result.counts.launched == 4, result.debug
        run = manifest_of(result)
        taken = {record.model for record in read_log(result.api_log) if record.outcome == "ok"}
    assert taken == {"claude-opus-5-5", "claude-haiku-5-5"}, "the main thread's and the agents'"
    assert (run["verdict"], run["completed"]) == ("complete", 4)


def test_where_no_transcript_is_kept_refused_agents_are_brought_back_all_the_same(
    client: Callable[[str], Path],
) -> None:
    """[P1] [P5] The error row that tells why is never written; the gate is handed its text."""
    client("2.1.332")
    fault = Fault(kind="overload", who="agents", step=0, times=1)
    api = replace(SEED_API, itpm=2_000_000, itpm_capacity=None, faults=(fault,))
    unkept = {"CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1"}
    spec = replace(SEED, kind="agent", agents=2, read_bytes=20_000, api=api, env=unkept)
    with fanout(spec) as result:
        assert not list(Path(result.home, ".claude", "projects").rglob("*.jsonl"))
        assert result.counts.refusals == 2
        assert result.counts.delivered == result.counts.launched == 2, result.debug
        run = manifest_of(result)
    assert (run["verdict"], run["completed"], run["launched"]) == ("complete", 2, 2)
    assert {agent["revivals"] for agent in run["agents"]} == {1}


def test_a_session_without_a_fan_out_is_untouched(client: Callable[[str], Path]) -> None:
    """[P7] Nothing is said, nothing is held, nothing is added to what the person sees."""
    client("2.1.332")
    plain = replace(SEED, kind="none", plugin_dir=None, api=replace(SEED_API, itpm=2_000_000))
    with fanout(plain) as without, fanout(replace(plain, plugin_dir=ROOT)) as result:
        assert result.exit_code == without.exit_code == 0
        assert result.result == without.result
        assert result.counts.requests == without.counts.requests
        events = events_of(result)
    assert not [line for line in events if line["e"] in {"request.wait", "fault"}]
    assert all(line["waited"] < 1.0 for line in events if line["e"] == "request.grant")
