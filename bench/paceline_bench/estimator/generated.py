"""Texts no package holds: logs, records, base64, diffs, emoji. The same on every machine."""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

_WORDS = [
    "request",
    "response",
    "worker",
    "queue",
    "retry",
    "timeout",
    "cache",
    "session",
    "token",
    "user",
    "order",
    "invoice",
    "payment",
    "handler",
    "service",
    "database",
    "index",
    "shard",
    "replica",
    "node",
    "cluster",
    "event",
    "stream",
    "batch",
    "schema",
    "migration",
    "config",
    "deploy",
    "build",
    "pipeline",
    "artifact",
    "runner",
    "job",
    "step",
    "metric",
    "trace",
    "span",
    "alert",
    "error",
    "warning",
]
_PATHS = ("/api/v1/users", "/api/v2/orders", "/healthz", "/static/app.js", "/login", "/metrics")


def _sha(rng: random.Random, length: int = 40) -> str:
    return hashlib.sha256(str(rng.random()).encode()).hexdigest()[:length]


def _uuid(rng: random.Random) -> str:
    digest = _sha(rng, 32)
    return "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:]))


def _stamp(rng: random.Random) -> str:
    return (
        f"20{rng.randint(20, 29)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T"
        f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}"
    )


def _phrase(rng: random.Random, low: int = 2, high: int = 7) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(rng.randint(low, high)))


def log(rng: random.Random) -> str:
    """Return a log in one of four styles."""
    style = rng.randrange(4)
    lines = []
    for _ in range(rng.randint(60, 300)):
        level = rng.choice(("INFO", "INFO", "DEBUG", "WARN", "ERROR"))
        if style == 0:
            lines.append(
                f"{_stamp(rng)}.{rng.randint(0, 999):03}Z {level} [{rng.choice(_WORDS)}-"
                f"{rng.randint(1, 64)}] {_phrase(rng)} id={_sha(rng, 16)} "
                f"took={rng.randint(1, 9000)}ms"
            )
        elif style == 1:
            lines.append(
                f"10.{rng.randint(0, 255)}.{rng.randint(0, 255)}.{rng.randint(1, 254)} - - "
                f'[{_stamp(rng)} +0000] "GET {rng.choice(_PATHS)}/{rng.randint(1, 99999)} '
                f'HTTP/1.1" '
                f"{rng.choice((200, 200, 304, 404, 500))} {rng.randint(100, 99999)} "
                f'"-" "Mozilla/5.0"'
            )
        elif style == 2:
            lines.append(
                f"{rng.choice(('Jan', 'Mar', 'Aug', 'Nov'))} {rng.randint(1, 28):2} 12:"
                f"{rng.randint(0, 59):02}:{rng.randint(0, 59):02} host{rng.randint(1, 9)} "
                f"{rng.choice(_WORDS)}d[{rng.randint(100, 32000)}]: {_phrase(rng)}"
            )
        else:
            lines.append(
                json.dumps(
                    {
                        "ts": _stamp(rng),
                        "level": level.lower(),
                        "msg": _phrase(rng),
                        "trace_id": _sha(rng, 32),
                        "duration_ms": round(rng.random() * 1000, 3),
                    }
                )
            )
    return "\n".join(lines) + "\n"


def records(rng: random.Random) -> str:
    """Return JSON records, pretty, compact or one a line."""
    rows = [
        {
            "id": _uuid(rng),
            "name": _phrase(rng, 1, 3),
            "count": rng.randint(0, 10 ** rng.randint(1, 8)),
            "ratio": rng.random() * 10 ** rng.randint(0, 4),
            "active": rng.random() < 0.5,
            "tags": [rng.choice(_WORDS) for _ in range(rng.randint(0, 4))],
            "createdAt": _stamp(rng) + "Z",
            "parent": None
            if rng.random() < 0.3
            else {"sha": _sha(rng), "size": rng.randint(1, 9999)},
        }
        for _ in range(rng.randint(20, 90))
    ]
    style = rng.randrange(3)
    if style == 0:
        return json.dumps(rows, indent=rng.choice((2, 4)))
    if style == 1:
        return json.dumps(rows, separators=(",", ":"))
    return "\n".join(json.dumps(row) for row in rows) + "\n"


def table(rng: random.Random) -> str:
    """Return CSV of floats, integers, words or a mix."""
    style = rng.randrange(4)
    columns = rng.randint(3, 12)
    lines = [",".join(rng.choice(_WORDS) for _ in range(columns))]
    for _ in range(rng.randint(60, 300)):
        row = []
        for column in range(columns):
            kind = (style + (column % 3 if style == 3 else 0)) % 3
            if kind == 0:
                row.append(f"{rng.gauss(0, 10 ** rng.randint(0, 5)):.{rng.randint(1, 8)}f}")
            elif kind == 1:
                row.append(str(rng.randint(0, 10 ** rng.randint(1, 9))))
            else:
                row.append(_phrase(rng, 1, 2))
        lines.append(",".join(row))
    return "\n".join(lines) + "\n"


