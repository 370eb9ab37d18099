from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from paceline_bench.client import Fanout
from paceline_bench.simapi import Config
from paceline_bench.standin import run_stand_in

if TYPE_CHECKING:
    from pathlib import Path

ROOM = Config(itpm=4_000_000, ttfb_s=0.02, s_per_token=0.0)
TIGHT = Config(itpm=120_000, itpm_capacity=60_000, retry_after=False, ttfb_s=0.02, s_per_token=0.0)
SPEC = Fanout(agents=3, reads=2, read_bytes=4_000, api=ROOM, timeout_s=60)
EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
    *("PostToolBatch", "SubagentStart", "SubagentStop", "StopFailure", "Stop", "SessionEnd"),
)


def plugin(folder: Path, source: str, **matchers: str) -> Path:
    """A plugin whose every hook runs one Python program, with the event on its stdin."""
    (folder / "hooks").mkdir(parents=True)
    (folder / "hook.py").write_text(source, encoding="utf-8")
    command = {
        "type": "command",
        "command": sys.executable,
        "args": ["-I", "${CLAUDE_PLUGIN_ROOT}/hook.py"],
    }
    hooks = {
        event: [{"hooks": [command], **({"matcher": matchers[event]} if event in matchers else {})}]
        for event in EVENTS
    }
    told = json.dumps({"hooks": hooks})
    (folder / "hooks" / "hooks.json").write_text(told, encoding="utf-8")
    return folder


def recorder(folder: Path, **matchers: str) -> Path:
    out = folder / "events"
    out.mkdir()
    source = (
        "import sys, uuid, time, pathlib\n"
        f"path = pathlib.Path({str(out)!r}, f'{{time.time_ns():020}}-{{uuid.uuid4()}}')\n"
        "path.write_bytes(sys.stdin.buffer.read())\n"
    )
    return plugin(folder / "plugin", source, **matchers)


def recorded(folder: Path) -> list[dict[str, Any]]:
    paths = sorted((folder / "events").iterdir())
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def test_with_room_for_all_everybody_delivers() -> None:
    with run_stand_in(SPEC) as run:
        assert run.counts.delivered == 3
        assert run.counts.requests == 9
        assert run.counts.refusals == 0
        assert run.transcripts is not None
        assert len(list(run.transcripts.rglob("agent-*.jsonl"))) == 3
    assert not run.home.exists()


def test_under_a_tight_limit_agents_die_when_their_retries_are_spent() -> None:
    spec = Fanout(agents=6, read_bytes=64_000, max_retries=1, api=TIGHT, timeout_s=60)
    with run_stand_in(spec) as run:
        assert run.exit_code == 0
        assert 0 < run.counts.dropped < 6
        assert run.counts.refusals >= 2 * run.counts.dropped
        assert run.transcripts is not None
        rows = [
            json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
            for path in run.transcripts.rglob("agent-*.jsonl")
        ]
        dead = [row for row in rows if row.get("isApiErrorMessage")]
        assert len(dead) == run.counts.dropped
        assert {row["apiErrorStatus"] for row in dead} == {429}


def test_each_agent_fires_the_hooks_of_its_life_in_order(tmp_path: Path) -> None:
    spec = Fanout(agents=2, read_bytes=2_000, api=ROOM, timeout_s=60, plugin_dir=recorder(tmp_path))
    with run_stand_in(spec) as run:
        assert run.counts.delivered == 2
    events = recorded(tmp_path)
    agents = {event["agent_id"] for event in events if event["hook_event_name"] == "SubagentStart"}
    assert len(agents) == 2
    for agent in agents:
        assert [e["hook_event_name"] for e in events if e.get("agent_id") == agent] == [
            "SubagentStart",
            "PreToolUse",
            "PostToolBatch",
            "SubagentStop",
        ]
    main = [event["hook_event_name"] for event in events if "agent_id" not in event]
    assert main[:2] == ["SessionStart", "UserPromptSubmit"]
    assert main[-2:] == ["Stop", "SessionEnd"]
    assert main.count("PostToolUse") == 2
    assert {event["session_id"] for event in events} == {run.session}


