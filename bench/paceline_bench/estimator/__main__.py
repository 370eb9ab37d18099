"""``python -m paceline_bench.estimator fit | speed | label FOLDER``."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.estimate import text as model
from paceline_bench.estimator import corpus, fit, folds, labels, peers, sources

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from paceline_bench.estimator.corpus import Sample
    from paceline_bench.estimator.labels import Labelled

MEAN_MOST, P95_MOST = 0.05, 0.12
SPEED_LEAST = 4e6
LABELS = "labels.json"
_CUT = 3
"""Counts up when texts are cut into other chunks: kept labels are then made anew."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 1 when a bound does not hold."""
    parser = argparse.ArgumentParser(prog="python -m paceline_bench.estimator")
    parser.add_argument("command", choices=("fit", "speed", "label"))
    parser.add_argument("folder", type=Path, nargs="?", help="of label: whose files to label")
    parser.add_argument("--cache", type=Path, default=Path(".cache/estimator"))
    parser.add_argument("--write", action="store_true", help="write the weights")
    args = parser.parse_args(argv)
    if args.command == "label":
        return _label(args.folder)
    return _speed(args.cache) if args.command == "speed" else _fit(args.cache, write=args.write)


def _label(folder: Path) -> int:
    """Print what the reconstruction counts in each file of a folder."""
    found = {
        path.name: {
            tokenizer: labels.label(path.read_text(encoding="utf-8"), tokenizer).tokens
            for tokenizer in labels.VERSIONS
        }
        for path in sorted(folder.iterdir())
        if path.name != LABELS
    }
    print(json.dumps(found, indent=1))
    return 0


def _fit(cache: Path, *, write: bool) -> int:
    samples = _corpus(cache)
    kinds = {sample.kind for sample in samples}
    size = sum(len(sample.text) for sample in samples)
    print(f"{len(samples)} files of {len(kinds)} kinds, {size / 1e6:.1f} M characters")
    fine = True
    columns: dict[str, Sequence[float]] = {}
    for tokenizer in labels.VERSIONS:
        known = _labels(cache, samples, tokenizer)
        ratios = folds.held_out(samples, known)
        columns[tokenizer] = ratios
        mean, high, _ = folds.summary(ratios)
        fine = fine and mean <= MEAN_MOST and high <= P95_MOST
        weights = fit.fit([(s.kind, label) for s, label in zip(samples, known, strict=True)])
        weights["spread"] = folds.spread(samples, ratios)
        weights["made"] = {
            "files": len(samples),
            "characters": size,
            "mean_error": round(mean, 4),
            "p95_error": round(high, 4),
            "corpus": _digest(samples),
        }
        if write:
            _write(tokenizer, weights)
        away = folds.held_out(samples, known, by_source=True)
        print(f"{tokenizer}, whole packages held out: {_figures(away)}")
        _compare(samples, known, tokenizer, ratios, weights)
    print("\nheld-out mean error / p95 / bias, %, by kind")
    _print(["kind", "files", *columns], folds.table(samples, columns))
    return 0 if fine else 1


def _figures(ratios: Sequence[float]) -> str:
    mean, high, bias = folds.summary(ratios)
    return f"mean {100 * mean:.1f} %, p95 {100 * high:.1f} %, bias {100 * bias:+.1f} %"


def _compare(
    samples: Sequence[Sample],
    known: Sequence[Labelled],
    tokenizer: str,
    ours: Sequence[float],
    weights: dict[str, Any],
) -> None:
    """Print the peers raw, and scaled by the one factor that suits this corpus best."""
    counters, missing = peers.counters()
    rows = [["Paceline", _figures(ours), "", f"{_rate(samples, weights):.1f}"]]
    for name, count in counters.items():
        start = time.perf_counter()
        counts = [count(sample.text) for sample in samples]
        took = time.perf_counter() - start
        ratios = [n / max(label.tokens, 1) for n, label in zip(counts, known, strict=True)]
        factor = 1 / sorted(ratios)[len(ratios) // 2]
        scaled = f"x {factor:.2f}: {_figures([ratio * factor for ratio in ratios])}"
        speed = sum(len(sample.text) for sample in samples) / took / 1e6
        rows.append([name, _figures(ratios), scaled, f"{speed:.1f}"])
    print(f"\n{tokenizer}: against other offline counters")
    _print(["counter", "as it is", "scaled to this corpus", "M characters/s"], rows)
    for name in missing:
        print(f"not installed: {name}")


def _print(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for row in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(row) + " |")


def _rate(samples: Sequence[Sample], weights: dict[str, Any]) -> float:
    """Return millions of characters a second, from an empty memory on."""
    prices = model.Prices(weights)
    start = time.perf_counter()
    for sample in samples:
        prices.of(sample.text)
    took = time.perf_counter() - start
    return sum(len(sample.text) for sample in samples) / took / 1e6


def _speed(cache: Path) -> int:
    """Print millions of characters a second by kind, each with a memory that starts empty."""
    samples = _corpus(cache)
    rows = []
    slowest = float("inf")
    for kind in sorted({sample.kind for sample in samples}):
        texts = [sample.text for sample in samples if sample.kind == kind]
        best = float("inf")
        for _ in range(3):
            took = 0.0
            for text in texts:
                model._loaded.clear()  # noqa: SLF001  every file as a hook meets it
                model.tokens("", model.V47)
                start = time.process_time()
                model.tokens(text, model.V47)
                took += time.process_time() - start
            best = min(best, took)
        rate = sum(map(len, texts)) / best
        slowest = min(slowest, rate)
        rows.append([kind, f"{rate / 1e6:.1f}"])
    _print(["kind", "M characters/s"], rows)
    return 0 if slowest >= SPEED_LEAST else 1


def _corpus(cache: Path) -> list[Sample]:
    """Return the corpus; gathered once, then from the cache."""
    cache.mkdir(parents=True, exist_ok=True)
    kept = cache / "corpus.pickle"
    if kept.exists():
        return list(pickle.loads(kept.read_bytes()))
    root, missing = sources.fetch(cache)
    for name in missing:
        print(f"not to be had: {name}", file=sys.stderr)
    samples = corpus.gather(root)
    kept.write_bytes(pickle.dumps(samples))
    return samples


def _labels(cache: Path, samples: Sequence[Sample], tokenizer: str) -> list[Labelled]:
    key = hashlib.sha256(f"{_digest(samples)} {tokenizer} {_CUT}".encode())
    kept = cache / f"labels-{tokenizer}-{key.hexdigest()[:12]}.pickle"
    if kept.exists():
        return list(pickle.loads(kept.read_bytes()))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        texts = [sample.text for sample in samples]
        known = list(pool.map(labels.label, texts, [tokenizer] * len(texts), chunksize=8))
    kept.write_bytes(pickle.dumps(known))
    return known


def _digest(samples: Sequence[Sample]) -> str:
    whole = hashlib.sha256()
    for sample in samples:
        whole.update(sample.text.encode("utf-8", "replace"))
    return whole.hexdigest()[:16]


def _write(tokenizer: str, weights: dict[str, object]) -> None:
    path = Path(model.__file__).with_name(f"weights_{tokenizer}.json")
    order = ("made", "spread", "shapes", "marks", "letters", "others", "pairs", *fit.PASSES)
    lines = [f'"{name}": {json.dumps(weights[name], ensure_ascii=False)}' for name in order]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
