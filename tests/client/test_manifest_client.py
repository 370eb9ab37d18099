"""The manifest against what the simulated API saw, without the plugin: from files alone."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from paceline.manifest import build_manifest
from paceline_bench.client import SEED_API, Fanout, fanout

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Literal

pytestmark = pytest.mark.client


@pytest.mark.parametrize("version", ["2.1.332", "2.1.240"])
@pytest.mark.parametrize("kind", ["agent", "workflow"])
def test_the_manifest_counts_what_the_api_saw(
    client: Callable[[str], Path], version: str, kind: Literal["agent", "workflow"]
) -> None:
    """[P5] The client calls this run a success; some of its agents never delivered."""
    client(version)
    spec = Fanout(
        version=version,
        kind=kind,
        agents=4,
        read_bytes=40_000,
        width=4,
        api=replace(SEED_API, itpm=60_000, itpm_capacity=30_000),
        timeout_s=90,
    )
    with fanout(spec) as run:
        told = build_manifest(str(run.home / ".claude" / "projects"), None, now=time.time())
        census = told["census"]
        assert run.counts.dropped > 0
        assert not run.is_error
        assert census["launched"] == 4
        assert census["completed"] == run.counts.delivered
        assert census["dropped"] == run.counts.dropped
        assert told["verdict"] == "degraded"
        dead = [a for one in told["runs"] for a in one["agents"] if a["state"] == "dropped"]
        assert {(a["cause"], a["retryable"]) for a in dead} == {("throttle", True)}
        assert all(a["transcript"] and a["label"] for a in dead)


@pytest.mark.parametrize("version", ["2.1.332", "2.1.240"])
def test_a_clean_run_has_no_false_drop(client: Callable[[str], Path], version: str) -> None:
    """[P5]"""
    client(version)
    spec = Fanout(
        version=version, kind="workflow", agents=4, read_bytes=20_000, width=4, timeout_s=90
    )
    with fanout(spec) as run:
        told = build_manifest(str(run.home / ".claude" / "projects"), None, now=time.time())
        assert run.counts.delivered == 4
        assert (told["verdict"], told["census"]["completed"]) == ("complete", 4)
        spent = sum(
            one["tokens"]["input"] + one["tokens"]["cache_creation"] for one in told["runs"]
        )
        assert spent > 0
