"""What the estimator says a Read costs, against what the real client then sends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from paceline.estimate.read import estimate_read
from paceline.estimate.result import measure_result
from paceline.estimate.text import tokenizer_of, tokens
from paceline_bench.client import SEED_API, Fanout, run_fanout
from paceline_bench.simapi.script import RULES, Reply, ToolCall

if TYPE_CHECKING:
    from paceline_bench.simapi.script import Turn

pytestmark = [pytest.mark.client, pytest.mark.timeout(300)]

SAMPLES = Path(__file__).resolve().parents[1] / "plugin" / "estimate" / "samples"
AGENTS, READS = 12, 5
MODEL = "claude-opus-5"
LINE = "def total_{}(a, b): return a + b * 17  # a remark of some length here\n"


def mixed_files(folder: Path) -> list[Path]:
    """Sixty files of mixed kinds: samples, large ones, ranges aside, and what cannot be read."""
    folder.mkdir()
    files = sorted(path for path in SAMPLES.iterdir() if path.name != "labels.json")
    for at in range(9):
        path = folder / f"long{at}.py"
        path.write_text("".join(LINE.format(row) for row in range(100 + 300 * at)), "utf-8")
        files.append(path)
    made: dict[str, bytes] = {
        "huge.log": b"2026-01-01 a line of a log\n" * 40_000,
        "one.min.js": b"x=1;" * 5_000,
        "wide.txt": "hello wörld, a line\n".encode("utf-16"),
        "old.txt": "café naïve\n".encode("latin-1") * 40,
        "blob.bin": bytes(range(256)) * 40,
        "empty.txt": b"",
        "notes.txt": b"abc\0def\n" * 300,
    }
    for name, content in made.items():
        path = folder / name
        path.write_bytes(content)
        files.append(path)
    files.append(folder / "missing.py")
    return files[: AGENTS * READS]


def test_sixty_reads_of_mixed_kinds_cost_what_was_estimated(tmp_path: Path) -> None:
    """[CASE 30] The simulated API counts no tokens like the real one, so the texts are compared."""
    files = mixed_files(tmp_path / "files")
    shares = {f"agent-{at:02}": files[at::AGENTS] for at in range(AGENTS)}
    seen: dict[str, list[Any]] = {}
    labels: dict[str, str] = {}

    def agent(turn: Turn) -> Reply:
        told = turn.label or ""
        label = labels.setdefault(told, f"agent-{len(labels):02}")
        seen[label] = [
            block.get("content")
            for role, blocks in turn.messages
            if role == "user"
            for block in blocks
            if block.get("type") == "tool_result"
        ]
        if turn.step < len(shares[label]):
            path = str(shares[label][turn.step])
            return Reply(calls=(ToolCall("Read", {"file_path": path}),))
        return RULES["agent"](replace(turn, step=10_000))

    # The client asks the API to count a file before it cuts the file's first page, and this API
    # counts bytes: as many a token as the files that are cut have.
    code = "".join(LINE.format(row) for row in range(1_000))
    ratio = len(code) / tokens(code, tokenizer_of(MODEL))
    api = replace(SEED_API, itpm=10**8, itpm_capacity=10**8, bytes_per_token=ratio)
    spec = Fanout(kind="agent", agents=AGENTS, reads=READS, api=api, timeout_s=200)
    result = run_fanout(spec, rules={**RULES, "agent": agent})
    assert result.counts.delivered == AGENTS
    predicted = actual = 0
    far_off = []
    for label, share in shares.items():
        assert len(seen[label]) == len(share)
        for path, content in zip(share, seen[label], strict=True):
            estimate = estimate_read(str(path), model=MODEL)
            came = measure_result("Read", content, MODEL)
            predicted += estimate.tokens
            actual += came
            if not estimate.low - 80 <= came <= estimate.high + 80:
                far_off.append((path.name, estimate.tokens, came))
    assert predicted == pytest.approx(actual, rel=0.05)
    assert len(far_off) <= 3, far_off
