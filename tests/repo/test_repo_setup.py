"""The scripts a person's own Python runs: what they say when it is too old, or all stands."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from paceline_mcp.launcher import places

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60
AS_IF_OLD = (
    "import runpy, sys; sys.version_info = (3, 9, 6); "
    "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
)


def run(*args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args],
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
        env=env,
    )


@pytest.mark.parametrize("script", [".ci/setup.py", "mcp_server/launch.py"])
def test_a_python_too_old_is_told_by_its_version_and_what_to_do(script: str) -> None:
    done = run("-c", AS_IF_OLD, str(ROOT / script), env=os.environ | {"PATH": ""})
    assert done.returncode == 1
    assert done.stdout == ""
    assert "3.11 or later" in done.stderr
    assert "3.9" in done.stderr
    assert "next: " in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a program of two lines is a shell script")
def test_a_server_started_by_an_old_python_goes_on_with_a_newer_one(tmp_path: Path) -> None:
    newer = tmp_path / "python3.12"
    newer.write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    newer.chmod(0o700)
    script = str(ROOT / "mcp_server" / "launch.py")
    done = run("-c", AS_IF_OLD, script, env=os.environ | {"PATH": f"{tmp_path}:/bin:/usr/bin"})
    assert done.stdout == f"-I -X utf8 {script}\n"


def test_a_checkout_below_a_folder_with_an_accent_is_found_in_every_code_page(
    tmp_path: Path,
) -> None:
    """Python before 3.13 reads .pth files as Windows' code page, or as ASCII with LC_ALL=C."""
    spelled = runpy.run_path(str(ROOT / ".ci" / "setup.py"))["spelled"]
    place = tmp_path / "J\N{LATIN SMALL LETTER O WITH DIAERESIS}rg's \\ plugin"
    found = spelled(f"# comment\n{place}\n/plain/place\nimport os\n")
    assert found.isascii()
    first, ours, *rest = found.splitlines()
    assert (first, rest) == ("# comment", ["/plain/place", "import os"])
    assert ours.startswith("import ")
    code = f"{ours}\nimport sys; print(ascii(sys.path[-1]))"
    done = run("-I", "-c", code, env={**os.environ, "LC_ALL": "C"})
    assert done.stdout.strip() == ascii(str(place))


def test_a_checkout_that_is_set_up_is_left_alone(tmp_path: Path) -> None:
    """Half a second a time would be felt before every ``make test``."""
    place = tmp_path / "check out"
    shutil.copytree(ROOT / ".ci", place / ".ci")
    for name in ("pyproject.toml", "uv.lock", "mcp_server/requirements.lock"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place / name)
    room = Path("mcp_server", "paceline_mcp")
    shutil.copytree(ROOT / room / "launcher", place / room / "launcher")
    shutil.copy(ROOT / room / "__init__.py", place / room / "__init__.py")
    script = str(place / ".ci" / "setup.py")
    # Without an environment it would make one; a file in its way shows that it tried.
    (place / ".venv").touch()
    assert run(script).returncode != 0
    (place / ".venv").unlink()
    (place / ".venv").mkdir()
    wanted = runpy.run_path(script)["stamped"](place)
    (place / ".venv" / places.CHECKOUT_READY).write_text(wanted, encoding="utf-8")

    done = run(script)

    assert (done.returncode, done.stderr) == (0, "")
