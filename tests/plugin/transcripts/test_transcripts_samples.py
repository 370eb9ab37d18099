"""What the two clients really wrote (ids and paths invented, texts shortened)."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanout_files import SAMPLES
from paceline.manifest import build_manifest

NOW = 1796000000.0
VERSIONS = ("2.1.240", "2.1.332")


def manifest(version: str, case: str) -> list[dict[str, object]]:
    told = build_manifest(str(SAMPLES / version / case / "projects"), None, now=NOW)
    return [agent for run in told["runs"] for agent in run["agents"]]


def seen(version: str, case: str) -> list[tuple[object, ...]]:
    return [(a["label"], a["state"], a["cause"], a["attempts"]) for a in manifest(version, case)]


@pytest.mark.parametrize("version", VERSIONS)
def test_background_agents(version: str) -> None:
    assert seen(version, "agents") == [
        ("good one", "completed", None, 1),
        ("dead first", "dropped", "throttle", 1),
        ("dead later", "dropped", "overload", 1),
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_workflow_that_called_itself_completed(version: str) -> None:
    """[P5]"""
    assert seen(version, "wf") == [
        ("item 0", "completed", None, 1),
        ("item 1", "dropped", "throttle", 1),
        ("item 2", "completed", None, 1),
        ("item 3", "dropped", "overload", 1),
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_foreground_agent_that_a_message_brought_back(version: str) -> None:
    """[P6] What it had read was not paid for again."""
    assert seen(version, "fg") == [
        ("dead fg", "completed", None, 2),
        ("fine fg", "completed", None, 1),
    ]
    dead = manifest(version, "fg")[0]
    assert dead["requeued_as"] == dead["agent_id"]
    assert dead["wasted"] == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_a_nested_agent_has_a_run_of_its_own(version: str) -> None:
    outer, inner = manifest(version, "nest")
    assert (outer["state"], inner["state"], inner["cause"]) == ("completed", "dropped", "throttle")
    assert inner["parent"] == outer["agent_id"]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_agent_a_person_stopped_is_not_dropped(version: str) -> None:
    assert seen(version, "stop") == [("to stop", "stopped", None, 1)]


def test_the_newer_client_shows_its_silent_retries() -> None:
    retries = [agent["silent_retries"] for agent in manifest("2.1.332", "agents")]
    assert retries == [0, 1, 1]


def test_the_samples_name_nothing_of_the_machine_they_came_from() -> None:
    for path in Path(SAMPLES).rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert "/tmp/p" not in text
            assert "/root" not in text
