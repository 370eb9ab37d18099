"""Where the state lies on each system, and what may become part of a path."""

from __future__ import annotations

import ntpath
import os
import sys
from typing import TYPE_CHECKING

import platformdirs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline import paths
from paceline.transcripts import find

if TYPE_CHECKING:
    from pathlib import Path


def test_the_state_folder_is_the_one_platformdirs_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PACELINE_STATE_DIR", raising=False)
    monkeypatch.delenv("CLAUDE_PLUGIN_OPTION_STATE_DIR", raising=False)
    for told in ("/tmp/some where", "", " "):
        monkeypatch.setenv("XDG_STATE_HOME", told)
        assert paths.state_dir() == platformdirs.user_state_dir("paceline", appauthor=False)


@pytest.mark.parametrize(
    ("platform", "env", "wanted"),
    [
        ("linux", {"HOME": "/home/a"}, "/home/a/.local/state/paceline"),
        ("darwin", {"HOME": "/Users/a"}, "/Users/a/Library/Application Support/paceline"),
        ("win32", {"LOCALAPPDATA": "C:/U/a/L"}, "C:/U/a/L/paceline"),
        ("win32", {"USERPROFILE": "C:/U/a", "HOME": "/h/a"}, "C:/U/a/AppData/Local/paceline"),
    ],
)
def test_each_system_has_its_own_state_folder(
    platform: str, env: dict[str, str], wanted: str
) -> None:
    assert paths.state_dir(env, platform).replace(os.sep, "/") == wanted


def test_a_shells_own_home_is_not_the_clients_on_windows() -> None:
    """Git Bash sets HOME; the client goes by USERPROFILE, and so must who reads its files."""
    env = {"HOME": "/h/shell", "USERPROFILE": "/u/person"}
    assert paths.home(env, "win32") == "/u/person"
    assert paths.home(env, "darwin") == paths.home(env, "linux") == "/h/shell"


@pytest.mark.skipif(sys.platform == "win32", reason="HOME counts elsewhere")
def test_the_clients_folder_is_below_the_home_of_the_environment_that_is_asked_about(
    tmp_path: Path,
) -> None:
    assert find.config_dir({"HOME": str(tmp_path)}) == str(tmp_path / ".claude")
    assert find.config_dir({"HOME": "/x", "CLAUDE_CONFIG_DIR": str(tmp_path)}) == str(tmp_path)


@given(st.text(max_size=12))
def test_an_id_leaves_its_folder_on_no_system(text: str) -> None:
    if not paths.is_id(text):
        with pytest.raises(ValueError, match="session id"):
            paths.session_dir("/s", text)
        return
    for path in (os.path, ntpath):
        assert path.basename(path.join("s", text)) == text
        assert path.splitdrive(text)[0] == ""
