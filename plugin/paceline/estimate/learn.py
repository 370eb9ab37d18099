"""How far estimates of each kind are off, learned from settled usage. Pure: state in, state out.

State is JSON: ``{"<kind>|<family>": [log ratios, newest last]}``. A factor is the median of the
last few log ratios, drawn towards 1 while they are few, and bounded: one odd file cannot move it,
many in the same direction do. Kept by the ledger, shown by ``paceline status``, emptied by
:func:`reset`.
"""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    State = Mapping[str, tuple[float, ...]]
    """``"<kind>|<family>"`` to log ratios of settled to predicted tokens, newest last."""

KEEP = 31
"""Ratios remembered of one kind and family."""
KINDS_MAX = 200
"""Kinds and families remembered; the one learned from least recently goes first."""
LEAST = 3
"""Ratios before anything is corrected."""
PRIOR = 3.0
"""So many imagined ratios of 1 stand beside the real ones."""
WORTH = 200
"""Predicted tokens from which on a pair teaches anything: smaller ones are all overhead."""
RESERVED = 0.8
"""Quantile of the ratios that a reservation covers."""
SHARE = 0.8
"""Share of a request's new tokens one kind must have for the request to teach about it."""
READ_BOUNDS = (0.5, 2.0)
"""A factor's bounds where the text itself was priced."""
PRIOR_BOUNDS = (0.05, 20.0)
"""A factor's bounds where only a prior stood: what a tool brings differs by project."""
PRIOR_KINDS = frozenset(("search", "shell", "web", "agent", "skill", "edit", "mcp", "other"))
_NAME_MAX = 100


def empty() -> State:
    """Return a state that corrects nothing."""
    return {}


def key_of(kind: str, family: str) -> str:
    """Return the key of a kind and a model family."""
    return f"{kind[:_NAME_MAX]}|{family[:_NAME_MAX]}"


def observe(state: State, kind: str, family: str, predicted: float, settled: float) -> State:
    """Return the state after one pair of predicted and settled tokens.

    A pair that says nothing (a tiny prediction, no tokens, no number) leaves it as it is.
    """
    usable = math.isfinite(predicted) and math.isfinite(settled)
    if not usable or predicted < _worth(kind) or settled <= 0:
        return state
    low, high = _bounds(kind)
    ratio = math.log(min(max(settled / predicted, low), high))
    key = key_of(kind, family)
    known = (*state.get(key, ()), round(ratio, 4))[-KEEP:]
    rest = {name: ratios for name, ratios in state.items() if name != key}
    while len(rest) >= KINDS_MAX:
        del rest[next(iter(rest))]
    return {**rest, key: known}


def teaches(parts: Mapping[str, float], settled: float) -> tuple[str, float, float] | None:
    """Return (kind, predicted, settled) of a request from its predicted tokens by kind.

    Only a request that one kind makes up nearly alone says something of that kind; what the others
    were predicted to bring is taken off. None for a mixed one.
    """
    total = sum(parts.values())
    if total <= 0:
        return None
    kind = max(parts, key=lambda name: parts[name])
    if parts[kind] < SHARE * total:
        return None
    return kind, parts[kind], settled - (total - parts[kind])


def factor(state: State, kind: str, family: str) -> float:
    """Return what to multiply an estimate of this kind with, 1.0 while too little is known."""
    ratios = sorted(state.get(key_of(kind, family), ()))
    if len(ratios) < LEAST:
        return 1.0
    middle = (ratios[len(ratios) // 2] + ratios[(len(ratios) - 1) // 2]) / 2
    return round(math.exp(middle * len(ratios) / (len(ratios) + PRIOR)), 4)


def reserve_factor(state: State, kind: str, family: str) -> float:
    """Return what to multiply an estimate with when it is reserved, 1.0 while too little is known.

    A high quantile and no prior: what is too much comes back with the reply, what is too little
    is refused.
    """
    ratios = sorted(state.get(key_of(kind, family), ()))
    if len(ratios) < LEAST:
        return 1.0
    return math.exp(ratios[min(len(ratios) - 1, int(len(ratios) * RESERVED))])


def factors(state: State, family: str) -> dict[str, float]:
    """Return the factor of each kind of this family: what ``tool.estimate_call`` takes."""
    ending = f"|{family[:_NAME_MAX]}"
    kinds = [key.removesuffix(ending) for key in state if key.endswith(ending)]
    return {kind: factor(state, kind, family) for kind in kinds}


def reset(state: State, kind: str | None = None) -> State:
    """Return the state without what was learned of ``kind``; without anything when None."""
    if kind is None:
        return empty()
    return {key: ratios for key, ratios in state.items() if not key.startswith(f"{kind}|")}


def rows(state: State) -> list[dict[str, Any]]:
    """Return what is known, for ``paceline status``: kind, family, factor, samples."""
    found = []
    for key in sorted(state):
        kind, _, family = key.partition("|")
        found.append(
            {
                "kind": kind,
                "family": family,
                "factor": factor(state, kind, family),
                "samples": len(state[key]),
            }
        )
    return found


def to_json(state: State) -> dict[str, list[float]]:
    """Return the state as JSON holds it."""
    return {key: list(ratios) for key, ratios in state.items()}


def from_json(value: object) -> State:
    """Return the state of a JSON value; what is damaged in it is left out."""
    if not isinstance(value, dict):
        return empty()
    found: dict[str, tuple[float, ...]] = {}
    for key, ratios in list(value.items())[-KINDS_MAX:]:
        if isinstance(key, str) and "|" in key and isinstance(ratios, list):
            low, high = (math.log(bound) for bound in _bounds(key.partition("|")[0]))
            fine = [float(ratio) for ratio in _numbers(ratios[-KEEP:]) if low <= ratio <= high]
            if fine:
                found[key] = tuple(fine)
    return found


def _numbers(values: Iterable[object]) -> Iterable[float]:
    for value in values:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield value


def _is_prior(kind: str) -> bool:
    return kind in PRIOR_KINDS or kind.startswith("mcp__")


def _bounds(kind: str) -> tuple[float, float]:
    return PRIOR_BOUNDS if _is_prior(kind) else READ_BOUNDS


def _worth(kind: str) -> float:
    return 1 if _is_prior(kind) else WORTH
