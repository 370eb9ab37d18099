"""Whole files as streams, tails from behind, whatever the size or the damage."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paceline.transcripts import lines

if TYPE_CHECKING:
    from pathlib import Path

patient = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@patient
@given(st.lists(st.binary(max_size=60)), st.integers(0, 8))
def test_the_tail_is_the_end_of_the_whole(tmp_path: Path, parts: list[bytes], count: int) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n".join(parts))
    whole = [row for line, ok in lines.lines(str(path)) if ok and (row := lines.parse(line))]
    assert lines.last_rows(str(path), count) == (whole[-count:] if count else [])


def test_the_tail_reads_back_only_as_far_as_it_must(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with path.open("wb") as file:
        for number in range(30_000):
            file.write(json.dumps({"n": number, "pad": "x" * 200}).encode() + b"\n")
    tracemalloc.start()
    rows = lines.last_rows(str(path), 3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [row["n"] for row in rows] == [29_997, 29_998, 29_999]
    assert peak < 2_000_000


def test_a_row_longer_than_the_bound_is_not_in_the_tail(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"a":"' + b"x" * 100_000 + b'"}\n{"b":1}\n')
    assert lines.last_rows(str(path), 2, most=1000) == [{"b": 1}]
    assert len(lines.last_rows(str(path), 2)) == 2


def test_a_line_being_written_counts_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"a":1}\n{"b":')
    assert lines.last_rows(str(path), 2) == [{"a": 1}]
    path.write_bytes(b'{"a":1}\n{"b":2}')
    assert lines.last_rows(str(path), 2) == [{"a": 1}, {"b": 2}]


def test_a_file_that_is_not_there_has_no_rows(tmp_path: Path) -> None:
    assert lines.last_rows(str(tmp_path / "none"), 3) == []
    assert list(lines.lines(str(tmp_path / "none"))) == []
    assert list(lines.lines(str(tmp_path))) == []


def test_a_huge_line_gives_its_head_and_costs_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with path.open("wb") as file:
        file.write(b'{"type":"user","x":"')
        for _ in range(60):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n{"after":1}\n')
    tracemalloc.start()
    found = list(lines.lines(str(path)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(len(line), whole) for line, whole in found] == [(lines.HEAD, False), (12, True)]
    assert peak < 5 * lines.LINE_MAX


@patient
@given(st.binary(max_size=200))
def test_no_line_raises(line: bytes) -> None:
    row = lines.parse(line)
    assert row is None or isinstance(row, dict)
