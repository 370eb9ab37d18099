"""Which models share a bucket. From Anthropic's rate limit page (November 2026)."""

from __future__ import annotations

import re

_NAME = re.compile(r"(fable|mythos|opus|sonnet|haiku)-(\d+)(?:-(\d{1,2})(?!\d))?")
_COMBINED = {("opus", "4"), ("sonnet", "4"), ("fable", "5"), ("mythos", "5")}


def family(model: str) -> str:
    """Return the family whose buckets ``model`` spends, such as ``opus-4`` or ``sonnet-5-5``.

    Opus 4.x share one, so do Sonnet 4.x and Fable 5.x; every other model has its own. A name of
    no known shape is its own family.
    """
    found = _NAME.search(model)
    if not found:
        return model
    line, major, minor = found.groups()
    if (line, major) in _COMBINED or not minor:
        return f"{line}-{major}"
    return f"{line}-{major}-{minor}"
