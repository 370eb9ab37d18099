"""What the client's Read tool will return for a path, in tokens. On a hook's fast path.

Never raises, opens nothing but regular files, reads at most 256 KB of them. What Read does was
tried on the clients 2.1.240 and 2.1.332 (docs/estimator.md).
"""

from __future__ import annotations

import os
import stat

from paceline.estimate import page, text
from paceline.estimate.kinds import kind_of
from paceline.estimate.page import SIZE_MAX
from paceline.estimate.value import Estimate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CAP = 25_000
"""Tokens of one Read at most, unless the client's variable says otherwise."""
CAP_VARIABLE = "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS"
SMALL = 60
"""Tokens of an error, a refusal or a reminder instead of content."""

_PATH_SHOWN = 300
_CAP_DIGITS = 9


def token_cap(env: Mapping[str, str] | None = None) -> int:
    """Return Read's token cap: the client's variable where it is a positive number, else 25,000."""
    told = (os.environ if env is None else env).get(CAP_VARIABLE, "")
    if told.isascii() and told.isdigit() and len(told) <= _CAP_DIGITS and int(told):
        return int(told)
    return CAP


def estimate_read(
    path: str,
    offset: int | None = None,
    limit: int | None = None,
    *,
    pages: str | None = None,
    model: str = "",
    cap: int | None = None,
    env: Mapping[str, str] | None = None,
    allow_large: bool = False,
    unchanged: bool = False,
) -> Estimate:
    """Return what a Read of ``path`` will add to the next request. Never raises.

    Args:
        path: the tool's ``file_path``; a relative one is taken from the current folder.
        offset: first line, from 1.
        limit: number of lines; none or less than 1 is the whole file.
        pages: pages of a PDF, like ``"1-5"``.
        model: id or alias of the model that reads.
        cap: tokens of one Read at most; by default from ``env``.
        env: the client's environment, by default this process's.
        allow_large: the tool's own field: the whole file whatever its size.
        unchanged: the agent has this very range in its context already and the client says so
            instead of sending it again (2.1.240; 2.1.332 sent it again).
    """
    try:
        return _estimate(
            path,
            page.Range(offset, limit, allow_large=allow_large),
            pages,
            model,
            cap or token_cap(env),
            unchanged=unchanged,
        )
    except FileNotFoundError:
        return refused(path, "missing")
    except OSError as err:
        return refused(path, (err.strerror or "unreadable").lower())
    except (ValueError, OverflowError, MemoryError, TypeError, AttributeError):
        return refused(path, "unreadable")


def refused(path: object, reason: str, kind: str = "none", *, capped: bool = False) -> Estimate:
    """Return the estimate of an answer without content: an error, a refusal, a reminder."""
    shown = str(path)[:_PATH_SHOWN]
    return Estimate(shown, kind, SMALL, SMALL // 4, 3 * SMALL, capped=capped, reason=reason)


def _estimate(
    path: str,
    wanted: page.Range,
    pages: str | None,
    model: str,
    cap: int,
    *,
    unchanged: bool,
) -> Estimate:
    if not isinstance(path, str) or not path or "\0" in path:
        return refused(path, "not a path")
    info = os.stat(path)
    if stat.S_ISDIR(info.st_mode):
        return refused(path, "directory")
    if not stat.S_ISREG(info.st_mode):
        return refused(path, "fifo" if stat.S_ISFIFO(info.st_mode) else "device")
    kind = kind_of(path)
    if unchanged:
        return refused(path, "unchanged", kind)
    if kind == "binary":
        return refused(path, "binary")
    if info.st_size == 0:
        return refused(path, "empty", kind)
    if kind in ("image", "pdf", "notebook"):
        return _document(path, kind, pages, model, cap, info.st_size)
    if info.st_size > SIZE_MAX and not wanted.limit and not wanted.allow_large:
        return refused(path, "over 256 KB", kind, capped=True)
    source = page.Source(path, info.st_size)
    try:
        shown = page.shown(source, wanted, text.tokenizer_of(model), cap)
    finally:
        source.close()
    if shown.reason and not shown.tokens:
        found = refused(path, shown.reason, kind, capped=shown.capped)
    else:
        low, high = text.spread(kind, text.tokenizer_of(model))
        found = Estimate(
            path,
            kind,
            shown.tokens,
            int(shown.tokens * low * (1 - shown.doubt)),
            int(shown.tokens * high * (1 + shown.doubt)) + 2,
            capped=shown.capped,
            reason=shown.reason,
        )
    found.lines, found.total_lines = shown.lines, shown.total_lines
    return found


def _document(path: str, kind: str, pages: str | None, model: str, cap: int, size: int) -> Estimate:
    """Return the estimate of an image, a PDF or a notebook; their modules load on first use."""
    from paceline.estimate import document

    source = page.Source(path, size)
    try:
        if kind == "image":
            cost = document.image(source, model)
        elif kind == "pdf":
            cost = document.pdf(source, pages, model)
        else:
            cost = document.notebook(source, model, cap)
    finally:
        source.close()
    if cost.reason:
        return refused(path, cost.reason, kind, capped=cost.capped)
    return Estimate(path, kind, cost.tokens, cost.low, cost.high)
