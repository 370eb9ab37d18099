"""The pages and manifests agree with each other and with the tree."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

import paceline
from paceline.settings import Settings, load, problems
from paceline_mcp.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
LEAKS = re.compile(r"(?<![\w.])/(?:root|work)/|[.]pyenv\b")


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def manifest(name: str = "plugin.json") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(page(f".claude-plugin/{name}"))
    return found


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False, encoding="utf-8"
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_one_version_everywhere() -> None:
    version = tomllib.loads(page("pyproject.toml"))["project"]["version"]
    assert manifest()["version"] == version
    assert paceline.__version__ == version
    assert re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", page("CHANGELOG.md"), re.MULTILINE
    )


def test_the_repository_is_its_own_marketplace() -> None:
    (entry,) = manifest("marketplace.json")["plugins"]
    assert entry["name"] == manifest()["name"]
    assert entry["source"] == "./"


def test_what_the_plugin_asks_a_person_is_what_the_code_reads() -> None:
    asked = manifest()["userConfig"]
    assert set(asked) - {"python", "state_dir"} == set(Settings.__slots__)
    given = {f"CLAUDE_PLUGIN_OPTION_{k.upper()}": str(v["default"]) for k, v in asked.items()}
    assert problems(given) == []
    for name in Settings.__slots__:
        assert not asked[name].get("required")


def test_the_defaults_a_person_sees_are_the_defaults_of_the_code() -> None:
    asked = manifest()["userConfig"]
    seen = load({f"PACELINE_{k.upper()}": str(v["default"]) for k, v in asked.items()})
    assert repr(seen) == repr(Settings())


def test_the_server_is_told_every_setting_under_the_name_hooks_get_it_by() -> None:
    """A ``PACELINE_*`` here would overrule the one a person exported."""
    env = manifest()["mcpServers"]["paceline"]["env"]
    wanted = {f"CLAUDE_PLUGIN_OPTION_{n.upper()}": f"${{user_config.{n}}}" for n in settings()}
    assert env == wanted


def settings() -> list[str]:
    return [name for name in manifest()["userConfig"] if name != "python"]


def test_a_client_too_old_for_closed_lists_can_load_the_plugin() -> None:
    """``options`` in userConfig keeps clients before 2.1.271 from loading a plugin at all."""
    assert all("options" not in asked for asked in manifest()["userConfig"].values())
    assert "hooks" not in manifest()


def test_the_icon_is_a_square_of_at_least_512_pixels() -> None:
    data = (ROOT / manifest()["icon"]).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert width == height >= 512


def test_the_tables_of_the_readme_name_files_that_exist() -> None:
    rows = [line for line in page("README.md").splitlines() if line.startswith("| ")]
    named = [name for row in rows for name in re.findall(r"`([\w./-]+/[\w./-]*)`", row)]
    assert len(named) > 15
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_links_between_pages_lead_somewhere() -> None:
    link = re.compile(r"\]\(([^)#:]+?)(?:#[^)]*)?\)")
    samples = ROOT / "tests"  # pages there are what an estimate is tried on
    pages = [f for f in tracked() if f.suffix == ".md" and not f.is_relative_to(samples)]
    dead = [
        f"{file.relative_to(ROOT)} -> {target}"
        for file in pages
        for target in link.findall(file.read_text(encoding="utf-8"))
        if not (file.parent / target).exists()
    ]
    assert pages
    assert dead == []


def test_no_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    leaks = []
    for file in tracked():
        text = file.read_bytes().decode("utf-8", "replace")
        if found := LEAKS.search(text):
            leaks.append(f"{file.relative_to(ROOT)}: {found[0]}")
    assert leaks == []


def test_every_command_is_in_the_readme() -> None:
    named = set(re.findall(r"^\| `paceline ([a-z]+)", page("README.md"), re.MULTILINE))
    assert named == set(COMMANDS)


def test_the_skills_say_when_to_use_them() -> None:
    skills = sorted((ROOT / "skills").glob("*/SKILL.md"))
    assert [file.parent.name for file in skills] == ["plan-fanout", "requeue", "status"]
    for file in skills:
        head = file.read_text(encoding="utf-8").split("---")[1]
        assert f"name: {file.parent.name}\n" in head
        assert ". Use " in head


def test_the_settings_are_explained_where_a_person_looks() -> None:
    readme = page("README.md")
    assert [name for name in settings() if f"`{name}`" not in readme] == []


ROOMS = ("", "docs", "plugin", "plugin/paceline", "hooks", "mcp_server", "bench/paceline_bench")
NAMED = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|js|json|toml|lock|md|svg))`")


def test_a_file_that_a_page_names_is_there() -> None:
    """What a page leads to moves sooner or later, and the page is then the last to know."""
    named = {
        (place.name, found)
        for place in tracked()
        if place.suffix == ".md" and place.name != "CHANGELOG.md"
        for found in NAMED.findall(place.read_text(encoding="utf-8"))
    }
    assert len(named) > 20
    lost = [
        (where, name)
        for where, name in sorted(named)
        if not any((ROOT / room / name).is_file() for room in ROOMS)
    ]
    assert lost == []
