"""Lines of a transcript, whole file or tail, whatever their size. Standard library only."""

from __future__ import annotations

import os

from paceline import jsonl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LINE_MAX = 8 * 1024 * 1024
"""Bytes of a line that is read whole. Of a longer one only the head is kept."""

HEAD = 4096
"""Bytes kept of a line longer than ``LINE_MAX``."""

TAIL_MAX = 4 * 1024 * 1024
"""Bytes read at most from the end of a file for its last rows."""

_CHUNK = 64 * 1024
_SKIP = 1 << 20


def lines(path: str) -> Iterator[tuple[bytes, bool]]:
    """Yield each line and whether it is whole; of one that is too long, its first bytes.

    A last line without its newline is yielded as it is: the client may be writing it. A file that
    cannot be read has no lines.
    """
    try:
        file = open(path, "rb", buffering=1 << 18)  # noqa: SIM115 - only opening may fail quietly
    except OSError:
        return
    with file:
        while True:
            try:
                line = file.readline(LINE_MAX)
            except OSError:
                return
            if not line:
                return
            if len(line) == LINE_MAX and not line.endswith(b"\n"):
                head = line[:HEAD]
                while (rest := file.readline(_SKIP)) and not rest.endswith(b"\n"):
                    pass
                yield head, False
            else:
                yield line, True


def parse(line: bytes) -> dict[str, Any] | None:
    """Return the object of one line, or None where it is none."""
    try:
        value = jsonl.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def last_rows(path: str, count: int, most: int = TAIL_MAX) -> list[dict[str, Any]]:
    """Return the last ``count`` rows of a file, oldest first, reading backwards.

    At most ``most`` bytes are read; a row that does not fit is not among them. A last line without
    its newline counts when it is whole. A file that cannot be read has no rows.
    """
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError:
        return []
    try:
        return _from_end(fd, count, most)
    except OSError:
        return []
    finally:
        os.close(fd)


def _from_end(fd: int, count: int, most: int) -> list[dict[str, Any]]:
    start = os.fstat(fd).st_size
    floor = max(0, start - most)
    tail = b""
    chunk = _CHUNK
    while True:
        size = min(chunk, start - floor)
        start -= size
        os.lseek(fd, start, os.SEEK_SET)
        tail = _exactly(fd, size) + tail
        whole = tail if start == 0 else tail[tail.find(b"\n") + 1 :] if b"\n" in tail else b""
        rows = list(jsonl.objects(whole))
        if len(rows) >= count or start <= floor:
            return rows[-count:] if count > 0 else []
        chunk *= 4


def _exactly(fd: int, size: int) -> bytes:
    parts = []
    while size > 0:
        part = os.read(fd, size)
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
