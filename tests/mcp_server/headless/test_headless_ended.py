"""What a session is when its process is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fanout_files import (
    SESSION,
    SESSION_LIMIT,
    T0,
    THROTTLE,
    Files,
    agent_id,
    answer,
    delivered,
    died,
    error,
    launch,
    launched,
    prompt,
    result,
    woken,
)
from paceline import recovery
from paceline_mcp.headless.again import some
from paceline_mcp.headless.ended import Ended, end_of
from paceline_mcp.headless.newest import session_since, slug

if TYPE_CHECKING:
    from pathlib import Path

RUN = "wf_00000000-001"
A1, A2, A3 = (agent_id(number) for number in (1, 2, 3))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def refused(at: float, text: str = THROTTLE, **fields: Any) -> dict[str, Any]:
    """Return the main thread's own error row."""
    return error(text, at=at, isSidechain=False, **fields)


def fan_out(files: Files, *agents: tuple[str, list[Any]], tail: Any = None) -> None:
    calls = [launch(f"toolu_{at}", f"reader {at}") for at, _ in enumerate(agents)]
    rows = [prompt("Go."), answer(*calls, stop="tool_use")]
    rows += [launched(f"toolu_{at}", name) for at, (name, _) in enumerate(agents)]
    files.main([*rows, tail or answer("All done.", at=9.0)])
    for at, (name, told) in enumerate(agents):
        files.agent(name, told, toolUseId=f"toolu_{at}")


def end(files: Files, code: int = 0, *, stopped: bool = False, **more: Any) -> Ended:
    now = more.pop("now", T0 + 20)
    where = (str(files.projects), str(files.state), SESSION)
    return end_of(*where, code, now, stopped=stopped, **more)


def states(found: Ended) -> list[str]:
    return [one["state"] for run in found.manifest["runs"] for one in run["agents"]]


def test_nobody_works_on_without_a_process(files: Files) -> None:
    """[P5]"""
    working = [prompt("Read it."), answer("I read", stop="tool_use", at=19.0)]
    fan_out(files, (A1, delivered()), (A2, working), (A3, died()))
    found = end(files)
    assert states(found) == ["completed", "dropped", "dropped"]
    assert found.manifest["verdict"] == "degraded"
    census = {"launched": 3, "completed": 1, "dropped": 2, "running": 0, "stopped": 0}
    assert found.manifest["census"] == census
    assert (found.missing, found.whole) == (2, False)
    (run,) = found.manifest["runs"]
    assert [(one["cause"], one["retryable"]) for one in run["agents"][1:]] == [
        ("client", True),
        ("throttle", True),
    ]


def test_who_a_person_stopped_is_not_brought_back(files: Files) -> None:
    fan_out(files, (A1, [prompt("Read it.")]))
    found = end(files, stopped=True)
    assert states(found) == ["stopped"]
    assert recovery.open_drops(found.manifest, T0 + 20) == []


def test_a_workflow_that_outlived_its_process_is_not_complete(files: Files) -> None:
    """[P5] What it had not begun yet is in no file: finished items do not make it whole."""
    files.main([prompt("Go."), answer("Started.")])
    done = {"type": "result", "key": "k1", "agentId": A1, "result": "x"}
    files.journal(RUN, [{"type": "started", "key": "k1", "agentId": A1}, done])
    path = files.agent(A1, delivered(), RUN)
    found = end(files, now=path.stat().st_mtime + 1)
    assert states(found) == ["completed"]
    assert found.manifest["verdict"] == "degraded"
    assert not found.whole


def test_the_main_threads_death_is_its_last_answer(files: Files) -> None:
    fan_out(files, (A1, delivered()), tail=refused(9.0))
    assert end(files, 1).main is not None
    assert not end(files, 1).whole
    files.main([prompt("Go."), refused(1.0), answer("It went on.", at=2.0)])
    assert end(files).main is None
    files.main([prompt("Go."), refused(1.0), prompt("And now?", 5.0)])
    assert end(files).main is None


def test_a_quotas_reset_is_read_from_the_main_threads_row(files: Files) -> None:
    """[§6 quota]"""
    quota = {"status": "rejected", "resetsAt": int(T0) + 4000, "rateLimitType": "five_hour"}
    files.main([prompt("Go."), refused(1.0, SESSION_LIMIT, quotaLimits=quota)])
    found = end(files, 1)
    assert found.main is not None
    assert (found.main.cause, found.main.resets_at) == ("quota", T0 + 4000)


