"""The prompt cache: who pays for a prefix, and who reads it.

The rules of Anthropic's prompt caching page: an entry becomes readable when the first response
that writes it begins, lives five minutes (or an hour) from its last use, is found by looking back
at most twenty blocks from a breakpoint, and is not made of fewer than ``min_tokens`` tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paceline_bench.simapi.counting import Mark, Prompt

LOOKBACK = 20
SWEEP_S = 60.0
"""Seconds after which dead entries are thrown away; until then they are only passed over."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Input tokens as the API reports them. The limit counts ``input`` and ``creation`` only."""

    input: int
    creation: int
    read: int

    @property
    def uncached(self) -> int:
        """What the input limit counts."""
        return self.input + self.creation


@dataclass(slots=True)
class Entry:
    """A readable prefix: its tokens, its time to live and when it dies, in seconds."""

    tokens: int
    ttl: float
    dies: float


@dataclass(slots=True)
class PromptCache:
    """The entries of one organization, by prefix key; some of them may be dead."""

    min_tokens: int = 1024
    entries: dict[str, Entry] = field(default_factory=dict)
    _sweep_at: float = 0.0

    def usage(self, prompt: Prompt, now: float) -> Usage:
        """Return what the request would be counted at, if it started now. Changes nothing."""
        hit = self._longest(prompt, now)
        read = hit.total if hit else 0
        written = max((mark.total for mark in self._writes(prompt)), default=0)
        creation = max(0, written - read)
        return Usage(input=prompt.total - read - creation, creation=creation, read=read)

    def begin(self, prompt: Prompt, now: float) -> None:
        """Note that the response begins: its prefixes are readable, what it read lives on."""
        self._forget(now)
        hit = self._longest(prompt, now)
        if hit:
            entry = self.entries[hit.key]
            entry.dies = now + entry.ttl
        for mark in self._writes(prompt):
            known = self.entries.get(mark.key)
            ttl = max(mark.ttl, known.ttl) if known and known.dies > now else mark.ttl
            self.entries[mark.key] = Entry(mark.total, ttl, now + ttl)

    def _writes(self, prompt: Prompt) -> list[Mark]:
        return [mark for mark in prompt.marks if mark.ttl and mark.total >= self.min_tokens]

    def _longest(self, prompt: Prompt, now: float) -> Mark | None:
        """Return the last boundary, in reach of a breakpoint, that a live entry names."""
        reach = 0
        best: Mark | None = None
        for back, mark in enumerate(reversed(prompt.marks)):
            if mark.ttl:
                reach = back + LOOKBACK
            if back <= reach and reach:
                entry = self.entries.get(mark.key)
                if entry and entry.dies > now:
                    best = mark
                    break
        return best

    def _forget(self, now: float) -> None:
        if now < self._sweep_at:
            return
        self._sweep_at = now + SWEEP_S
        for key in [key for key, entry in self.entries.items() if entry.dies <= now]:
            del self.entries[key]
