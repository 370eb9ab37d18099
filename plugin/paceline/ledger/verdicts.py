"""What a ledger is asked with and answers with: values that can be printed."""

from __future__ import annotations

from dataclasses import dataclass  # noqa: TID253 - off the hook's fast path
from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

if TYPE_CHECKING:
    from paceline.ledger.values import Amounts


@dataclass(frozen=True, slots=True)
class Policy:
    """What a person may set, and what a test varies.

    Attributes:
        headroom: fraction of a bucket's capacity never used (see ``bucket.rate_of``).
        overtake: fraction of the capacity that may go ahead of a first ticket that does not fit.
            None by default: tokens saved for it are not idle, since a bucket overflows only when
            it is full; and with a quarter, 40 agents that read files of mixed sizes under a hidden
            limit waited past their caches' life and spent half as many tokens again.
        park_max: seconds a request is parked for a known reset at most, then it is dropped.
    """

    headroom: float = 0.04
    overtake: float = 0.0
    park_max: float = 6 * 3600.0


@dataclass(frozen=True, slots=True)
class Grant:
    """A request may go. ``leader``: its reply warms the cache that others wait for."""

    ticket: str
    reservation: str
    amounts: Amounts
    waited: float
    leader: bool = False
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Wait:
    """A request waits. ``at``: when to ask again at the latest for its turn (epoch seconds).

    ``why`` is ``turn``, ``leader``, ``gap``, ``quota`` or ``overload``.
    """

    ticket: str
    at: float
    why: str


@dataclass(frozen=True, slots=True)
class Drop:
    """A request will not go: its limit resets after ``Policy.park_max``, or its ticket is gone."""

    ticket: str
    why: str
    resets_at: float | None = None


Verdict = Grant | Wait | Drop


@dataclass(frozen=True, slots=True)
class Usage:
    """What the API counted, in tokens. Cache reads do not count against the input limit."""

    input: float = 0.0
    cache_creation: float = 0.0
    cache_read: float = 0.0
    output: float = 0.0

    @property
    def told(self) -> bool:
        """Whether anybody counted: no request is of no input at all, some proxies say nothing."""
        return self.input + self.cache_creation + self.cache_read > 0.0
