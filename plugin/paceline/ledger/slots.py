"""How far apart requests go where their tokens alone do not say: slots, one after the other.

* ``Family.gap`` keeps those apart that would all go at once after a reset or an overload, or that
  were refused together while nothing is known to pace by (rule I8).
* While nothing is known of an input limit, large requests that come together go no faster than
  ``UNKNOWN_PER_S``, and ever faster while nobody is refused. The first refusal takes a moment to
  come back: so it finds few behind it and not a whole fan-out. What an account allows for longer
  than a moment is never slowed down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

from paceline.ledger import history

if TYPE_CHECKING:
    from paceline.ledger.values import Amounts, Family
    from paceline.ledger.view import View

UNKNOWN_PER_S = 250_000.0
"""Tokens a second: half as many again as the highest published input limit, 10 million a minute."""
RECENT_S = 5.0
"""As much a second as went in the last so many seconds may always go: twice as fast every 0.7 s."""
LARGE = 5_000.0
"""Smaller requests need no slot then: a refusal among them costs little, and what they get through
before it tells best what the limit may be."""


def slot(view: View, family: Family, amounts: Amounts, now: float) -> float:
    """Take the next slot for a request. Return when it begins; it may go from then on."""
    after = _after(view, family, amounts, now)
    if not after:
        return now
    begins = max(view.spaced, family.next_at)
    view.spaced = max(begins, now) + after
    return begins


def taken(view: View, family: Family, amounts: Amounts, now: float) -> None:
    """Note that a request goes now: the next slot begins after it."""
    after = _after(view, family, amounts, now)
    if after:
        family.next_at = now + after


def _after(view: View, family: Family, amounts: Amounts, now: float) -> float:
    """Return the seconds that a request's slot lasts, 0 where it needs none."""
    if family.gap:
        return family.gap
    tokens = amounts.get("input", 0.0)
    if view.rates["input"] is not None or tokens <= LARGE:
        return 0.0
    if view.recent is None:
        went = history.accepted(family.learner, now - RECENT_S)
        view.recent = sum(tokens for _, tokens in went)
    return tokens / max(UNKNOWN_PER_S, view.recent)
