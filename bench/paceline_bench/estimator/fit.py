"""The fit: which chunks get a price of their own, and what any other chunk costs."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paceline.estimate import text as model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paceline_bench.estimator.labels import Labelled

LEARNED = 6_000
"""Chunks with a price of their own."""
SEEN_IN = 3
"""Files a chunk must stand in to get one."""
STEP = 5
"""Learned prices are rounded to this many hundredths, so that few lines hold them."""
LETTERS = 53
_SCRIPTS = len(model.SCRIPTS) + len(model.SHARED)
_LONGEST = 120
_DAMP = 1.0
# How much a file of a kind weighs: what agents read most counts most.
_WEIGHT = {
    "latin prose": 1.5,
    "english prose": 4.0,
    "markdown": 2.0,
    "docs/rst": 2.0,
    "python": 2.0,
    "typescript": 2.0,
}


@dataclass(frozen=True, slots=True)
class Seen:
    """What the training texts say of each chunk: its mean tokens, its weight, its files."""

    cost: dict[bytes, float]
    weight: dict[bytes, float]
    files: Counter[bytes]


def seen(labelled: Iterable[tuple[str, Labelled]]) -> Seen:
    """Return what (kind, labelled text) pairs say of each chunk."""
    total: Counter[bytes] = Counter()
    count: Counter[bytes] = Counter()
    files: Counter[bytes] = Counter()
    weight: defaultdict[bytes, float] = defaultdict(float)
    for kind, item in labelled:
        here: Counter[bytes] = Counter()
        for chunk, cost in item.pairs:
            total[chunk] += cost
            here[chunk] += 1
        count.update(here)
        files.update(here.keys())
        share = _WEIGHT.get(kind, 1.0) / max(item.tokens, 1)
        for chunk, times in here.items():
            weight[chunk] += times * share
    return Seen({chunk: total[chunk] / count[chunk] for chunk in total}, dict(weight), files)


def fit(labelled: Sequence[tuple[str, Labelled]]) -> dict[str, Any]:
    """Return the weights that ``paceline.estimate.text`` loads."""
    data = seen(labelled)
    often = [
        chunk
        for chunk, files in data.files.items()
        if files >= SEEN_IN and len(chunk) <= _LONGEST and model.SEPARATOR.encode() not in chunk
    ]
    learned = set(sorted(often, key=lambda chunk: -data.weight[chunk])[:LEARNED])
    rest = _rest(data, learned)
    # A chunk deserves its own price where the price from its parts is most wrong, most often.
    price = _pricer(rest)
    gain = {
        chunk: abs(data.cost[chunk] - price(chunk) / model.UNIT) * data.weight[chunk]
        for chunk in often
    }
    learned = set(sorted(often, key=lambda chunk: (-gain[chunk], chunk))[:LEARNED])
    rest = _rest(data, learned)
    prices: defaultdict[int, list[str]] = defaultdict(list)
    for chunk in sorted(learned):
        cost = round(data.cost[chunk] * model.UNIT / STEP) * STEP
        try:
            prices[cost].append(chunk.decode())
        except UnicodeDecodeError:
            continue
    rest["chunks"] = {
        str(cost): model.SEPARATOR.join(chunks) for cost, chunks in sorted(prices.items())
    }
    return rest


def _pricer(rest: dict[str, Any]) -> Callable[[bytes], int]:
    prices = model._Prices({"chunks": {}, **rest})  # noqa: SLF001  the model under fit
    return prices.__getitem__


def _rest(data: Seen, learned: set[bytes]) -> dict[str, Any]:
    """Return the prices of parts, fitted on the chunks that have no price of their own."""
    words, others, foreign = [], [], []
    for chunk in data.cost:
        if chunk in learned or len(chunk) > _LONGEST:
            continue
        if not chunk.isascii():
            foreign.append(chunk)
        elif chunk.isalpha():
            words.append(chunk)
        elif not chunk.strip().isdigit():
            others.append(chunk)
    pairs, shapes = _words(data, words)
    between = _non_negative(data, others, lambda chunk: list(model.between(chunk)))
    flat = _scripts(data, foreign)
    return {
        "pairs": pairs,
        "shapes": shapes,
        "between": between,
        "scripts": [flat[at : at + 2] for at in range(0, len(flat), 2)],
    }


def _script_row(chunk: bytes) -> list[int]:
    row = [0] * (2 * _SCRIPTS)
    for script, count, runs in model.script_counts(chunk):
        row[2 * script] = count
        row[2 * script + 1] = runs
    return row


def _scripts(data: Seen, chunks: list[bytes]) -> list[int]:
    """Return each script's prices; one that was never seen costs a token a character."""
    flat = _non_negative(data, chunks, _script_row)
    known = {script for chunk in chunks for script, _, _ in model.script_counts(chunk)}
    for script in range(_SCRIPTS):
        if script not in known:
            flat[2 * script : 2 * script + 2] = [model.UNIT, 0]
    return flat


def _words(data: Seen, words: list[bytes]) -> tuple[list[list[int]], list[int]]:
    import numpy as np  # type: ignore[import-not-found]
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]
    from scipy.sparse.linalg import lsqr  # type: ignore[import-untyped]

    values: list[float] = []
    rows: list[int] = []
    columns: list[int] = []
    scale = [1e3 * data.weight[word] ** 0.5 for word in words]
    for row, word in enumerate(words):
        found = Counter(left * LETTERS + right for left, right in model.letter_pairs(word))
        found[LETTERS * LETTERS + model.shape(word)] += 1
        for column, times in found.items():
            rows.append(row)
            columns.append(column)
            values.append(times * scale[row])
    width = LETTERS * LETTERS + 4
    matrix = csr_matrix((values, (rows, columns)), shape=(len(words), width))
    goal = np.array([data.cost[word] for word in words]) * np.array(scale)
    solved = np.rint(lsqr(matrix, goal, damp=_DAMP, iter_lim=400)[0] * model.UNIT).astype(int)
    pairs = solved[: LETTERS * LETTERS].reshape(LETTERS, LETTERS).tolist()
    shapes = solved[LETTERS * LETTERS :].tolist()
    return pairs, shapes


def _non_negative(
    data: Seen, chunks: list[bytes], row_of: Callable[[bytes], list[int]]
) -> list[int]:
    import numpy as np  # pyright: ignore[reportMissingImports]  # only who fits anew has it
    from scipy.optimize import nnls  # type: ignore[import-untyped]

    matrix = np.array([row_of(chunk) for chunk in chunks], dtype=float)
    goal = np.array([data.cost[chunk] for chunk in chunks])
    # relative errors: a long chunk may be wrong by more
    root = np.sqrt(np.array([data.weight[chunk] for chunk in chunks]) / np.maximum(goal, 0.5))
    solved = nnls(matrix * root[:, None], goal * root, maxiter=20_000)[0]
    return [int(value) for value in np.rint(solved * model.UNIT)]
