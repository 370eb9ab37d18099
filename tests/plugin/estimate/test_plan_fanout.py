"""A fan-out before it starts: tokens by agent, least time, width, what is too large."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.errors import UsageError
from paceline.estimate import fanout
from paceline.estimate.plan import Limits, of_script, plan_fanout
from paceline.estimate.value import Estimate
from paceline.ledger import belief
from paceline.ledger.values import Ledger, Prefix

sizes = st.lists(st.integers(1, 25_000), min_size=1, max_size=40)


def files(tokens: list[int]) -> list[Estimate]:
    return [
        Estimate(f"/f{at}.py", "code", size, size * 95 // 100, size * 105 // 100 + 1)
        for at, size in enumerate(tokens)
    ]


@given(sizes, st.integers(1, 20))
def test_every_file_goes_to_one_agent_and_nothing_is_lost(sizes: list[int], agents: int) -> None:
    limits = Limits()
    found = plan_fanout(files(sizes), agents, limits)
    assert len(found.agents) == agents
    read = sorted(path for agent in found.agents for path in agent.files)
    assert read == sorted(f"/f{at}.py" for at in range(len(sizes)))
    fixed = limits.cold + (agents - 1) * limits.warm + agents * limits.output
    assert found.tokens == pytest.approx(sum(sizes) + fixed, abs=agents)
    assert found.low <= found.tokens <= found.high
    for agent in found.agents:
        assert agent.low <= agent.tokens <= agent.high


@given(sizes, st.integers(1, 20))
def test_no_agent_has_more_than_twice_its_share_but_for_one_large_file(
    sizes: list[int], agents: int
) -> None:
    found = plan_fanout(files(sizes), agents, Limits(cold=0, warm=0, output=0))
    share = sum(sizes) / agents
    assert max(agent.tokens for agent in found.agents) <= share + max(sizes) + 1


def test_the_least_time_is_what_has_to_flow_in_after_the_full_bucket() -> None:
    limits = Limits(itpm=60_000, capacity=60_000, cold=0, warm=0, output=0, turn_s=5)
    found = plan_fanout(files([10_000] * 18), 18, limits)
    assert found.least_s == pytest.approx((180_000 - 60_000) / 1_000 + 5)
    few = plan_fanout(files([1_000] * 4), 4, limits)
    assert few.least_s == pytest.approx(10)  # two turns of five seconds, no waiting


def test_without_a_limit_no_time_and_no_width_are_claimed() -> None:
    found = plan_fanout(files([10_000] * 4), 4)
    assert (found.least_s, found.width) == (None, None)


@given(sizes, st.integers(1, 20), st.floats(1, 10**7))
def test_the_width_lies_between_one_and_all(sizes: list[int], agents: int, itpm: float) -> None:
    found = plan_fanout(files(sizes), agents, Limits(itpm=itpm))
    assert found.width is not None
    assert 1 <= found.width <= agents


def test_a_narrower_limit_never_suggests_more_width_or_less_time() -> None:
    narrow = plan_fanout(files([9_000] * 40), 20, Limits(itpm=60_000))
    wide = plan_fanout(files([9_000] * 40), 20, Limits(itpm=600_000))
    assert narrow.width is not None
    assert wide.width is not None
    assert narrow.least_s is not None
    assert wide.least_s is not None
    assert narrow.width <= wide.width
    assert narrow.least_s > wide.least_s


def test_files_too_large_and_paths_without_content_are_named(tmp_path: Path) -> None:
    (tmp_path / "big.py").write_text("x = 1\n" * 60_000, encoding="utf-8")
    (tmp_path / "page.py").write_text("def a(): return 1\n" * 9_000, encoding="utf-8")
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    names = ["big.py", "page.py", "a.py", "nope.py"]
    found = plan_fanout(fanout.estimates([str(tmp_path / name) for name in names], "opus"), 2)
    assert {Path(path).name: reason for path, reason in found.too_large} == {
        "big.py": "over 256 KB",
        "page.py": "first page only",
    }
    assert [(Path(path).name, why) for path, why in found.unreadable] == [("nope.py", "missing")]


def test_no_files_are_a_plan_of_the_agents_alone() -> None:
    found = plan_fanout([], 3, Limits(cold=100, warm=10, output=1))
    assert [agent.tokens for agent in found.agents] == [101, 11, 11]


def test_folders_globs_and_files_are_expanded_once(tmp_path: Path) -> None:
    for name in ("a.py", "sub/b.py", "sub/c.md", "node_modules/x.js", ".git/config"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x", encoding="utf-8")
    base = str(tmp_path)
    names = [os.path.relpath(path, base) for path in fanout.expand(["."], base)]
    assert sorted(names) == ["a.py", str(Path("sub/b.py")), str(Path("sub/c.md"))]
    hits = fanout.expand(["**/*.py", "a.py", str(Path("sub/b.py"))], base)
    assert len(hits) == 2
    assert len(fanout.expand(["nope*.py", "gone.py", "a\0b"], base)) == 3


def test_more_files_than_a_plan_holds_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fanout, "FILES_MAX", 5)
    for at in range(7):
        (tmp_path / f"{at}.py").touch()
    with pytest.raises(UsageError, match="more than 5 files"):
        fanout.expand([str(tmp_path)])


SCRIPT = """
export const meta = { name: "review", description: "Review each file" }
const files = ["a.py", 'sub/b.py', `c.py`]
return await parallel(files.map((file) => () => agent(`Review ${file} for ${"errors"}`)))
"""


def test_a_script_shows_its_list_and_the_files_in_it(tmp_path: Path) -> None:
    strings, agents = of_script(SCRIPT)
    assert {"a.py", "sub/b.py", "c.py"} <= set(strings)
    assert agents == 3
    (tmp_path / "a.py").write_text("x", encoding="utf-8")
    (tmp_path / "s.js").write_text(SCRIPT, encoding="utf-8")
    found, agents = fanout.from_script(str(tmp_path / "s.js"), str(tmp_path))
    assert [Path(path).name for path in found] == ["a.py"]
    assert agents == 3


def test_a_script_without_a_list_has_an_agent_a_call() -> None:
    assert of_script("await agent('one'); await agent('two'); reagent(1)")[1] == 2
    assert of_script("const a = ['x', 'y', 'z']")[1] == 0


@given(st.text(max_size=300))
def test_no_script_raises(source: str) -> None:
    strings, agents = of_script(source)
    assert 0 <= agents <= 1_000
    assert all(strings)


def test_a_script_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    for name in ("nope.js", "a\0b"):
        with pytest.raises(UsageError, match="cannot read the script"):
            fanout.from_script(str(tmp_path / name))


def test_the_ledger_says_the_limit_and_what_first_requests_cost() -> None:
    ledger = Ledger(account="a")
    assert fanout.limits_of(ledger, "claude-opus-5").itpm is None
    belief.tell(ledger, "all", "input", 400_000, 1.0, source="set")
    belief.tell(ledger, "opus-5", "input", 60_000, 1.0, source="header")
    ledger.prefixes["claude-opus-5|general-purpose|p"] = Prefix(cold=15_000, warm=2_000, n=4)
    limits = fanout.limits_of(ledger, "claude-opus-5")
    assert (limits.itpm, limits.cold, limits.warm) == (60_000, 15_000, 2_000)
    other = fanout.limits_of(ledger, "claude-sonnet-5")
    assert (other.itpm, other.cold) == (400_000, Limits().cold)


def test_a_model_that_is_not_named_in_full_is_the_one_used_last() -> None:
    """People and Claude say ``opus``; limits are known by the names requests went by."""
    ledger = Ledger(account="a")
    belief.tell(ledger, "opus-5-5", "input", 60_000, 1.0, source="text")
    belief.tell(ledger, "sonnet-5", "input", 90_000, 1.0, source="text")
    ledger.prefixes["claude-opus-5-5|general-purpose|p"] = Prefix(cold=15_000, n=4, at=20.0)
    ledger.prefixes["claude-opus-5|general-purpose|p"] = Prefix(cold=9_000, n=4, at=10.0)
    ledger.prefixes["claude-sonnet-5|Explore|p"] = Prefix(cold=7_000, n=1, at=30.0)
    for told, itpm, cold in (("", 90_000, 7_000), ("opus", 60_000, 15_000)):
        limits = fanout.limits_of(ledger, told)
        assert (limits.itpm, limits.cold) == (itpm, cold)
    assert fanout.limits_of(ledger, "haiku").itpm is None


def test_a_plan_is_json_with_its_ranges() -> None:
    limits = Limits(itpm=60_000)
    found = fanout.as_json(plan_fanout(files([5_000, 3_000]), 2, limits), limits)
    assert len(found["agents"]) == 2
    assert found["agents"][0]["files"] == ["/f0.py"]
    assert found["low"] < found["tokens"] < found["high"]
    assert found["width"] in (1, 2)