def test_a_dead_agent_fires_its_failure_and_its_parents(tmp_path: Path) -> None:
    spec = Fanout(
        agents=6, read_bytes=64_000, api=TIGHT, timeout_s=60, plugin_dir=recorder(tmp_path)
    )
    with run_stand_in(spec) as run:
        dropped = run.counts.dropped
    events = recorded(tmp_path)
    failures = [event for event in events if event["hook_event_name"] == "StopFailure"]
    parents = [event for event in events if event["hook_event_name"] == "PostToolUseFailure"]
    assert len(failures) == len(parents) == dropped > 0
    assert all("120,000 input tokens" in event["last_assistant_message"] for event in failures)
    assert all(event["error"].startswith("Agent terminated early") for event in parents)


@pytest.mark.parametrize(
    ("matcher", "tools"),
    [("Agen|Read", ["Read"]), ("^(?!Re)", ["Agent"]), ("*", ["Agent", "Read"]), ("e.d", ["Read"])],
)
def test_a_matcher_is_names_or_an_expression_as_in_the_client(
    tmp_path: Path, matcher: str, tools: list[str]
) -> None:
    folder = recorder(tmp_path, PreToolUse=matcher)
    with run_stand_in(Fanout(agents=1, api=ROOM, timeout_s=60, plugin_dir=folder)):
        pass
    fired = [e["tool_name"] for e in recorded(tmp_path) if e["hook_event_name"] == "PreToolUse"]
    assert fired == tools


@pytest.mark.parametrize("source", ["raise SystemExit(2)", "print('no json')", "print('[1]')"])
def test_a_hook_that_fails_changes_nothing(tmp_path: Path, source: str) -> None:
    folder = plugin(tmp_path / "plugin", source)
    with run_stand_in(Fanout(agents=2, api=ROOM, timeout_s=60, plugin_dir=folder)) as run:
        assert run.counts.delivered == 2


SERVER = """
import sys
from mcp.server import MCPServer

MCPServer(sys.argv[1]).run("stdio")
"""


def test_the_plugins_server_runs_as_long_as_the_session(tmp_path: Path) -> None:
    folder = plugin(tmp_path / "plugin", "")
    (folder / ".claude-plugin").mkdir()
    (folder / "server.py").write_text(SERVER, encoding="utf-8")
    server = {
        "command": "${user_config.python}",
        "args": ["${CLAUDE_PLUGIN_ROOT}/server.py", "one"],
    }
    about = {
        "name": "x",
        "userConfig": {"python": {"default": sys.executable}},
        "mcpServers": {"one": server, "broken": {"command": "no-such-program"}},
    }
    (folder / ".claude-plugin" / "plugin.json").write_text(json.dumps(about), encoding="utf-8")
    with run_stand_in(Fanout(agents=1, api=ROOM, timeout_s=60, plugin_dir=folder)) as run:
        assert run.init["mcp_servers"] == ["one"]
        assert run.counts.delivered == 1


def test_a_stop_that_is_blocked_gives_the_main_thread_its_reason_once(tmp_path: Path) -> None:
    source = (
        "import json, sys\n"
        "if json.load(sys.stdin)['hook_event_name'] == 'Stop':\n"
        "    print(json.dumps({'decision': 'block', 'reason': 'not yet'}))\n"
    )
    folder = plugin(tmp_path / "plugin", source)
    with run_stand_in(Fanout(agents=1, api=ROOM, timeout_s=60, plugin_dir=folder)) as run:
        assert run.transcripts is not None
        rows = run.transcripts.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    users = [json.loads(row)["message"]["content"] for row in rows if '"type": "user"' in row]
    assert users[2:] == ["Stop hook feedback:\nnot yet"]


def test_when_the_time_is_up_nothing_goes_on(tmp_path: Path) -> None:
    spec = Fanout(agents=6, read_bytes=64_000, max_retries=10, api=TIGHT, timeout_s=2)
    with run_stand_in(spec) as run:
        assert (run.timed_out, run.exit_code) == (True, None)
