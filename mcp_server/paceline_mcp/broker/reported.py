"""What a response reported that it used."""

from __future__ import annotations

from typing import Any

from paceline.ledger.verdicts import Usage


def usage_of(usage: dict[str, Any]) -> Usage:
    """Return the usage a response reported, with what is absent or absurd as 0."""

    def number(name: str) -> float:
        value = usage.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            return 0.0
        return min(float(value), 1e9)

    return Usage(
        input=number("input_tokens"),
        cache_creation=number("cache_creation_input_tokens"),
        cache_read=number("cache_read_input_tokens"),
        output=number("output_tokens"),
    )
