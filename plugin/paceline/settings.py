"""What a person may set, and what holds when nothing is set. On a hook's fast path.

Each setting is read from ``PACELINE_<NAME>``, else from ``CLAUDE_PLUGIN_OPTION_<NAME>`` (what the
plugin's own configuration becomes in a hook), else it has its default. An empty value and a
``${...}`` that nobody filled in count as unset; a bad one falls back and is told by
:func:`problems`. ``state_dir`` is read by :func:`paceline.paths.state_dir`.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

PACE, OBSERVE, OFF = "pace", "observe", "off"
ADVISE, NARROW = "advise", "narrow"

_SECONDS_MAX = 31 * 86400.0
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Settings:
    """The settings of one process.

    Attributes:
        ledger: a folder; ``""`` stands for the one in the state directory.
        mode: ``pace`` holds and revives, ``observe`` only records, ``off`` does nothing.
        park_max: seconds a refused request waits for a known reset at most.
        requeue_attempts: how often a ``Stop`` is blocked while retryable drops are open.
        advise_reads: ``advise`` says a line before a huge read, ``narrow`` shortens it, ``off``.
        headroom: fraction of a bucket's capacity that is never used.
    """

    __slots__ = ("advise_reads", "headroom", "ledger", "mode", "park_max", "requeue_attempts")

    def __init__(
        self,
        *,
        ledger: str = "",
        mode: str = PACE,
        park_max: float = 6 * 3600.0,
        requeue_attempts: int = 2,
        advise_reads: str = ADVISE,
        headroom: float = 0.04,
    ) -> None:
        self.ledger = ledger
        self.mode = mode
        self.park_max = park_max
        self.requeue_attempts = requeue_attempts
        self.advise_reads = advise_reads
        self.headroom = headroom

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"


def load(env: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of ``env``, by default this process's. Never raises."""
    env = os.environ if env is None else env
    found = Settings()
    for name, (read, _) in _READERS.items():
        value = read(told(env, name))
        if value is not None:
            setattr(found, name, value)
    return found


def mode(env: Mapping[str, str]) -> str:
    """Return ``pace``, ``observe`` or ``off``: the one setting every hook asks."""
    return _mode(told(env, "mode")) or PACE


def told(env: Mapping[str, str], name: str) -> str:
    """Return what stands in the environment for a setting, ``""`` where nothing does."""
    for prefix in ("PACELINE_", "CLAUDE_PLUGIN_OPTION_"):
        value = env.get(prefix + name.upper(), "").strip()
        if value and "${" not in value:
            return value
    return ""


def problems(env: Mapping[str, str] | None = None) -> list[str]:
    """Return one sentence for each setting whose value cannot be used, none when all is well."""
    env = os.environ if env is None else env
    found = []
    default = Settings()
    for name, (read, wanted) in _READERS.items():
        value = told(env, name)
        if value and read(value) is None:
            shown = "".join(char for char in value[:40] if char.isprintable())
            found.append(
                f"PACELINE_{name.upper()} is {shown!r}, not {wanted}; "
                f"{getattr(default, name)!r} is used. Set it to {wanted} or unset it."
            )
    return found


def _ledger(value: str) -> str | None:
    # A URL would otherwise become a folder of that name, and a budget of its own.
    return value if value and "\0" not in value and "://" not in value else None


def _mode(value: str) -> str | None:
    return _one_of(value, (PACE, OBSERVE, OFF))


def _advise_reads(value: str) -> str | None:
    return _one_of(value, (ADVISE, NARROW, OFF))


def _one_of(value: str, words: tuple[str, ...]) -> str | None:
    value = value.lower()
    return value if value in words else None


def _seconds(value: str) -> float | None:
    unit = _UNITS.get(value[-1:].lower())
    number = _number(value[:-1] if unit else value)
    seconds = None if number is None else number * (unit or 1.0)
    return seconds if seconds is not None and seconds <= _SECONDS_MAX else None


def _attempts(value: str) -> int | None:
    return int(value) if value.isascii() and value.isdigit() and len(value) <= 2 else None  # noqa: PLR2004


def _fraction(value: str) -> float | None:
    percent = value.endswith("%")
    number = _number(value[:-1] if percent else value)
    if number is None:
        return None
    number = number / 100 if percent else number
    return number if number <= 0.9 else None  # noqa: PLR2004 - more would leave nothing to use


def _number(value: str) -> float | None:
    """Return a plain decimal number of zero or more."""
    whole, _, part = value.strip().partition(".")
    digits = whole + part
    return float(value) if digits.isascii() and digits.isdigit() and len(digits) < 16 else None  # noqa: PLR2004


_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "ledger": (_ledger, "a folder"),
    "mode": (_mode, "pace, observe or off"),
    "park_max": (_seconds, "seconds (or 90m, 6h)"),
    "requeue_attempts": (_attempts, "a number from 0 to 99"),
    "advise_reads": (_advise_reads, "advise, narrow or off"),
    "headroom": (_fraction, "a fraction from 0 to 0.9"),
}
"""Setting, what reads its text (None: it cannot be used), and what it should look like."""
