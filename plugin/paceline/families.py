"""Which models share a limit: the model classes of the API's published rate limit tables.

Source: the rate limits page of the API's documentation (autumn 2026): each class has its own
buckets, Opus 4.x and Sonnet 4.x each share one, and models of other classes do not count together.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

ALL = "all"
"""The family that stands for every family in what a person sets."""

SHORT = ("opus", "sonnet", "haiku", "fable")
"""What the client takes instead of a model's name."""

_DATED = re.compile(r"-(?:20\d{6}|latest)$")
_VENDOR = re.compile(r"^.*?(?=claude-)")
_NAMED = re.compile(r"^claude-(?P<name>[a-z]+)-(?P<major>\d{1,2})(?:-(?P<minor>\d{1,2}))?(?!\d)")
_OLD = re.compile(r"^claude-(?P<major>\d)(?:-(?P<minor>\d))?-(?P<name>[a-z]+)")
_PLAIN = re.compile(r"[^a-z0-9.-]+")


def family_of(model: str) -> str:
    """Return the family whose buckets a request to ``model`` draws from.

    ``claude-opus-4-8`` and ``claude-opus-4-5-20251101`` give ``opus-4``; ``claude-opus-5`` and
    ``claude-opus-5-5`` have each their own. A name of another shape is a family of itself; an
    empty one is ``default``.
    """
    name = _DATED.sub("", model.strip().lower().split("[", 1)[0])
    name = _VENDOR.sub("", name).split("@", 1)[0]
    match = _NAMED.match(name) or _OLD.match(name)
    if match is None:
        return _PLAIN.sub("-", name)[:64] or "default"
    kind, major, minor = match["name"], match["major"], match["minor"]
    if kind == "fable" or (major == "4" and kind in {"opus", "sonnet"}):
        return f"{kind}-{major}"
    return f"{kind}-{major}-{minor}" if minor and minor != "0" else f"{kind}-{major}"


def meant(told: str, used: Iterable[str]) -> str:
    """Return the model that a short name, or an empty one, stands for.

    Args:
        told: a model's name. A full one comes back as it is, and so does one that stands for none.
        used: models, the one used last first: the first that fits is meant.
    """
    name = told.strip().lower()
    if name and name not in SHORT:
        return told
    return next((model for model in used if family_of(model).startswith(name)), told)
