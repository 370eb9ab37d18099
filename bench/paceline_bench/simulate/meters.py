"""What is measured while a simulation runs: who waited how long, who got how much."""

from __future__ import annotations

from dataclasses import dataclass, field

PAIRS_MOST = 64
"""Sessions up to which every pair is compared."""
QUEUED_S = 3.0
"""A request that has wanted to go for this long is queued: it waits for tokens, not for a leader's
first reply or on its way."""


@dataclass(slots=True)
class Fairness:
    """The worst gap in service between two sessions that both had something queued all the while.

    For every pair: the difference of what they got, followed from when both have a request
    queued until one has none; the gap is the range of that difference. Tokens.
    """

    worst: float = 0.0
    _waiting: dict[int, int] = field(default_factory=dict)
    _pairs: dict[tuple[int, int], list[float]] = field(default_factory=dict)

    def queued(self, session: int) -> None:
        """Note that a request of a session is queued."""
        self._waiting[session] = self._waiting.get(session, 0) + 1

    def got(self, session: int, tokens: float) -> None:
        """Note that the API took a request of a session, queued or not."""
        waiting = self._waiting
        if session in waiting and 1 < len(waiting) <= PAIRS_MOST:
            for other in waiting:
                if other != session:
                    self._moved(session, other, tokens)

    def left(self, session: int) -> None:
        """Note that one is queued no more."""
        left = self._waiting.get(session, 0) - 1
        if left > 0:
            self._waiting[session] = left
            return
        self._waiting.pop(session, None)
        for pair in [pair for pair in self._pairs if session in pair]:
            del self._pairs[pair]

    def _moved(self, session: int, other: int, tokens: float) -> None:
        one, two = min(session, other), max(session, other)
        seen = self._pairs.setdefault((one, two), [0.0, 0.0, 0.0])
        seen[0] += tokens if session == one else -tokens
        seen[1] = min(seen[1], seen[0])
        seen[2] = max(seen[2], seen[0])
        self.worst = max(self.worst, seen[2] - seen[1])


@dataclass(slots=True)
class Meters:
    """All of them.

    Attributes:
        fairness: see :class:`Fairness`.
        longest_wait: seconds the longest-waiting request wanted to go before the API took it.
        done: times at which agents delivered.
        dropped: times at which agents were dropped.
        cold: first requests that found no shared prefix in the cache.
        rebuilt: later requests that found their own context gone from the cache.
        restarted: agents that were started anew after a crash.
    """

    fairness: Fairness = field(default_factory=Fairness)
    longest_wait: float = 0.0
    done: list[float] = field(default_factory=list)
    dropped: list[float] = field(default_factory=list)
    cold: int = 0
    rebuilt: int = 0
    restarted: int = 0
