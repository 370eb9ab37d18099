"""The server as a process: protocol on stdout and nothing else, an end when its client goes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60
ROOMS = ("plugin", "hooks", "mcp_server", "bench")


def message(method: str, number: int | None = None, **params: Any) -> bytes:
    asked: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        asked["id"] = number
    return json.dumps(asked).encode() + b"\n"


def test_stdout_carries_protocol_only_and_the_server_ends_with_its_input(tmp_path: Path) -> None:
    env = {
        **os.environ,
        "PACELINE_STATE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(str(ROOT / room) for room in ROOMS),
        "CLAUDE_CODE_SESSION_ID": "s-1",
    }
    talk = (
        message(
            "initialize",
            1,
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "test", "version": "1"},
        )
        + message("notifications/initialized")
        + message("tools/list", 2)
    )
    with subprocess.Popen(
        [sys.executable, "-m", "paceline_mcp.server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
    ) as server:
        try:
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(talk)
            server.stdin.flush()
            answers = [json.loads(server.stdout.readline()) for _ in range(2)]
            rest, errors = server.communicate(timeout=SECONDS)
        finally:
            server.kill()
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[0]["result"]["serverInfo"]["name"] == "paceline"
    assert rest == b""
    assert b"Traceback" not in errors, errors
    assert server.returncode == 0
