"""The plugin as people get it: validated, installed from its own marketplace, loaded."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from uv import find_uv_bin

from paceline import jsonl
from paceline_bench.client import VERSIONS, Fanout, fanout
from paceline_bench.client.home import environment
from paceline_mcp.launcher.places import READY

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.client

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60
PAGES = ("LICENSE", "README.md", "pyproject.toml", "uv.lock")
PARTS = (".claude-plugin", "assets", "hooks", "mcp_server", "plugin", "skills")


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A copy without what a checkout gathers, in a path with a space and a letter beyond ASCII."""
    place = tmp_path / "plu gïn"
    unwanted = shutil.ignore_patterns("__pycache__", "types")
    for part in PARTS:
        shutil.copytree(ROOT / part, place / part, ignore=unwanted)
    for page in PAGES:
        shutil.copy(ROOT / page, place / page)
    return place


def run(client: Path, home: Path, *args: str) -> subprocess.CompletedProcess[str]:
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        [str(client), *args],
        env=environment(Fanout(), home, "http://127.0.0.1:9"),
        cwd=home,
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_the_plugin_directory_finds_no_problem_and_no_warning(
    client: Callable[[str], Path], plugin: Path, tmp_path: Path
) -> None:
    args = ("plugin", "validate", "--strict", "--profile", "directory", str(plugin))
    done = run(client("2.1.332"), tmp_path / "home", *args)
    assert done.returncode == 0, done.stdout
    assert "\N{WARNING SIGN}" not in done.stdout, done.stdout
    assert "\N{HEAVY BALLOT X}" not in done.stdout, done.stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_the_repository_is_a_marketplace_that_installs_it(
    client: Callable[[str], Path], plugin: Path, tmp_path: Path, version: str
) -> None:
    binary, home = client(version), tmp_path / "hôme"
    added = run(binary, home, "plugin", "marketplace", "add", str(plugin))
    assert added.returncode == 0, added.stdout + added.stderr
    installed = run(binary, home, "plugin", "install", "paceline@paceline")
    assert installed.returncode == 0, installed.stdout + installed.stderr
    listed = json.loads(run(binary, home, "plugin", "list", "--json").stdout)
    (ours,) = [entry for entry in listed if not entry["id"].endswith("@builtin")]
    assert (ours["id"], ours["enabled"]) == ("paceline@paceline", True)
    assert not ours.get("errors")


@pytest.mark.parametrize("version", VERSIONS)
def test_hooks_and_server_start_from_there_without_anything_set(
    client: Callable[[str], Path], plugin: Path, version: str
) -> None:
    """[P7] The default of every setting reaches the server, and the hooks need none.

    The agent is the first of a first session: it waits for the packages, and is then paced.
    """
    client(version)
    cache = subprocess.run([find_uv_bin(), "cache", "dir"], capture_output=True, check=True)
    offline = {"UV_OFFLINE": "1", "UV_CACHE_DIR": cache.stdout.decode("utf-8").strip()}
    spec = Fanout(version=version, agents=1, plugin_dir=plugin, env=offline, timeout_s=SECONDS)

    with fanout(spec) as result:
        servers = {server["name"]: server["status"] for server in result.init["mcp_servers"]}
        logs = list(result.state.glob("sessions/*/events.jsonl"))
        lines = [line for log in logs for line in jsonl.read(str(log))[0]]
        data = result.home / ".claude" / "plugins" / "data"
        made = list(data.glob(f"paceline-*/venv/*/{READY}"))

    assert result.exit_code == 0, result.errors
    assert result.counts.delivered == 1
    assert set(servers) == {"plugin:paceline:paceline"}
    assert len(made) == 1
    assert [line["e"] for line in lines][:2] == ["session.start", "prompt"]
    by = {line["by"] for line in lines if line["e"] == "request.grant" and line["agent"]}
    # The hooks may hold it as well: until its server is up a gate gives no sign of life.
    assert ("gate" if version == VERSIONS[0] else "hook") in by, lines
    assert left_behind(plugin) == []


def left_behind(plugin: Path) -> list[str]:
    """Return what a session wrote into the plugin's own folder, but for compiled modules."""
    kept = {*PARTS, *PAGES}
    return [place.name for place in plugin.iterdir() if place.name not in kept]