def test_text_that_only_quotes_a_refusal_is_no_death(files: Files) -> None:
    """[CASE 6]"""
    files.main([prompt("Go."), answer("API Error: Request rejected (429)", at=2.0)])
    assert end(files).whole


def test_a_session_without_files_is_unknown(files: Files) -> None:
    assert not end(files).known
    assert not end_of(str(files.projects), str(files.state), "", 0, T0, stopped=False).known


def given(ticket: str, at: float, how: str = "send_message") -> dict[str, Any]:
    return {"t": at, "e": "requeue", "ticket": ticket, "of": A1, "how": how, "prompt_sha": ""}


def step(found: Ended, attempts: int = 9) -> list[tuple[str, str]]:
    return [(one.state, one.how) for one in recovery.open_drops(found.manifest, T0 + 99, attempts)]


def test_a_message_that_reached_an_agent_is_sent_again_when_it_dies_again(files: Files) -> None:
    """[P6]"""
    rows = [*died(), woken(12.0), error(at=13.0)]
    fan_out(files, (A1, rows))
    files.log(given("tk_1", 10.0))
    assert step(end(files, since=T0 + 11)) == [("open", "send_message")]
    assert step(end(files, since=T0 + 11), attempts=1) == []


def test_a_message_that_a_whole_resume_left_without_effect_gives_way_to_a_new_agent(
    files: Files,
) -> None:
    fan_out(files, (A1, died()))
    files.log(given("tk_1", 10.0))
    assert step(end(files, since=0.0)) == [("issued", "send_message")]
    assert step(end(files, since=T0 + 11)) == [("issued", "agent")]
    fan_out(files, (A1, died()), tail=refused(15.0))
    assert step(end(files, 1, since=T0 + 11)) == [("issued", "send_message")]


def test_a_part_of_the_dead_leaves_out_the_others_but_no_workflows(files: Files) -> None:
    fan_out(files, (A1, died()), (A2, died()), (A3, delivered()))
    files.journal(RUN, [{"type": "started", "key": "k9", "agentId": "a9"}])
    files.agent("a9", died(), RUN)
    files.record(RUN)
    found = end(files)
    told = some(found.manifest, frozenset({"toolu_1"}))
    kept = sorted(one["key"] for run in told["runs"] for one in run["agents"])
    assert kept == ["k9", "toolu_1", "toolu_2"]


def test_the_newest_session_of_a_folder_is_found_by_the_clients_name_for_it(
    tmp_path: Path,
) -> None:
    cwd = str(tmp_path / "my project.d")
    folder = tmp_path / "projects" / slug(cwd)
    folder.mkdir(parents=True)
    other = tmp_path / "projects" / "-other"
    other.mkdir()
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    assert session_since(env, cwd, 0.0) == ""
    (other / "bbbb.jsonl").write_text("{}\n", encoding="utf-8")
    (folder / "aaaa.jsonl").write_text("{}\n", encoding="utf-8")
    (folder / "no id!.jsonl").write_text("{}\n", encoding="utf-8")
    assert session_since(env, cwd, 0.0) == "aaaa"
    assert session_since({**env, "CLAUDE_CODE_PROJECT_DIR_NAME": "-other"}, cwd, 0.0) == "bbbb"
    assert session_since(env, cwd, 4e9) == ""


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/home/a/My Work.x", "-home-a-My-Work-x"),
        ("C:\\Users\\a\\web", "C--Users-a-web"),
        ("/tmp/p\N{GRINNING FACE}q", "-tmp-p--q"),
        ("/tmp/e\N{COMBINING ACUTE ACCENT}", "-tmp-e-"),
    ],
)
def test_a_projects_folder_is_named_as_the_client_names_it(folder: str, name: str) -> None:
    """The third and fourth as seen on 2.1.240 and 2.1.332."""
    assert slug(folder) == name


def test_results_of_calls_do_not_hide_the_main_threads_death(files: Files) -> None:
    files.main([prompt("Go."), result("toolu_1", "ok", 1.0), refused(2.0), {"type": "summary"}])
    assert end(files, 1).main is not None
