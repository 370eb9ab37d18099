"""A session that is cleared goes on under another id, with the same server."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from paceline import jsonl
from paceline_bench.client import SEED_API, Fanout
from paceline_bench.client.home import environment
from paceline_bench.client.spec import main_script, write_files
from paceline_bench.simapi import running
from paceline_bench.simapi.script import script_text

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.client, pytest.mark.timeout(150)]

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = (
    *("-p", "--verbose", "--dangerously-skip-permissions"),
    *("--input-format", "stream-json", "--output-format", "stream-json"),
    *("--plugin-dir", str(ROOT)),
)
BOUND_S = 100.0


def said(command: list[str], env: dict[str, str], cwd: Path, prompts: list[str]) -> list[str]:
    """Send prompts one after the other; return the session that answered each."""
    sessions: list[str] = []
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    ) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        watch = threading.Timer(BOUND_S, client.kill)
        watch.start()
        try:
            for prompt in prompts:
                message = {"role": "user", "content": prompt}
                client.stdin.write(json.dumps({"type": "user", "message": message}) + "\n")
                client.stdin.flush()
                for line in client.stdout:
                    told = json.loads(line)
                    if told["type"] == "result":
                        sessions.append(told["session_id"])
                        break
            client.stdin.close()
            client.wait()
        finally:
            watch.cancel()
            client.kill()
    return sessions


def test_after_a_clear_the_gate_alone_paces_and_writes_to_the_new_sessions_log(
    client: Callable[[str], Path], tmp_path: Path
) -> None:
    """[P2] [P5] Hooks that saw no gate in the new session paced every request once more."""
    home = tmp_path / "home"
    for folder in (home / "tmp", tmp_path / "work", tmp_path / "files"):
        folder.mkdir(parents=True)
    spec = Fanout(plugin_dir=ROOT, agents=2, reads=1, read_bytes=20_000)
    script = script_text(main_script(spec, write_files(spec, tmp_path / "files")))
    with running(SEED_API) as api:
        env = environment(spec, home, api.url)
        prompts = ["Hello.", "/clear", f"Run the fan-out of this script. {script}"]
        command = [str(client("2.1.332")), *OPTIONS]
        first, _, last = said(command, env, tmp_path / "work", prompts)
    assert first != last
    folder = home / "state" / "sessions"
    grants: dict[str, list[tuple[str, bool]]] = {}
    for session in (first, last):
        lines, _ = jsonl.read(str(folder / session / "events.jsonl"))
        went = [line for line in lines if line["e"] == "request.grant"]
        grants[session] = [(line["by"], bool(line["agent"])) for line in went]
    assert grants[first] == [("gate", False)]
    assert sorted(grants[last]) == [("gate", False)] * 2 + [("gate", True)] * 4
