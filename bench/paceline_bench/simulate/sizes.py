"""How many tokens things have: distributions that a seeded generator draws from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from random import Random

READ_CAP = 25_000
"""The client's Read returns at most about this many tokens of a file; nothing is drawn larger."""

Kind = Literal["constant", "uniform", "lognormal", "mixed"]

_MIXED = ((0.5, 600.0, 0.8), (0.3, 4_000.0, 0.8), (0.2, 25_000.0, 0.0))
"""Share, median and sigma: short answers of tools, files, and large files at the cap."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """A distribution of token counts.

    Attributes:
        kind: ``constant`` (always ``low``), ``uniform`` (from ``low`` to ``high``), ``lognormal``
            (median ``low``, sigma ``high`` of the logarithm) or ``mixed`` (half short answers of
            tools, three tenths files, two tenths large files).
        low: see ``kind``; tokens.
        high: see ``kind``.
    """

    kind: Kind
    low: float = 0.0
    high: float = 0.0

    def draw(self, random: Random) -> int:
        """Return one size, at least 1 token and, but for a constant, at most ``READ_CAP``."""
        if self.kind == "constant":
            return max(1, round(self.low))
        if self.kind == "uniform":
            size = random.uniform(self.low, self.high)
        elif self.kind == "lognormal":
            size = random.lognormvariate(math.log(self.low), self.high)
        else:
            _, median, sigma = random.choices(_MIXED, [share for share, _, _ in _MIXED])[0]
            size = random.lognormvariate(math.log(median), sigma)
        return max(1, min(READ_CAP, round(size)))

    def __str__(self) -> str:
        """Return what :func:`parse` reads."""
        if self.kind == "mixed":
            return "mixed"
        if self.kind == "constant":
            return f"{self.low:.0f}"
        return f"{self.kind}:{self.low:g}:{self.high:g}"


def constant(tokens: int) -> Sizes:
    """Return the distribution that is always ``tokens``."""
    return Sizes("constant", tokens)


def parse(text: str) -> Sizes:
    """Return the sizes of ``25000``, ``uniform:1000:30000``, ``lognormal:4000:0.8`` or ``mixed``.

    ``ValueError`` says what was expected.
    """
    kind, *numbers = text.strip().replace("_", "").split(":")
    try:
        values = [_finite(number) for number in numbers]
        if kind == "mixed" and not values:
            return Sizes("mixed")
        if kind == "uniform" and len(values) == 2 and 0 <= values[0] <= values[1]:
            return Sizes("uniform", *values)
        if kind == "lognormal" and len(values) == 2 and values[0] > 0 and values[1] >= 0:
            return Sizes("lognormal", *values)
        if kind == "constant" and len(values) == 1 and values[0] >= 0:
            return Sizes("constant", *values)
        if not values and _finite(kind) >= 0:
            return Sizes("constant", float(kind))
    except ValueError:
        pass
    raise ValueError(
        f"{text!r} is no distribution of sizes: 25000, uniform:1000:30000 (from, to), "
        "lognormal:4000:0.8 (median, sigma) or mixed"
    )


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value
