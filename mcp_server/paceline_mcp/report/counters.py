"""Grants, refusals, revivals and tokens of a session, counted from its event log as it grows."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from paceline import jsonl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MINUTE_S = 60.0
MOST = 1e12


class Counters:
    """Counts of one session.

    Attributes:
        counts: ``grants``, ``refusals``, ``revivals``, ``holds``, ``requeues``.
        causes: refusals by cause.
        held_s: seconds that granted requests had waited.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.causes: Counter[str] = Counter()
        self.held_s = 0.0
        self._settled: deque[tuple[float, int]] = deque()
        self._offset = 0

    def refresh(self, log: str) -> None:
        """Take in what was appended to the log since the last time."""
        lines, self._offset = jsonl.read(log, self._offset)
        self.take(lines)

    def take(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Count lines; one of an unknown kind counts nothing."""
        for line in lines:
            name = NAMES.get(str(line.get("e")))
            if name is None:
                continue
            self.counts[name] += 1
            if name == "grants":
                self.held_s += number(line.get("waited"))
            elif name == "refusals":
                self.causes[str(line.get("cause"))[:20]] += 1
            elif name == "settled":
                at, tokens = number(line.get("t")), new_input(line)
                self._settled.append((at, tokens))

    def last_minute(self, now: float) -> int:
        """Return the input tokens that were settled in the last minute."""
        since = now - MINUTE_S
        while self._settled and self._settled[0][0] < since:
            self._settled.popleft()
        return sum(tokens for at, tokens in self._settled if at >= since)

    def as_json(self, now: float) -> dict[str, Any]:
        """Return ``{"grants", "refusals", "revivals", "held_s", "causes", "last_minute"}``."""
        return {
            **{name: self.counts[name] for name in ("grants", "refusals", "revivals", "requeues")},
            "held_s": round(self.held_s, 1),
            "causes": dict(sorted(self.causes.items())),
            "last_minute": self.last_minute(now),
        }


NAMES = {
    "request.grant": "grants",
    "request.refused": "refusals",
    "agent.failed": "deaths",
    "request.revived": "revivals",
    "request.settle": "settled",
    "requeue": "requeues",
}
"""Kinds of the event log that are counted, and as what."""


def new_input(line: Mapping[str, Any]) -> int:
    """Return the tokens of a settled request that counted against the input limit."""
    return round(number(line.get("input")) + number(line.get("cache_creation")))


def number(value: object) -> float:
    """Return a count or a time of the log, 0.0 for what cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 0 < value < MOST else 0.0
