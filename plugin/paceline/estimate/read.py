"""What the client's Read tool will return for a path, in tokens. On a hook's fast path.

Never raises, never opens what is not a regular file, reads at most 256 KB.
"""

from __future__ import annotations

import os
import stat

from paceline.estimate import image, text
from paceline.estimate.value import Estimate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CAP = 25_000
"""Tokens one Read returns at most, unless ``CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS`` says otherwise."""
CAP_VARIABLE = "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS"
LINES = 2_000
"""Lines of one Read without a limit."""
SIZE_MAX = 256 * 1024
"""Bytes of a whole-file Read, and the most that is ever read here."""
PAGE_SHARE = 0.85
"""Share of the cap that the first page of a file over the cap fills (seen on 2.1.332)."""
SMALL = 60
"""Tokens of an error or a refusal."""
PDF_PAGE = 3_000
PDF_WHOLE = 10
PDF_CALL = 20

_KINDS = {
    "code": "py pyi pyx js jsx mjs cjs ts tsx mts cts go rs c h cc cpp cxx hpp hh m mm java kt kts scala "
    "swift rb php pl pm lua r jl cs fs vb dart ex exs erl hrl hs ml mli clj cljs lisp el sql zig nim v "
    "sh bash zsh fish ps1 bat cmd awk gradle groovy cmake make mk tf hcl proto thrift graphql gql vue svelte asm s",
    "json": "json jsonl jsonc ndjson geojson map webmanifest",
    "data": "yaml yml toml ini cfg conf properties env xml xsd xsl plist lock po pot",
    "table": "csv tsv",
    "web": "html htm css scss less sass svg xhtml",
    "prose": "md markdown mdx rst txt adoc tex org",
    "log": "log out err",
    "diff": "diff patch",
    "notebook": "ipynb",
    "image": "png jpg jpeg gif webp",
    "pdf": "pdf",
    "binary": "zip gz tgz bz2 xz zst 7z rar tar jar war class pyc pyo so dylib dll exe o a lib bin dat wasm "
    "woff woff2 ttf otf eot ico icns bmp tif tiff psd mp3 mp4 m4a wav ogg flac avi mov mkv webm sqlite "
    "sqlite3 db iso dmg deb rpm whl egg parquet npy npz pkl doc docx xls xlsx ppt pptx",
}
_KIND = {ext: kind for kind, exts in _KINDS.items() for ext in exts.split()}

_SPREAD = 0.15


def kind_of(path: str) -> str:
    """Return the kind of a file by its name: code, json, data, table, web, prose, log, …, ``text``."""
    name = os.path.basename(path).lower()
    dot = name.rfind(".")
    return _KIND.get(name[dot + 1 :], "text") if dot >= 0 else "text"


def token_cap(env: Mapping[str, str] | None = None) -> int:
    """Return Read's token cap: the client's variable where it is a positive number, else 25,000."""
    told = (os.environ if env is None else env).get(CAP_VARIABLE, "")
    return int(told) if told.isascii() and told.isdigit() and 0 < int(told[:12]) else CAP


def estimate_read(
    path: str,
    offset: int | None = None,
    limit: int | None = None,
    *,
    pages: str | None = None,
    model: str = "",
    cap: int | None = None,
    env: Mapping[str, str] | None = None,
) -> Estimate:
    """Return what a Read of ``path`` will add to the next request.

    Args:
        path: as in the tool's ``file_path``; a relative one is taken from the current folder.
        offset: first line, from 1.
        limit: number of lines.
        pages: of a PDF, like ``"1-5"``.
        model: id or alias of the model that reads.
        cap: Read's token cap; by default from ``env``.
        env: the client's environment, by default this process's.
    """
    try:
        return _estimate(path, offset, limit, pages, model, cap or token_cap(env))
    except (OSError, ValueError, OverflowError, MemoryError) as err:
        reason = err.strerror if isinstance(err, OSError) and err.strerror else "unreadable"
        return _small(
            str(path), "missing" if isinstance(err, FileNotFoundError) else reason.lower()
        )


