"""Strict JSON, one value a line. On a hook's fast path: standard library only.

Written as ASCII (a Windows console or a cp1252 pipe cannot spoil it), without NaN or Infinity.
Read from bytes: a byte order mark, invalid UTF-8 and lone surrogates never raise.
"""

from __future__ import annotations

import errno
import os
import sys

from paceline import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LINE_MAX = 64 * 1024
"""Bytes of one event line at most; a longer one is refused by the writer."""

_APPEND_DATA, _SHARE_ALL, _OPEN_ALWAYS, _NORMAL = 0x4, 0x7, 4, 0x80
"""Of the Windows interface: FILE_APPEND_DATA, FILE_SHARE_*, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL."""


def dumps(value: Any) -> str:
    """Return compact ASCII JSON. ``ValueError`` on NaN, infinities or what JSON cannot hold."""
    return codec.dumps(value)


def loads(data: bytes | str) -> Any:
    """Return the value of strict JSON. ``ValueError`` when it is none (NaN counts as none)."""
    if isinstance(data, bytes):
        data = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    try:
        return codec.loads(data)
    except RecursionError as err:
        msg = "JSON nested too deep"
        raise ValueError(msg) from err


def append(path: str, value: dict[str, Any]) -> None:
    """Append one line with a single write, no lock. ``OSError`` when it cannot be written."""
    line = dumps(value).encode("ascii") + b"\n"
    if len(line) > LINE_MAX:
        msg = "event line too long"
        raise ValueError(msg)
    fd = _at_end(path)
    try:
        if os.write(fd, line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    finally:
        os.close(fd)


def _at_end(path: str) -> int:
    """Return a descriptor whose every write lands whole at the file's end, whoever else writes."""
    if sys.platform == "win32":
        # O_APPEND is a seek and a write there, so that two hooks write over each other's lines;
        # who may only append has the file system do it in one step.
        import _winapi
        import msvcrt

        handle = _winapi.CreateFile(path, _APPEND_DATA, _SHARE_ALL, 0, _OPEN_ALWAYS, _NORMAL, 0)
        return msvcrt.open_osfhandle(handle, 0)
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def read(path: str, offset: int = 0) -> tuple[list[dict[str, Any]], int]:
    """Return the whole objects after ``offset`` and the offset to go on from.

    A last line without its newline is left for the next read; a line that is no JSON object is
    passed over. A missing file has no lines. A file that shrank is read from its start.
    """
    try:
        with open(path, "rb") as file:
            if offset > os.fstat(file.fileno()).st_size:
                offset = 0
            file.seek(offset)
            data = file.read()
    except OSError:
        return [], offset
    end = data.rfind(b"\n") + 1
    return list(objects(data[:end])), offset + end


def objects(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects among the lines of ``data``, in order."""
    for line in data.split(b"\n"):
        if line.strip():
            try:
                value = loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                yield value
