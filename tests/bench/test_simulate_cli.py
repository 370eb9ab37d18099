"""``paceline simulate``: its JSON, its table, its picture, and what it says to bad input."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from paceline_mcp import cli

if TYPE_CHECKING:
    from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"
SMALL = ["simulate", "--agents", "6", "--itpm", "60000", "--retries", "1"]


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_STATE_DIR", str(tmp_path / "state"))


def test_json_holds_both_sides_and_what_was_played(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*SMALL, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["scenario"]["sessions"] == [6]
    assert told["scenario"]["api"]["itpm"] == 60_000
    paced, alone = told["paceline"], told["alone"]
    assert (paced["delivered"], paced["dropped"]) == (6, 0)
    assert alone["dropped"] > 0
    assert 1.0 <= paced["ratio"] < 1.2
    assert paced["uncached_tokens"] <= told["unrefused_tokens"]
    assert told["tokens_ratio"] == pytest.approx(
        paced["uncached_tokens"] / told["unrefused_tokens"]
    )
    for name in ("refusals", "requests", "span_s", "bound_s", "longest_wait_s", "service_gap"):
        assert isinstance(paced[name], int | float)
    assert paced["steady"].keys() == {"seconds", "utilisation", "requests", "refusals"}
    assert paced["sessions"][0]["delivered"] == 6
    assert paced["utilisation"][0] > 0.5


def test_the_table_names_what_was_promised(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*SMALL[:-4], "--agents", "4,2", "--itpm", "60000", "--crash", "5:0"]) == 0
    out, err = capsys.readouterr()
    for word in (
        "delivered",
        "6 of 6",
        "refusals",
        "span / least possible",
        "uncached input tokens",
        "longest wait",
        "worst service gap",
        "session 2, 2 agents",
        "agents restarted",
        "% of the limit, minute by minute",
    ):
        assert word in out
    assert err == ""


def test_the_picture_is_an_svg_of_both_sides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plot.svg"
    assert cli.run([*SMALL, "--plot", str(path), "--change", "30:120000"]) == 0
    capsys.readouterr()
    tree = ET.parse(path)
    words = " ".join(text.text or "" for text in tree.iter(f"{SVG}text"))
    for word in ("input tokens", "paceline: 6 of 6 delivered", "client alone", "refused", "agents"):
        assert word in words
    assert len(list(tree.iter(f"{SVG}rect"))) > 10
    assert len(list(tree.iter(f"{SVG}path"))) + len(list(tree.iter(f"{SVG}polyline"))) >= 5
    assert not list(tree.iter(f"{SVG}script"))


def test_a_picture_of_one_side_alone_is_drawn_too(tmp_path: Path) -> None:
    path = tmp_path / "plot.svg"
    assert cli.run([*SMALL, "--no-alone", "--plot", str(path)]) == 0
    assert "client alone" not in path.read_text(encoding="utf-8")


def test_agents_lost_with_pacing_are_exit_code_3(capsys: pytest.CaptureFixture[str]) -> None:
    """A credential that stops working: nothing paces that, and nothing may call it fine. [P5]"""
    assert cli.run([*SMALL, "--fault", "auth:1:9999", "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["paceline"]["dropped"] == 6
    assert told["paceline"]["ratio"] is not None


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["--agents", "none"], "none"),
        (["--agents", "0"], "at least one agent"),
        (["--reads", "huge"], "no distribution of sizes"),
        (["--told", "maybe"], "told must be one of"),
        (["--change", "soon"], "--change takes SECONDS:NUMBER"),
        (["--tenants", "5"], "--tenants takes SECONDS:NUMBER"),
        (["--fault", "overload:5"], "--fault takes KIND:FROM:TO"),
        (["--fault", "rain:1:2"], "no refusal is called"),
        (["--crash", "5:7"], "processes 0 to 0"),
        (["--prefix", "0", "--own", "0"], "at least one token"),
    ],
)
def test_what_cannot_be_simulated_is_one_line_and_exit_code_2(
    typed: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["simulate", *typed]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1
    assert "next: paceline simulate -h" in err


def test_a_plot_without_its_library_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "drawsvg", None)
    monkeypatch.delitem(sys.modules, "paceline_bench.simulate.plot", raising=False)
    assert cli.run([*SMALL, "--plot", str(tmp_path / "plot.svg")]) == 1
    assert "pip install drawsvg" in capsys.readouterr().err


def test_a_plot_that_cannot_be_written_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run([*SMALL, "--plot", str(tmp_path / "none" / "plot.svg")]) == 1
    assert "--plot with another path" in capsys.readouterr().err
