"""``python -m paceline_bench.compare [SCENARIO…] [--seed N] [--json | --markdown]``."""

from __future__ import annotations

import argparse
import json
import sys
from importlib.metadata import version

from paceline_bench.compare.rows import SCENARIOS, Row, compared

HEAD = ("pacing", "told", "delivered", "refusals", "span / least", "tokens", "/ unrefused")


def main(argv: list[str] | None = None) -> int:
    """Play and print; a row appears as soon as it is played."""
    parser = argparse.ArgumentParser(prog="python -m paceline_bench.compare", description=__doc__)
    parser.add_argument("scenario", nargs="*", help=f"of {', '.join(SCENARIOS)}; all by default")
    parser.add_argument("--seed", type=int, default=1)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON array")
    form.add_argument("--markdown", action="store_true", help="tables for a page")
    asked = parser.parse_args(argv)
    unknown = [name for name in asked.scenario if name not in SCENARIOS]
    if unknown:
        parser.error(f"no scenario is called {unknown[0]!r}; there are {', '.join(SCENARIOS)}")
    names = asked.scenario or list(SCENARIOS)
    if asked.json:
        print(json.dumps([row.to_json() for row in compared(names, asked.seed)]))
        return 0
    for name in names:
        said = "; ".join(SCENARIOS[name][:2])
        print(f"**{said}.**\n" if asked.markdown else f"{name}: {said}")
        print(_line(HEAD, markdown=asked.markdown))
        if asked.markdown:
            print("|---|---|--:|--:|--:|--:|--:|")
        for row in compared([name], asked.seed):
            print(_line(_cells(row), markdown=asked.markdown), flush=True)
        print()
    peers = ", ".join(f"{name} {version(name)}" for name in ("aiolimiter", "pyrate-limiter"))
    print(f"{peers}; seed {asked.seed}.")
    return 0


def _cells(row: Row) -> tuple[str, ...]:
    whole = row.delivered == row.launched
    return (
        row.pacing,
        row.told,
        f"{row.delivered} of {row.launched}",
        f"{row.refusals:,}",
        f"{row.ratio:.3f}" if row.ratio else "unfinished",
        f"{row.tokens / 1000:,.0f}k",
        f"{row.tokens / row.unrefused:.3f}" if whole else "",
    )


def _line(cells: tuple[str, ...], *, markdown: bool) -> str:
    if markdown:
        return f"| {' | '.join(cells)} |"
    wide = (26, 18, 11, 9, 13, 8, 12)
    first = [f"{cell:<{width}}" for cell, width in zip(cells[:2], wide[:2], strict=True)]
    others = [f"{cell:>{width}}" for cell, width in zip(cells[2:], wide[2:], strict=True)]
    return "  ".join(first + others).rstrip()


if __name__ == "__main__":
    sys.exit(main())
