"""Every promise has its test, and no test names a promise that is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline_bench.ids import held

if TYPE_CHECKING:
    from pathlib import Path

IDS = (
    *(f"P{n}" for n in range(1, 9)),
    *(f"I{n}" for n in range(1, 11)),
    *(f"§6 {cause}" for cause in ("throttle", "overload", "quota", "spend", "entitlement")),
    *(f"§6 {cause}" for cause in ("auth", "invalid", "edge", "stall", "client")),
    *(f"CASE {n}" for n in (1, 2, 3, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17, 18, 19, 20)),
    *(f"CASE {n}" for n in (21, 22, 23, 25, 26, 28, 29, 30)),
)


def test_the_page_of_promises_lists_every_id_once() -> None:
    assert tuple(held().says) == IDS


def test_no_test_names_an_id_that_is_none() -> None:
    assert held().unknown == {}


def test_every_id_has_a_test() -> None:
    assert held().missing == []


def test_a_missing_and_an_unknown_id_are_both_found(tmp_path: Path) -> None:
    promises = tmp_path / "promises.md"
    promises.write_text("| P1 | one |\n| CASE 3 | three |\n| §6 quota | q |\n", encoding="utf-8")
    body = 'def test_it():\n    """Why. [CASE 3, §6 quota] and [P9], not [this]."""\n'
    tests = tmp_path / "tests" / "deep"
    tests.mkdir(parents=True)
    (tests / "test_some.py").write_text(body, encoding="utf-8")
    (tests / "gate.test.ts").write_text("test('holds on [P1]', () => {})\n", encoding="utf-8")

    found = held(promises, tmp_path / "tests")

    assert found.missing == []
    assert found.tests["P1"] == ["deep/gate.test.ts::holds on [P1]"]
    assert found.unknown == {"P9": ["deep/test_some.py::test_it"]}
    (tests / "gate.test.ts").unlink()
    assert held(promises, tmp_path / "tests").missing == ["P1"]
