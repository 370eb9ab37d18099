"""The lines of a file that one Read shows. On a hook's fast path; reads at most 256 KB.

Read numbers each line (``12<TAB>text``), counts the text without the numbers against its cap, and
shows the first page of a whole file that is over it; a range that is over it is an error.
"""

from __future__ import annotations

import errno
import os
import stat

from paceline.estimate import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

SIZE_MAX = 256 * 1024
"""Bytes of a whole-file Read, and the most that is ever read here."""
PAGE_SHARE = 0.85
"""Share of the cap that the first page is cut to, in proportion to the file's lines."""
PAGE_SHRINK = 0.7
"""The page is shortened by this as long as it is still over the cap."""
CONTEXT_MAX = 1_000_000
"""Tokens no answer can have, whatever ``allow_large`` says."""
NUL_NOTE = 75
UTF8_NOTE = 85
PARTIAL_NOTE = 130
"""Tokens of what the client adds about NUL bytes, broken UTF-8, a page that is not all."""

_NUL_LOOKED_AT = 8_192
_SAMPLE = 64 * 1024
_LINE_LEAST = 1
_GUESS_DOUBT = 0.25
_NEAR_CAP = 0.08


class Range:
    """The lines a Read asks for. ``limit`` 0 is the whole file, ``offset`` counts from 1."""

    __slots__ = ("allow_large", "limit", "offset", "start")

    def __init__(self, offset: object, limit: object, *, allow_large: bool = False) -> None:
        told = offset if isinstance(offset, int) and not isinstance(offset, bool) else 1
        self.limit = limit if isinstance(limit, int) and limit > 0 else 0
        self.start = max(told, 0)
        self.offset = max(told, 1)
        self.allow_large = allow_large

    def is_whole(self) -> bool:
        """Whether this asks for the whole file."""
        return self.offset == 1 and not self.limit


class Source:
    """An opened regular file that gives at most 256 KB in all. ``OSError`` when it is none."""

    def __init__(self, path: str, size: int) -> None:
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(path, flags | getattr(os, "O_NOCTTY", 0))
        try:
            regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            self._file: BinaryIO = os.fdopen(descriptor, "rb", buffering=0)
        except BaseException:
            os.close(descriptor)
            raise
        if not regular:  # it was one a moment ago
            self._file.close()
            raise OSError(errno.EINVAL, "not a regular file")
        self.size = size
        self.left = SIZE_MAX

    def read(self, at: int, size: int) -> bytes:
        """Return up to ``size`` bytes from ``at``, fewer at the end or when 256 KB were read."""
        self._file.seek(at)
        parts = []
        wanted = min(size, self.left)
        while wanted > 0:
            part = self._file.read(wanted)
            if not part:
                break
            parts.append(part)
            wanted -= len(part)
            self.left -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Shown:
    """What one Read shows: tokens, lines, and how much the guess about the rest may be off."""

    __slots__ = ("capped", "doubt", "lines", "reason", "tokens", "total_lines")

    def __init__(
        self,
        tokens: int,
        lines: int,
        total_lines: int,
        *,
        capped: bool = False,
        doubt: float = 0.0,
        reason: str = "",
    ) -> None:
        self.tokens = tokens
        self.lines = lines
        self.total_lines = total_lines
        self.capped = capped
        self.doubt = doubt
        self.reason = reason


