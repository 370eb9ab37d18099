"""One estimate: a value with a range."""

from __future__ import annotations


class Estimate:
    """What one tool call is expected to add to the agent's next request.

    Attributes:
        path: the file it is about, or the tool's name.
        kind: ``text``, ``code``, ``json``, …: what is learned separately (see ``read.kind_of``).
        tokens: expected tokens.
        low: nine out of ten times the truth lies between ``low`` and ``high``.
        high: see ``low``.
        capped: whether the tool will cut its answer short (Read's token cap, Bash's output cap).
        reason: why it is what it is where that needs saying (``missing``, ``fifo``), else ``""``.
        lines: lines the answer is expected to hold, 0 where that means nothing.
        total_lines: lines of the whole file where they were counted or guessed, else 0.
    """

    __slots__ = (
        "capped",
        "high",
        "kind",
        "lines",
        "low",
        "path",
        "reason",
        "tokens",
        "total_lines",
    )

    def __init__(
        self,
        path: str,
        kind: str,
        tokens: int,
        low: int,
        high: int,
        *,
        capped: bool = False,
        reason: str = "",
        lines: int = 0,
        total_lines: int = 0,
    ) -> None:
        self.path = path
        self.kind = kind
        self.tokens = tokens
        self.low = low
        self.high = high
        self.capped = capped
        self.reason = reason
        self.lines = lines
        self.total_lines = total_lines

    def __repr__(self) -> str:
        return (
            f"Estimate(path={self.path!r}, kind={self.kind!r}, tokens={self.tokens}, "
            f"low={self.low}, high={self.high}, capped={self.capped}, reason={self.reason!r})"
        )
