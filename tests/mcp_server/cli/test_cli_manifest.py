"""``paceline manifest`` and ``paceline requeue``: JSON, exit codes, and text safe on a terminal."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from fanout_files import (
    SAMPLES,
    SESSION,
    T0,
    Files,
    answer,
    delivered,
    died,
    error,
    launch,
    launched,
    prompt,
)
from paceline_mcp import cli

CONTRACT = {
    *("run_id", "session_id", "kind", "verdict", "launched", "completed", "dropped", "running"),
    *("stopped", "agents"),
}
AGENT = {
    *("agent_id", "label", "agent_type", "model", "state", "cause", "retryable", "resets_at"),
    *("attempts", "revivals", "requeued_as", "tokens", "wasted", "transcript", "prompt_preview"),
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    made = Files(tmp_path)
    monkeypatch.setenv("PACELINE_STATE_DIR", str(made.state))
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID", raising=False)
    monkeypatch.delenv("PACELINE_REQUEUE_ATTEMPTS", raising=False)
    return made


def run(files: Files, *words: str) -> int:
    return cli.run([words[0], "--projects-dir", str(files.projects), *words[1:]])


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_the_json_is_the_contract_and_the_exit_code_the_verdict(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    files.agent("a1", delivered())
    assert run(files, "manifest", "--json") == 0
    found = told(capsys)
    assert set(found["runs"][0]) >= CONTRACT
    assert set(found["runs"][0]["agents"][0]) >= AGENT
    files.agent("a2", died())
    assert run(files, "manifest", "--json") == 3
    assert told(capsys)["verdict"] == "degraded"


def test_agents_at_work_are_exit_code_4(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    files.agent("a1", [prompt("x")])
    assert run(files, "manifest", "--json") == 4
    assert told(capsys)["runs"][0]["running"] == 1


def test_the_usual_folder_is_the_clients(
    files: Files, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files.agent("a1", delivered())
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(files.projects.parent))
    assert cli.run(["manifest", "--json"]) == 0
    assert told(capsys)["census"]["launched"] == 1


def test_a_person_sees_the_dead_the_causes_and_what_to_type_next(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    files.main(
        [
            answer(launch("toolu_1", "\x1b[31mred\x07"), stop="tool_use", ident="msg_1"),
            launched("toolu_1", "a1"),
        ]
    )
    files.agent("a1", died(), toolUseId="toolu_1")
    files.agent("a2", died("You've hit your monthly spend limit · raise it"))
    assert run(files, "manifest") == 3
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\x07" not in shown
    for words in (
        "dropped",
        "throttle",
        "spend: You've hit your monthly spend limit",
        "unverified, never refuted",
        "next: paceline requeue",
    ):
        assert words in shown


def test_ids_that_are_none_and_ids_of_nothing(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    files.agent("a1", delivered())
    assert run(files, "manifest", "--session", "../x") == 2
    assert "no id" in capsys.readouterr().err
    assert run(files, "manifest", "--run", "wf_none") == 1
    assert "next: paceline manifest" in capsys.readouterr().err
    assert run(files, "manifest", "--session", SESSION) == 0


def test_only_the_newest_session(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    files.agent("a1", died())
    other = Files(files.projects.parent, "00000002-0000-4000-8000-000000000002")
    path = other.agent("a2", delivered())
    later = path.stat().st_mtime + 60
    os.utime(path, (later, later))
    assert run(files, "manifest", "--json") == 3
    assert told(capsys)["census"]["launched"] == 2
    assert run(files, "manifest", "--last", "--json") == 0
    assert told(capsys)["census"]["launched"] == 1


@pytest.mark.parametrize("by", ["run", "session", "day"])
def test_tokens_by_run_session_and_day(
    files: Files, capsys: pytest.CaptureFixture[str], by: str
) -> None:
    files.main([answer("Hello.", at=0.0, usage=(7, 0, 0, 1))])
    files.agent("a1", [prompt("x"), answer("I read.", at=1.0, stop="tool_use"), error(at=5.0)])
    files.agent("a2", delivered(usage=(3, 100, 5000, 20)))
    assert run(files, "manifest", "--by", by, "--json") == 3
    found = told(capsys)
    rows = found["rows"]
    assert found["by"] == by
    assert sum(row["agents"] for row in rows) == 2
    assert sum(row["wasted"] for row in rows) == 123
    main = 8 if by == "session" else 0
    assert sum(row["spent"] for row in rows) == 123 + 123 + main
    assert run(files, "manifest", "--by", by) == 3
    shown = capsys.readouterr().out
    assert rows[0]["key"] in shown
    assert "saved is an estimate" in shown
    assert run(files, "manifest", "--by", "moon") == 2


def test_requeue_gives_tickets_once_and_a_script_on_disk(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    """[P6]"""
    projects = str(SAMPLES / "2.1.332" / "wf" / "projects")
    assert cli.run(["requeue", "--projects-dir", projects, "--json"]) == 3
    first = told(capsys)
    assert [ticket["state"] for ticket in first["tickets"]] == ["open", "open"]
    script = Path(first["scripts"][0]["path"]).read_text(encoding="utf-8")
    assert script == first["scripts"][0]["script"]
    assert cli.run(["requeue", "--projects-dir", projects]) == 3
    shown = capsys.readouterr().out
    assert "issued" in shown
    assert "Workflow({scriptPath" in shown


def test_requeue_without_a_loss_says_so(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    files.agent("a1", delivered())
    assert run(files, "requeue") == 0
    assert "nothing died" in capsys.readouterr().out


def test_requeue_says_how_to_have_those_too_that_no_limit_killed(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    files.agent("a1", died("You've hit your monthly spend limit"))
    assert run(files, "requeue") == 0
    assert "no limit killed 1 of these; next, to have them too: paceline requeue --all" in (
        capsys.readouterr().out
    )
    assert run(files, "requeue", "--all") == 3
    assert "open" in capsys.readouterr().out


def test_an_id_of_nothing_is_not_taken_for_a_run_without_a_loss(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    files.agent("a1", delivered())
    for asked in (("--run", "wf_nope"), ("--session", "nope")):
        assert run(files, "requeue", *asked) == 1
        assert "nothing launched under that id; next: " in capsys.readouterr().err


def test_a_projects_folder_that_is_none_is_not_taken_for_an_empty_one(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("manifest", "requeue"):
        assert cli.run([command, "--projects-dir", str(files.projects / "typo")]) == 2
        assert "--projects-dir is no folder" in capsys.readouterr().err


def test_requeue_is_about_the_newest_session_unless_asked(
    files: Files, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files.agent("a1", died())
    os.utime(files.folder / "subagents" / "agent-a1.jsonl", (T0, T0))
    other = Files(files.projects.parent, "00000002-0000-4000-8000-000000000002")
    other.agent("a2", delivered())
    assert run(files, "requeue", "--dry-run") == 0
    assert run(files, "requeue", "--dry-run", "--session", SESSION) == 3
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", SESSION)
    assert run(files, "requeue", "--dry-run") == 3
    capsys.readouterr()
    assert not files.state.exists()
