"""The scripted main thread on the real client: it can be told to bring an agent back."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from paceline_bench.client import Fanout, fanout
from paceline_bench.simapi.config import Config, Fault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.client

REFUSED_TWICE = Fault(kind="throttle", who="agents", step=1, times=2)
"""Each agent's request after its Read, and the one retry that its client makes: then it is dead."""

HOOK = """
import json, os, pathlib, sys
event = json.load(sys.stdin)
dead = pathlib.Path(os.environ["HOME"], "dead")
if event["hook_event_name"] == "StopFailure" and event.get("agent_id"):
    with dead.open("a") as file:
        file.write(event["agent_id"] + "\\n")
elif event["hook_event_name"] == "Stop" and dead.exists():
    ids = dead.read_text().split()
    dead.unlink()
    reason = ", ".join(f'SendMessage {{to: "{one}"}}' for one in ids)
    print(json.dumps({"decision": "block", "reason": f"Paceline: continue each once: {reason}."}))
"""


def write_plugin(folder: Path) -> Path:
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / "hooks").mkdir()
    about = json.dumps({"name": "bench-hook", "version": "1.0.0", "description": "A test's hook."})
    (folder / ".claude-plugin" / "plugin.json").write_text(about, encoding="utf-8")
    (folder / "hook.py").write_text(HOOK, encoding="utf-8")
    command = {
        "type": "command",
        "command": sys.executable,
        "args": ["-I", "${CLAUDE_PLUGIN_ROOT}/hook.py"],
    }
    hooks = {event: [{"hooks": [command]}] for event in ("StopFailure", "Stop")}
    (folder / "hooks" / "hooks.json").write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    return folder


@pytest.mark.parametrize("version", ["2.1.332", "2.1.240"])
def test_a_stop_that_is_blocked_with_ids_brings_the_dead_agents_back(
    client: Callable[[str], Path], tmp_path: Path, version: str
) -> None:
    client(version)
    spec = Fanout(
        version=version,
        kind="agent",
        agents=3,
        read_bytes=40_000,
        role="obey",
        plugin_dir=write_plugin(tmp_path / "plug in"),
        api=Config(itpm=4_000_000, headers="none", faults=(REFUSED_TWICE,)),
        timeout_s=90,
    )
    with fanout(spec) as run:
        assert run.counts.refusals > 0
        assert run.counts.delivered == 3
        assert run.exit_code == 0
