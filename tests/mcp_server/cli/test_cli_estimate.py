"""``paceline estimate`` and ``paceline plan``, as a person and as a script call them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from paceline_mcp.cli import run

if TYPE_CHECKING:
    from pathlib import Path

LINE = "def total_{}(a, b): return a + b * 17  # a remark of some length here\n"


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS", raising=False)
    monkeypatch.chdir(tmp_path)


def write(folder: Path, name: str, lines: int) -> str:
    path = folder / name
    path.write_text("".join(LINE.format(at) for at in range(lines)), encoding="utf-8")
    return str(path)


def of(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    assert run(argv) == 0
    return json.loads(capsys.readouterr().out)


def test_estimate_gives_a_row_a_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """[CASE 30]"""
    small, large = write(tmp_path, "a.py", 40), write(tmp_path, "b.py", 3_000)
    rows = of(capsys, "estimate", small, large, "nope\x1b[31m", str(tmp_path), "--json")
    assert [row["kind"] for row in rows] == ["code", "code", "none", "none"]
    assert [row["capped"] for row in rows] == [False, True, False, False]
    assert [row["reason"] for row in rows] == ["", "first page only", "missing", "directory"]
    for row in rows:
        assert row["low"] <= row["tokens"] <= row["high"]
    assert rows[0]["path"] == small


def test_estimate_takes_a_range_and_a_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, "a.py", 400)
    (whole,) = of(capsys, "estimate", path, "--json")
    (part,) = of(capsys, "estimate", path, "--offset", "11", "--limit", "40", "--json")
    (old,) = of(capsys, "estimate", path, "--model", "claude-opus-4-5", "--json")
    assert part["tokens"] == pytest.approx(whole["tokens"] / 10, rel=0.1)
    assert old["tokens"] < whole["tokens"]


def test_estimate_prints_a_table_without_control_characters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, "a.py", 40)
    assert run(["estimate", path, "no\x1b]0;title\x07pe[bold]"]) == 0
    printed = capsys.readouterr().out
    assert "\x1b]0" not in printed
    assert "\x07" not in printed
    assert "[bold]" in printed
    assert "missing" in printed


def test_plan_says_tokens_width_and_what_is_too_large(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for at in range(6):
        write(tmp_path, f"{at}.py", 200)
    write(tmp_path, "huge.py", 3_000)
    argv = ["plan", "*.py", "gone.py", "--agents", "3", "--model", "claude-opus-5", "--json"]
    bare = of(capsys, *argv)
    assert (bare["least_s"], bare["width"], bare["itpm"]) == (None, None, None)
    assert len(bare["agents"]) == 3
    assert bare["low"] < bare["tokens"] < bare["high"]
    assert [row["reason"] for row in bare["too_large"]] == ["first page only"]
    assert [row["reason"] for row in bare["unreadable"]] == ["missing"]
    assert run(["limits", "set", "--model", "all", "--itpm", "30000"]) == 0
    capsys.readouterr()
    limited = of(capsys, *argv)
    assert limited["itpm"] == 30_000
    assert limited["least_s"] > 60
    assert 1 <= limited["width"] <= 3


def test_plan_reads_the_list_of_a_workflow_script(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "a.py", 20)
    write(tmp_path, "b.py", 20)
    script = tmp_path / "s.js"
    script.write_text(
        "export const meta = {name: 'x', description: 'y'}\n"
        "return await parallel(['a.py', 'b.py'].map(f => () => agent(`Read ${f}`)))\n",
        encoding="utf-8",
    )
    found = of(capsys, "plan", "--script", str(script), "--json")
    assert [len(agent["files"]) for agent in found["agents"]] == [1, 1]
    assert run(["plan", "--script", str(script)]) == 0
    assert "No limit is known" in capsys.readouterr().out


def test_a_slip_of_the_pen_is_not_planned_as_a_cheap_fan_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    for words, said in ((["scr"], "scr (missing)"), (["empty"], "no file there")):
        assert run(["plan", *words, "--agents", "4"]) == 2
        out, err = capsys.readouterr()
        assert (out, said in err, "try: paceline plan" in err) == ("", True, True)


@pytest.mark.parametrize(
    "argv",
    [["plan"], ["plan", "--script", "nope.js"], ["plan", "a", "--agents", "0"], ["estimate"]],
)
def test_what_cannot_be_planned_is_a_usage_error(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(argv) == 2
    assert capsys.readouterr().err