def encoded(rng: random.Random) -> str:
    """Return base64 (wrapped or not), hex dumps, hashes or UUIDs."""
    raw = rng.randbytes(rng.randint(2_000, 9_000))
    style = rng.randrange(5)
    if style == 0:
        return base64.encodebytes(raw).decode()
    if style == 1:
        return base64.b64encode(raw).decode()
    if style == 2:
        return "\n".join(
            f"{at:08x}  {raw[at : at + 16].hex(' ')}" for at in range(0, len(raw) // 2, 16)
        )
    if style == 3:
        return "\n".join(f"{_sha(rng, 64)}  {_phrase(rng, 1, 1)}-{at}.tar.gz" for at in range(120))
    return "\n".join(_uuid(rng) for _ in range(200))


def lock(rng: random.Random) -> str:
    """Return a package lock file like npm's or a TOML one like uv's and Cargo's."""
    names = [f"{rng.choice(_WORDS)}-{rng.choice(_WORDS)}" for _ in range(rng.randint(30, 120))]
    version = [f"{rng.randint(0, 9)}.{rng.randint(0, 40)}.{rng.randint(0, 20)}" for _ in names]
    if rng.random() < 0.5:
        packages = {
            f"node_modules/{name}": {
                "version": number,
                "resolved": f"https://registry.example/{name}/-/{name}-{number}.tgz",
                "integrity": "sha512-" + base64.b64encode(rng.randbytes(64)).decode(),
                "dev": rng.random() < 0.4,
                "dependencies": {rng.choice(names): f"^{rng.choice(version)}" for _ in range(2)},
            }
            for name, number in zip(names, version, strict=True)
        }
        return json.dumps({"lockfileVersion": 3, "packages": packages}, indent=2)
    return "\n".join(
        f'[[package]]\nname = "{name}"\nversion = "{number}"\n'
        f'source = {{ registry = "https://pypi.example/simple" }}\n'
        f'checksum = "{_sha(rng, 64)}"\ndependencies = [\n "{rng.choice(names)}",\n]\n'
        for name, number in zip(names, version, strict=True)
    )


def diff(rng: random.Random, text: str, other: str) -> str:
    """Return a unified diff of ``text`` with lines taken from ``other``."""
    before = text.splitlines(keepends=True)[:1500]
    spare = other.splitlines(keepends=True)
    after = list(before)
    for _ in range(max(6, len(before) // 25)):
        at = rng.randrange(max(1, len(after)))
        new = [rng.choice(spare) for _ in range(rng.randint(0, 3))] if spare else []
        after[at : at + rng.randint(0, 3)] = new
    name = f"src/{rng.choice(_WORDS)}/{rng.choice(_WORDS)}.py"
    head = f"diff --git a/{name} b/{name}\nindex {_sha(rng, 7)}..{_sha(rng, 7)} 100644\n"
    return head + "".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"))


def emoji(rng: random.Random) -> str:
    """Return a changelog or chat in which every line holds emoji."""
    ranges = ((0x1F300, 0x1F5FF), (0x1F600, 0x1F64F), (0x1F680, 0x1F6C5), (0x1F90D, 0x1F9FF))
    all_of = [chr(code) for low, high in ranges for code in range(low, high)]
    common = [char for char in all_of if unicodedata.category(char) == "So"]
    few = rng.sample(common, 40)
    lines = []
    for _ in range(rng.randint(40, 160)):
        pick = common if rng.random() < 0.3 else few
        mark = "".join(rng.choice(pick) for _ in range(rng.randint(1, 3)))
        if rng.random() < 0.2:
            mark += rng.choice(("\ufe0f", "\U0001f3fd", "\u200d\U0001f4bb"))
        lines.append(f"- {mark} {_phrase(rng)} {rng.choice(pick)}")
    return "\n".join(lines) + "\n"


def notebook(rng: random.Random, code: str, prose: str) -> str:
    """Return a notebook whose cells are pieces of ``code`` and ``prose``."""
    blocks = [part for part in code.split("\n\n") if part.strip()][:24]
    notes = [part for part in prose.split("\n\n") if part.strip()][:24]
    cells = []
    for at, block in enumerate(blocks):
        cells.append(
            {
                "cell_type": "code",
                "execution_count": at + 1,
                "id": _sha(rng, 8),
                "metadata": {},
                "outputs": [
                    {
                        "name": "stdout",
                        "output_type": "stream",
                        "text": [f"{_phrase(rng)}\n" for _ in range(rng.randint(0, 4))],
                    }
                ],
                "source": block.splitlines(keepends=True),
            }
        )
        if at < len(notes):
            cells.append(
                {
                    "cell_type": "markdown",
                    "metadata": {},
                    "source": notes[at].splitlines(keepends=True),
                }
            )
    return json.dumps(
        {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1
    )


def listing(rng: random.Random, paths: list[str], code: str) -> str:
    """Return what a shell prints: file lists, search hits, a test run."""
    style = rng.randrange(3)
    chosen = [rng.choice(paths) for _ in range(rng.randint(50, 200))]
    if style == 0:
        return "\n".join(
            f"-rw-r--r-- 1 user user {rng.randint(10, 999999):>8} Nov {rng.randint(1, 28):2} 12:"
            f"{rng.randint(0, 59):02} {path}"
            for path in chosen
        )
    if style == 1:
        lines = [line for line in code.splitlines() if line.strip()] or ["pass"]
        return "\n".join(
            f"{path}:{rng.randint(1, 3000)}:{rng.choice(lines)[:160]}" for path in chosen[:80]
        )
    return "\n".join(
        f"{path}::test_{rng.choice(_WORDS)}_{rng.choice(_WORDS)} "
        f"{rng.choice(('PASSED', 'PASSED', 'FAILED', 'SKIPPED'))} [{at * 100 // len(chosen):3}%]"
        for at, path in enumerate(chosen)
    )