def shown(source: Source, wanted: Range, tokenizer: str, cap: int) -> Shown:
    """Return what a Read of this range shows."""
    raw = source.read(0, SIZE_MAX if source.size <= SIZE_MAX else SIZE_MAX - _SAMPLE)
    data, note = cleaned(raw)
    lines = data.split("\n")
    if source.size > SIZE_MAX:
        return _of_large(source, raw, lines, wanted, tokenizer, cap)
    if wanted.offset > len(lines):
        return Shown(0, 0, len(lines), reason="past the end")
    chosen = lines[wanted.offset - 1 :]
    if wanted.limit:
        chosen = chosen[: wanted.limit]
    # The client checks only what is not small by its own quick count, four characters a token.
    over = len(data) > cap and not wanted.allow_large
    bare = text.tokens("\n".join(chosen), tokenizer) if over else 0
    if bare > cap:
        if not wanted.is_whole():
            return Shown(0, 0, len(lines), capped=True, reason="over the token cap")
        return _first_page(lines, bare, tokenizer, cap)
    cost = text.tokens(numbered(chosen, wanted.start or 0), tokenizer) + note
    near = over and bare > cap * (1 - _NEAR_CAP)
    return Shown(cost, len(chosen), len(lines), doubt=_NEAR_CAP if near else 0.0)


def _first_page(lines: list[str], bare: int, tokenizer: str, cap: int) -> Shown:
    """Return the page that the client cuts a whole file to."""
    count = max(int(PAGE_SHARE * cap / bare * len(lines)), 1)
    while count > 1 and text.tokens("\n".join(lines[:count]), tokenizer) > cap:
        count = int(count * PAGE_SHRINK)
    count = max(count, 1)
    page = lines[:count]
    first = text.tokens(page[0], tokenizer) if count == 1 else 0
    if first > cap:
        page = [page[0][: int(len(page[0]) * PAGE_SHARE * cap / first)]]
    cost = text.tokens(numbered(page, 1), tokenizer) + PARTIAL_NOTE
    near = _NEAR_CAP if bare < cap * (1 + _NEAR_CAP) else 0.0
    return Shown(cost, count, len(lines), capped=True, doubt=near, reason="first page only")


def _of_large(
    source: Source, head: bytes, lines: list[str], wanted: Range, tokenizer: str, cap: int
) -> Shown:
    """Return what a range of a file over 256 KB shows, from its head and one sample at the range.

    The number of lines is a guess, as counting them would mean to read the file.
    """
    a_line = max(len(head) / max(len(lines), 1), _LINE_LEAST)
    total = max(int(source.size / a_line), len(lines))
    if wanted.allow_large and not wanted.limit:
        cost = text.tokens(numbered(lines[wanted.offset - 1 :], wanted.offset), tokenizer)
        rest = int(min(cost * source.size / max(len(head), 1), CONTEXT_MAX))
        return Shown(rest, total, total, doubt=_GUESS_DOUBT)
    last = wanted.offset - 1 + wanted.limit
    if last < len(lines):
        chosen, doubt = lines[wanted.offset - 1 : last], 0.0
    else:
        at = int(min((wanted.offset - 1) * a_line, max(source.size - _SAMPLE, 0)))
        sample, _ = cleaned(source.read(at, _SAMPLE))
        chosen, doubt = sample.split("\n")[1:-1] or [sample], _GUESS_DOUBT
        chosen = chosen[: wanted.limit]
    bare = text.tokens("\n".join(chosen), tokenizer)
    share = wanted.limit / max(len(chosen), 1)
    if bare * share > cap and not wanted.allow_large:
        return Shown(0, 0, total, capped=True, reason="over the token cap")
    cost = text.tokens(numbered(chosen, wanted.start), tokenizer)
    return Shown(int(cost * share), wanted.limit, total, doubt=doubt)


def cleaned(raw: bytes) -> tuple[str, int]:
    """Return the text as the client reads it, and the tokens of a note it adds.

    A byte order mark is obeyed and left out, CRLF becomes LF, broken UTF-8 becomes U+FFFD.
    """
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace").replace("\r\n", "\n"), 0
    note = NUL_NOTE if b"\0" in raw[:_NUL_LOOKED_AT] else 0
    found = raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    if not note and not raw.isascii() and "\ufffd" in found:
        note = UTF8_NOTE
    return found.replace("\r\n", "\n"), note


def numbered(lines: list[str], first: int) -> str:
    """Return the lines as Read shows them: number, tab, line."""
    return "\n".join([f"{at}\t{line}" for at, line in enumerate(lines, first)])
