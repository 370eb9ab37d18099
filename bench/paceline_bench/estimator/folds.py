"""Held-out error: every text is priced by weights that never saw it."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from typing import TYPE_CHECKING

from paceline.estimate import text as model
from paceline_bench.estimator import fit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paceline_bench.estimator.corpus import Sample
    from paceline_bench.estimator.labels import Labelled

FOLDS = 5

# What the corpus calls a kind, by what ``paceline.estimate.read.kind_of`` calls it.
READ_KINDS = {
    "code": "python, javascript, typescript, go, rust, java/kotlin, c/c++, c#, php, ruby/perl, "
    "other languages, sql",
    "minified": "minified js, source map",
    "json": "json, json records, lock file, notebook",
    "data": "yaml, toml/ini, xml, po catalog",
    "table": "csv, csv numbers",
    "web": "html, css, svg",
    "prose": "markdown, docs/rst, licence, english prose, latin prose, cyrillic prose, "
    "greek prose, arabic prose, hebrew prose, devanagari prose, thai prose, chinese prose, "
    "japanese prose, korean prose, other scripts, stories, emoji",
    "log": "log",
    "diff": "diff",
    "text": "shell output, encoded",
}


def held_out(
    samples: Sequence[Sample], labels: Sequence[Labelled], *, by_source: bool = False
) -> list[float]:
    """Return each text's estimate over its label, from weights fitted without its fold.

    ``by_source`` keeps whole packages out instead of single files.
    """
    groups = [_package(s) if by_source else str(at) for at, s in enumerate(samples)]
    names = sorted(set(groups))
    random.Random("folds").shuffle(names)
    fold = {name: at % FOLDS for at, name in enumerate(names)}
    ratios = [0.0] * len(samples)
    for number in range(FOLDS):
        weights = fit.fit(
            [
                (sample.kind, label)
                for sample, label, group in zip(samples, labels, groups, strict=True)
                if fold[group] != number
            ]
        )
        prices = model.Prices(weights)
        for at, (sample, label) in enumerate(zip(samples, labels, strict=True)):
            if fold[groups[at]] == number:
                ratios[at] = prices.of(sample.text) / model.UNIT / max(label.tokens, 1)
    return ratios


def _package(sample: Sample) -> str:
    """Return the package a text came from; what was put together here stands for itself."""
    if sample.source in ("catalogs", "generated"):
        return f"{sample.kind} {sample.name}"
    return sample.source


def summary(ratios: Sequence[float]) -> tuple[float, float, float]:
    """Return (mean absolute error, its 95th percentile, bias) of estimate over label."""
    errors = sorted(abs(ratio - 1) for ratio in ratios)
    high = errors[math.ceil(0.95 * len(errors)) - 1]
    return sum(errors) / len(errors), high, sum(ratios) / len(ratios) - 1


def spread(samples: Sequence[Sample], ratios: Sequence[float]) -> dict[str, list[float]]:
    """Return, by kind of ``read.kind_of``, what to multiply an estimate with for 5 % and 95 %."""
    by_kind: defaultdict[str, list[float]] = defaultdict(list)
    of_kind = {name: kind for kind, names in READ_KINDS.items() for name in names.split(", ")}
    for sample, ratio in zip(samples, ratios, strict=True):
        by_kind[of_kind[sample.kind]].append(1 / ratio)
        by_kind[""].append(1 / ratio)
    found = {}
    for kind, factors in sorted(by_kind.items()):
        factors.sort()
        low, high = factors[int(0.05 * (len(factors) - 1))], factors[int(0.95 * len(factors))]
        found[kind] = [round(min(low, 0.98), 3), round(max(high, 1.02), 3)]
    return found


def table(
    samples: Sequence[Sample], columns: dict[str, Sequence[float]], *, kinds: bool = True
) -> list[list[str]]:
    """Return rows of text: kind, files, then mean error, p95 and bias of each column."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for at, sample in enumerate(samples):
        places["all"].append(at)
        if kinds:
            places[sample.kind].append(at)
    rows = []
    for kind in (*sorted(set(places) - {"all"}), "all"):
        row = [kind, str(len(places[kind]))]
        for ratios in columns.values():
            chosen = [ratios[at] for at in places[kind]]
            mean, high, bias = summary(chosen)
            row.append(f"{100 * mean:.1f} / {100 * high:.1f} / {100 * bias:+.1f}")
        rows.append(row)
    return rows
