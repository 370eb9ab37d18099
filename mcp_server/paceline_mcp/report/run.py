"""A run of the manifest in one sentence. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def counts(run: Mapping[str, Any]) -> list[str]:
    """Return how many of a run's agents delivered, and how many did not and why, in parts."""
    parts = [f"{run['completed']} of {run['launched']} delivered"]
    parts += [f"{run[name]} {name}" for name in ("dropped", "running", "stopped") if run[name]]
    return parts


def outcome(run: Mapping[str, Any]) -> str:
    """Return the counts with the tokens a run wasted and those that going on saved."""
    parts = counts(run)
    if run["wasted"]:
        parts.append(f"{run['wasted']:,} tokens wasted")
    if run["saved_estimate"]:
        parts.append(f"about {run['saved_estimate']:,} saved by going on")
    return ", ".join(parts)
