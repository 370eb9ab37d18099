"""How far the estimates of what tools bring back were off, learned from settled usage.

Kept a family: ratios of counted to estimated tokens, newest last. Reserving takes a high quantile
of them: what is too much comes back with the reply, what is too little is refused. One odd file
does not move a quantile of many; with fewer than ``LEAST`` there is no correction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any  # noqa: TID253 - off the hook's fast path

if TYPE_CHECKING:
    from collections.abc import MutableMapping

KEEP = 25
LEAST = 3
QUANTILE = 0.8
LOWEST, HIGHEST = 0.4, 2.5
WORTH = 300.0
"""Tokens an estimate has at least to teach anything."""


def factor(corrections: MutableMapping[str, Any], family: str) -> float:
    """Return what an estimate is to be multiplied with when it is reserved."""
    ratios = corrections.get(family) or []
    if len(ratios) < LEAST:
        return 1.0
    ordered = sorted(ratios)
    return float(ordered[min(len(ordered) - 1, int(len(ordered) * QUANTILE))])


def learn(
    corrections: MutableMapping[str, Any], family: str, estimated: float, counted: float
) -> None:
    """Take one settled request in: ``counted`` tokens where ``estimated`` were expected."""
    if estimated < WORTH:
        return
    ratio = min(HIGHEST, max(LOWEST, counted / estimated))
    corrections[family] = [*(corrections.get(family) or []), round(ratio, 4)][-KEEP:]


def reset(corrections: MutableMapping[str, Any]) -> None:
    """Forget what was learned."""
    corrections.clear()
