"""``paceline status``: what it tells, and how it exits."""

from __future__ import annotations

import json
import time
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest

from fanout_files import (
    T0,
    Files,
    agent_id,
    answer,
    delivered,
    died,
    error,
    launch,
    launched,
    prompt,
)
from paceline import account
from paceline.estimate import learn
from paceline.ledger import admit, belief, breaker
from paceline.ledger.store import FileStore
from paceline.ledger.verdicts import Policy
from paceline_mcp import cli
from paceline_mcp.report.overview import midnight

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from paceline.ledger.values import Ledger

OTHER = "00000002-0000-4000-8000-000000000002"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("PACELINE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "made-up")
    for name in ("PACELINE_ACCOUNT", "PACELINE_LEDGER", "PACELINE_MODE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def files(home: Path) -> Files:
    return Files(home)


@pytest.fixture
def status(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any]]:
    def ask(*options: str) -> tuple[int, Any]:
        code = cli.run(["status", "--json", *options])
        return code, json.loads(capsys.readouterr().out)

    return ask


def change(home: Path, made: Callable[[Ledger, float], Any]) -> None:
    state = str(home / "state")
    name = account.account_id({"ANTHROPIC_API_KEY": "made-up"}, state)
    FileStore(str(home / "state" / "ledger"), name).transact(made)


def ago(seconds: float) -> float:
    return time.time() - T0 - seconds


def fan_out(files: Files, *agents: list[Any], label: str = "reader") -> None:
    calls = [launch(f"toolu_{at}", f"{label} {at}") for at, _ in enumerate(agents)]
    rows = [prompt("Go.", ago(9)), answer(*calls, stop="tool_use", at=ago(8))]
    rows += [launched(f"toolu_{at}", agent_id(at + 1), ago(7)) for at, _ in enumerate(agents)]
    files.main(rows)
    for at, told in enumerate(agents):
        files.agent(agent_id(at + 1), told, toolUseId=f"toolu_{at}")


def fresh(text: str = "Done.") -> list[Any]:
    return [prompt("Read it.", ago(6)), answer(text, at=ago(5), usage=(10, 1000, 500, 40))]


def fresh_death() -> list[Any]:
    begun = answer("I read", stop="tool_use", at=ago(6), usage=(10, 700, 0, 20))
    return [prompt("Read it.", ago(6)), begun, error(at=ago(5))]


def test_a_machine_without_sessions_is_fine_and_told_how_to_begin(
    home: Path, status: Callable[..., tuple[int, Any]]
) -> None:
    code, told = status()
    assert code == 0
    assert (told["session"], told["limits"], told["waiting"]) == (None, [], 0)
    assert told["next"].startswith("claude")


def test_where_the_shell_has_no_key_the_newest_sessions_account_is_shown(
    home: Path,
    files: Files,
    status: Callable[..., tuple[int, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A key may stand in the client's settings alone."""
    change(home, lambda ledger, now: belief.tell(ledger, "all", "input", 9e4, now, source="set"))
    name = account.account_id({"ANTHROPIC_API_KEY": "made-up"}, str(home / "state"))
    files.log({"t": ago(9), "e": "session.start", "account": name})
    for variable in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    _, told = status()
    assert (told["account"], [row["limit"] for row in told["limits"]]) == (name, [9e4])
    assert cli.run(["limits", "set", "--model", "all", "--itpm", "80000", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["account"] == name
    assert [row["limit"] for row in status()[1]["limits"]] == [8e4]
    assert cli.run(["ledger", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["account"] == name
    assert status("--reset-learning")[1]["account"] == name
    assert {file.stem for file in (home / "state" / "ledger").glob("*.json")} == {name}
    monkeypatch.setenv("PACELINE_ACCOUNT", "another")
    assert status()[1]["limits"] == []


def test_a_ledger_that_cannot_be_used_is_not_taken_for_one_without_limits(
    home: Path, status: Callable[..., tuple[int, Any]]
) -> None:
    change(home, lambda ledger, now: belief.tell(ledger, "all", "input", 9e4, now, source="set"))
    (file,) = (home / "state" / "ledger").glob("*.json")
    file.write_text('{"v":99}', encoding="utf-8")
    _, told = status()
    (row,) = (row for row in told["layers"] if row["name"] == "ledger")
    assert (row["level"], "newer Paceline" in row["found"]) == ("bad", True)
    assert told["next"] == "paceline doctor"


def test_the_exit_code_is_the_newest_sessions_verdict(
    files: Files, status: Callable[..., tuple[int, Any]]
) -> None:
    """[P5]"""
    fan_out(files, fresh(), fresh())
    assert status()[0] == 0
    fan_out(files, fresh(), fresh_death())
    code, told = status()
    assert (code, told["session"]["verdict"], told["next"]) == (3, "degraded", "paceline requeue")
    fan_out(files, fresh(), [prompt("Read it.", ago(1))])
    code, told = status()
    assert (code, told["session"]["verdict"], told["next"]) == (4, "running", "paceline top")


def test_what_cannot_be_brought_back_points_at_the_manifest(
    files: Files, status: Callable[..., tuple[int, Any]]
) -> None:
    text = "API Error: Extra usage is required for long context requests."
    fan_out(files, [prompt("Read it.", ago(6)), error(text, at=ago(5))])
    code, told = status()
    assert (code, told["next"]) == (3, f"paceline manifest --session {files.session}")


def test_today_counts_today_alone(files: Files, status: Callable[..., tuple[int, Any]]) -> None:
    fan_out(files, fresh(), fresh_death())
    files.agent("a9", delivered(usage=(5, 900, 0, 9)))  # of another day
    _, told = status()
    today = told["today"]
    assert today["agents"] == 2
    assert today["completed"] == 1
    assert today["spent"] == 1050 + 730
    assert today["wasted"] == 730


def test_the_day_begins_at_local_midnight() -> None:
    begun = midnight(T0)
    assert 0 <= T0 - begun < 90_000
    assert time.localtime(begun)[3:6] == (0, 0, 0)
    assert midnight(begun) == begun


def test_limits_levels_waiters_and_closed_accounts_are_told(
    home: Path, status: Callable[..., tuple[int, Any]]
) -> None:
    def made(ledger: Ledger, now: float) -> None:
        belief.tell(ledger, "opus-5", "input", 60_000, now, source="set")
        ask: dict[str, Any] = {"family": "opus-5", "session": "s", "agent": "a1", "cls": "new"}
        for ticket, tokens in (("t1", 50_000.0), ("t2", 40_000.0)):
            admit.enqueue(
                ledger, ticket=ticket, now=now, amounts={"input": tokens}, lease=60.0, **ask
            )
        admit.tick(ledger, ["t1", "t2"], now, Policy())
        breaker.open_quota(ledger.family("opus-4").breaker, now + 900, "five_hour", now)

    change(home, made)
    _, told = status()
    assert (told["waiting"], told["reserved"]) == (1, 1)
    (limit,) = told["limits"]
    assert (limit["limit"], limit["source"]) == (60_000, "set")
    (bucket,) = told["buckets"]
    assert bucket["level"] < 20_000
    (shut,) = told["closed"]
    assert (shut["family"], shut["cause"], shut["window"]) == ("opus-4", "quota", "five_hour")


def test_what_was_learned_of_the_estimates_is_shown_and_forgotten_when_asked(
    home: Path, status: Callable[..., tuple[int, Any]]
) -> None:
    def made(ledger: Ledger, _: float) -> None:
        for _ in range(9):
            ledger.corrections = learn.observe(ledger.corrections, "prose", "opus-5", 1000, 1300)

    change(home, made)
    (row,) = status()[1]["corrections"]
    assert (row["kind"], row["family"], row["samples"]) == ("prose", "opus-5", 9)
    assert 1.1 < row["factor"] <= 1.3
    assert status("--reset-learning")[1]["corrections"] == []
    assert status()[1]["corrections"] == []


def test_a_session_no_hook_ran_in_is_told_apart(
    files: Files, status: Callable[..., tuple[int, Any]]
) -> None:
    fan_out(files, fresh())
    assert status()[1]["layers"][0]["found"].startswith("no hook ran there")
    files.log({"t": ago(5), "e": "session.start"}, {"t": ago(4), "e": "batch", "ids": []})
    row = status()[1]["layers"][0]
    assert row["found"].startswith("alive: 2 events")


def test_a_person_reads_lines_that_end_with_what_to_type(
    files: Files, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fan_out(files, fresh(), fresh_death())
    change(home, lambda led, now: belief.tell(led, "opus-5", "input", 6e4, now, source="text"))
    assert cli.run(["status"]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].split() == ["next", "paceline", "requeue"]
    assert any("1 of 2 delivered, 1 dropped" in line for line in lines)
    assert any("about 0 saved (an estimate)" in line for line in lines)
    assert any("told in the text of a refusal" in line for line in lines)


def test_hostile_names_reach_no_terminal(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    fan_out(files, died("\x1b[2J\u202egnp.exe"), label="\x1b]0;owned\x07")
    files.log({"t": ago(1), "e": "fault", "where": "\x1b[31m", "what": "a\x9bb\nnext  rm -rf"})
    assert cli.run(["status"]) == 3
    out = capsys.readouterr().out
    assert not any(unicodedata.category(c)[0] == "C" for c in out.replace("\n", ""))
    assert sum(line.startswith("next ") for line in out.splitlines()) == 1
