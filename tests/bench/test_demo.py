from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from paceline_bench.demo import Demo, plugin_root

if TYPE_CHECKING:
    from paceline_bench.client.run import Progress

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def played() -> tuple[dict[str, Any], list[str]]:
    """The demo with the stand-in, played once: what it tells, and what it showed meanwhile."""
    shown: list[str] = []

    def show(what: str, progress: Progress | None) -> None:
        del progress
        if what not in shown:
            shown.append(what)

    return Demo(ROOT, agents=4, simulated=True).play(show).to_json(), shown


def test_the_demo_shows_both_sides_in_turn(played: tuple[dict[str, Any], list[str]]) -> None:
    told, shown = played
    assert shown == ["client", "without", "with"]
    assert (told["driver"], told["reason"]) == ("stand-in", "asked for")
    assert told["without"]["launched"] == told["with"]["launched"] == 4


def test_without_the_plugin_agents_are_lost(played: tuple[dict[str, Any], list[str]]) -> None:
    told, _ = played
    assert told["without"]["dropped"] > 0
    assert told["without"]["refusals"] > 0
    assert told["without"]["says"] == "success"
    assert told["without"]["verdict"] is None


def test_with_the_plugins_hooks_and_ledger_nobody_is(
    played: tuple[dict[str, Any], list[str]],
) -> None:
    told, _ = played
    assert told["with"]["dropped"] == 0
    assert told["with"]["refusals"] <= 4
    assert told["with"]["wasted_tokens"] == 0


def test_where_no_client_is_to_be_had_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PACELINE_CLIENT_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    told = Demo(ROOT, agents=1).play(lambda *_: None).to_json()
    assert told["driver"] == "stand-in"
    assert "npm is not on PATH" in told["reason"]


def test_the_plugin_is_the_checkout_the_package_lies_in(tmp_path: Path) -> None:
    assert plugin_root(str(ROOT / "mcp_server" / "paceline_mcp" / "__init__.py")) == ROOT
    assert plugin_root(str(tmp_path / "x.py")) is None


def test_the_command_prints_one_json_object_and_its_verdict_as_exit_code() -> None:
    command = [sys.executable, "-m", "paceline_mcp", "demo", "--simulated", "--agents", "1"]
    done = subprocess.run(
        [*command, "--json"],
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["with"]["delivered"] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_demo_that_is_ended_leaves_no_home_behind(tmp_path: Path, name: str) -> None:
    """A closed terminal, too: the client's home is some 60 MB, and a client may still run in it."""
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from paceline_mcp.cli import main; main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, "demo", "--simulated"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as child:
        assert child.stderr is not None
        while b"without Paceline: 0/6" not in child.stderr.readline():
            assert child.poll() is None
        assert list(tmp_path.glob("plbench-*"))
        child.send_signal(getattr(signal, name))
        child.communicate(timeout=60)
    assert child.returncode == 130
    assert list(tmp_path.iterdir()) == []