def _small(path: str, reason: str, kind: str = "none") -> Estimate:
    return Estimate(path, kind, SMALL, SMALL // 4, SMALL * 4, reason=reason)


def _estimate(
    path: str,
    offset: int | None,
    limit: int | None,
    pages: str | None,
    model: str,
    cap: int,
) -> Estimate:
    if not isinstance(path, str) or not path or "\0" in path:
        return _small(str(path), "not a path")
    info = os.stat(path)
    if stat.S_ISDIR(info.st_mode):
        return _small(path, "directory")
    if not stat.S_ISREG(info.st_mode):
        return _small(path, "fifo" if stat.S_ISFIFO(info.st_mode) else "device")
    kind = kind_of(path)
    if kind == "binary":
        return _small(path, "binary")
    if kind == "pdf":
        return _pdf(path, pages, info.st_size)
    ranged = isinstance(offset, int) or isinstance(limit, int)
    if kind not in ("image", "notebook") and not ranged and info.st_size > SIZE_MAX:
        return _small(path, "over 256 KB", kind)
    data = _head(path)
    if kind == "image":
        cost = image.tokens(data, model)
        return Estimate(path, kind, cost, cost, cost) if cost else _small(path, "not an image")
    if b"\0" in data[:8192] and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        return _small(path, "binary")
    return _text(path, kind, data, info.st_size, offset, limit, model, cap)


def _head(path: str) -> bytes:
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    fd = os.open(path, flags | getattr(os, "O_NOCTTY", 0))
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return b""
        parts = []
        left = SIZE_MAX
        while left > 0:
            part = os.read(fd, left)
            if not part:
                break
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(fd)


def _text(
    path: str,
    kind: str,
    data: bytes,
    size: int,
    offset: int | None,
    limit: int | None,
    model: str,
    cap: int,
) -> Estimate:
    ranged = isinstance(offset, int) or isinstance(limit, int)
    first = max(offset or 1, 1)
    count = LINES if limit is None else max(limit, 1)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    lines = data.split(b"\n")
    whole = size <= len(data)
    guessed = len(lines) if whole else max(len(lines), int(len(lines) * size / max(len(data), 1)))
    if first > len(lines):
        if whole:
            return _small(path, "past the end", kind)
        chosen = lines[: min(count, len(lines))]
    else:
        chosen = lines[first - 1 : first - 1 + count]
    tokenizer = text.tokenizer_of(model)
    cost = text.tokens_of(numbered(chosen, first), tokenizer)
    wanted = min(count, max(guessed - first + 1, 0))
    if not whole and len(chosen) < wanted:
        cost = cost * wanted // max(len(chosen), 1)
    shown = wanted
    capped = cost > cap
    if capped and ranged:
        return Estimate(
            path,
            kind,
            SMALL,
            SMALL // 4,
            cap,
            capped=True,
            reason="over the token cap",
            total_lines=guessed,
        )
    if capped:
        shown = max(1, int(wanted * PAGE_SHARE * cap / cost))
        cost = int(cap * PAGE_SHARE)
    return Estimate(
        path,
        kind,
        cost,
        int(cost * (1 - _SPREAD)),
        int(cost * (1 + _SPREAD)) + 1,
        capped=capped,
        reason="first page only" if capped else "",
        lines=shown,
        total_lines=guessed,
    )


def numbered(lines: list[bytes], first: int) -> bytes:
    """Return the lines as Read shows them: number, tab, line."""
    return b"\n".join([b"%d\t%s" % pair for pair in enumerate(lines, first)])


def _pdf(path: str, pages: str | None, size: int) -> Estimate:
    wanted = _pages(pages)
    count = wanted or min(PDF_WHOLE, max(1, size // 50_000))
    cost = count * PDF_PAGE
    return Estimate(path, "pdf", cost, cost // 3, cost * 2)


def _pages(told: str | None) -> int:
    total = 0
    for part in (told or "").split(","):
        start, _, end = part.strip().partition("-")
        if start.isdigit() and len(start) < 7:
            last = int(end) if end.isdigit() and len(end) < 7 else int(start)
            total += max(0, last - int(start) + 1)
    return min(total, PDF_CALL)
