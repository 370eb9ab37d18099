"""Tokens a transcript reports, each response counted once.

The client writes one row a content block, all with the id of their response and its usage so far;
a gateway may leave the request id out. A response is its message id and request id; of several
rows the largest count of each kind is the final one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KINDS = (
    ("input", "input_tokens"),
    ("cache_creation", "cache_creation_input_tokens"),
    ("cache_read", "cache_read_input_tokens"),
    ("output", "output_tokens"),
)
SYNTHETIC = "<synthetic>"
_MOST = 10**12


class Usage:
    """A running count over rows.

    Attributes:
        tokens: final counts by kind, in tokens: ``input``, ``cache_creation``, ``cache_read``,
            ``output``.
    """

    __slots__ = ("_seen", "tokens")

    def __init__(self) -> None:
        self.tokens = dict.fromkeys((kind for kind, _ in KINDS), 0)
        self._seen: dict[tuple[str, str], list[int]] = {}

    def add(self, row: Mapping[str, Any]) -> None:
        """Count an ``assistant`` row; synthetic rows and odd values count nothing."""
        message = row.get("message")
        if not isinstance(message, dict) or message.get("model") == SYNTHETIC:
            return
        told = message.get("usage")
        ident = message.get("id")
        if not isinstance(told, dict) or not isinstance(ident, str):
            return
        request = row.get("requestId")
        key = (ident, request if isinstance(request, str) else "")
        before = self._seen.setdefault(key, [0] * len(KINDS))
        for at, (kind, name) in enumerate(KINDS):
            count = told.get(name)
            if type(count) is int and before[at] < count < _MOST:
                self.tokens[kind] += count - before[at]
                before[at] = count

    def charged(self) -> int:
        """Return what was paid for: everything but cache reads."""
        return charged(self.tokens)


def charged(tokens: Mapping[str, int]) -> int:
    """Return what counts against a limit or is paid anew: input, cache writes and output."""
    return tokens["input"] + tokens["cache_creation"] + tokens["output"]


def none() -> dict[str, int]:
    """Return no tokens of any kind."""
    return {str(kind): 0 for kind, _ in KINDS}


def total(*counts: Mapping[str, int]) -> dict[str, int]:
    """Return the sum by kind."""
    return {kind: sum(count[kind] for count in counts) for kind, _ in KINDS}
