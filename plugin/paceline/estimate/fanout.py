"""The shell around ``plan``: expands what was named, estimates it, asks the ledger."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING, Any  # noqa: TID253  off the hook's fast path

from paceline import families
from paceline.errors import UsageError
from paceline.estimate import plan
from paceline.estimate.read import estimate_read
from paceline.estimate.tool import corrected
from paceline.ledger import belief, prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from paceline.estimate.value import Estimate
    from paceline.ledger.values import Ledger

FILES_MAX = 5_000
SCRIPT_MAX = 524_288
"""Characters of a workflow script: the client's own limit."""
_SKIPPED = frozenset((".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv"))


def expand(paths: Iterable[str], base: str = ".") -> list[str]:
    """Return the files that paths, folders and globs name, each once, in order.

    A path that names nothing stays as it is, so that the plan can say so. Folders of version
    control and of installed packages are passed over.

    Raises:
        UsageError: they name more than 5,000 files.
    """
    found: dict[str, None] = {}
    for told in paths:
        path = os.path.join(base, os.path.expanduser(told))
        for name in _named(path):
            found[name] = None
            if len(found) > FILES_MAX:
                raise UsageError(f"more than {FILES_MAX} files; name fewer folders or a glob")
    return list(found)


def _named(path: str) -> Iterable[str]:
    if "\0" in path:
        yield path
    elif os.path.isdir(path):
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(set(folders) - _SKIPPED)
            for name in sorted(names):
                yield os.path.join(folder, name)
    elif not os.path.lexists(path) and glob.has_magic(path):
        hits = [hit for hit in sorted(glob.glob(path, recursive=True)) if os.path.isfile(hit)]
        yield from hits or [path]
    else:
        yield path


def from_script(path: str, base: str = ".") -> tuple[list[str], int]:
    """Return (files, agents) that a workflow script shows; only strings that are files count.

    Raises:
        UsageError: there is no such script, or it is no text.
    """
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            source = file.read(SCRIPT_MAX)
    except (OSError, ValueError) as err:
        raise UsageError(f"cannot read the script: {err}") from err
    strings, agents = plan.of_script(source)
    named = [text for text in strings if "\n" not in text and _is_there(os.path.join(base, text))]
    return expand(named, base), agents


def _is_there(path: str) -> bool:
    try:
        return os.path.isfile(path) or (glob.has_magic(path) and bool(glob.glob(path)))
    except (OSError, ValueError):
        return False


def estimates(
    paths: Iterable[str],
    model: str,
    env: Mapping[str, str] | None = None,
    learned: Mapping[str, float] | None = None,
) -> list[Estimate]:
    """Return the estimate of a whole-file Read of each path."""
    return [corrected(estimate_read(path, model=model, env=env), "Read", learned) for path in paths]


def limits_of(ledger: Ledger, model: str) -> plan.Limits:
    """Return what the ledger believes of a model's limit, and of its agents' first requests.

    A short name, and an empty one, stands for the model of that kind that was used last.
    """
    model = families.meant(model, prefix.models(ledger))
    family = families.family_of(model)
    rows = [row for row in belief.believed(ledger) if row["dimension"] == "input"]
    rows.sort(key=lambda row: (row["family"] != family, row["source"] == "learned"))
    row = next((row for row in rows if row["family"] in (family, families.ALL)), None)
    known = [one for key, one in ledger.prefixes.items() if key.startswith(f"{model}|") and one.n]
    defaults = plan.Limits()
    best = max(known, key=lambda one: one.n, default=None)
    return plan.Limits(
        itpm=row["limit"] if row else None,
        capacity=(row["capacity"] or None) if row else None,
        cold=(best.cold if best else 0.0) or defaults.cold,
        warm=(best.warm if best else 0.0) or defaults.warm,
        output=(best.output if best else 0.0) or defaults.output,
    )


def as_json(found: plan.Plan, limits: plan.Limits) -> dict[str, Any]:
    """Return a plan as ``paceline plan --json`` and the tool ``plan_fanout`` give it."""
    return {
        "agents": [
            {
                "files": list(agent.files),
                "tokens": agent.tokens,
                "low": agent.low,
                "high": agent.high,
            }
            for agent in found.agents
        ],
        "tokens": found.tokens,
        "low": found.low,
        "high": found.high,
        "itpm": limits.itpm,
        "least_s": found.least_s,
        "width": found.width,
        "too_large": [{"path": path, "reason": reason} for path, reason in found.too_large],
        "unreadable": [{"path": path, "reason": reason} for path, reason in found.unreadable],
    }
