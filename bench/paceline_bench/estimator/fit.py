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
PASSES = (model.WORDS, model.BETWEEN, model.SIGNS)
_LONGEST = 60
_UNKNOWN = 120
"""Price of a character whose script no text of the corpus has: such are spelt in bytes."""
_DAMP = 1.0
# How much a file of a kind weighs: what agents read most counts most.
_WEIGHT = {
    "latin prose": 1.5,
    "stories": 3.0,
    "english prose": 4.0,
    "markdown": 2.0,
    "docs/rst": 2.0,
    "python": 2.0,
    "typescript": 2.0,
}


@dataclass(frozen=True, slots=True)
class Seen:
    """What the training texts say of the chunks of one pass: mean tokens, weight, files."""

    cost: dict[bytes, float]
    weight: dict[bytes, float]
    files: Counter[bytes]


def seen(labelled: Iterable[tuple[str, Labelled]]) -> dict[str, Seen]:
    """Return what (kind, labelled text) pairs say of each chunk, by pass."""
    total: dict[str, Counter[bytes]] = defaultdict(Counter)
    count: dict[str, Counter[bytes]] = defaultdict(Counter)
    files: dict[str, Counter[bytes]] = defaultdict(Counter)
    weight: dict[str, defaultdict[bytes, float]] = defaultdict(lambda: defaultdict(float))
    for kind, item in labelled:
        here: dict[str, Counter[bytes]] = defaultdict(Counter)
        for name, chunk, cost in item.parts:
            total[name][chunk] += cost
            here[name][chunk] += 1
        share = _WEIGHT.get(kind, 1.0) / max(item.tokens, 1)
        for name, chunks in here.items():
            count[name].update(chunks)
            files[name].update(chunks.keys())
            for chunk, times in chunks.items():
                weight[name][chunk] += times * share
    return {
        name: Seen(
            {chunk: total[name][chunk] / count[name][chunk] for chunk in total[name]},
            dict(weight[name]),
            files[name],
        )
        for name in PASSES
    }


def fit(labelled: Sequence[tuple[str, Labelled]]) -> dict[str, Any]:
    """Return the weights that ``paceline.estimate.text`` loads."""
    data = seen(labelled)
    often = [
        (name, chunk)
        for name in PASSES
        for chunk, files in data[name].files.items()
        if files >= SEEN_IN and len(chunk) <= _LONGEST
    ]
    often.sort(key=lambda key: (-data[key[0]].weight[key[1]], key))
    rest = _rest(data, set(often[:LEARNED]))
    # A chunk deserves its own price where the price from its parts is most wrong, most often.
    gain = {
        (name, chunk): abs(data[name].cost[chunk] - price / model.UNIT) * data[name].weight[chunk]
        for (name, chunk), price in _from_parts(rest, often).items()
    }
    often.sort(key=lambda key: (-gain[key], key))
    learned = often[:LEARNED]
    rest = _rest(data, set(learned))
    for name in PASSES:
        prices: defaultdict[int, list[bytes]] = defaultdict(list)
        for of, chunk in sorted(learned):
            if of == name:
                cost = round(data[name].cost[chunk] * model.UNIT / STEP) * STEP
                prices[cost].append(chunk)
        rest[name] = {
            str(cost): b" ".join(chunks).decode("latin-1")
            for cost, chunks in sorted(prices.items())
        }
    return rest


def _from_parts(
    rest: dict[str, Any], keys: Iterable[tuple[str, bytes]]
) -> dict[tuple[str, bytes], int]:
    prices = model.Prices(rest | {name: {} for name in PASSES})
    of = {
        model.WORDS: prices.word,
        model.BETWEEN: prices.between,
        model.SIGNS: prices.sign,
    }
    return {(name, chunk): of[name](chunk) for name, chunk in keys}


def _rest(data: dict[str, Seen], learned: set[tuple[str, bytes]]) -> dict[str, Any]:
    """Return the prices of parts, fitted on the chunks that have no price of their own."""
    rest = {
        name: [
            chunk
            for chunk in data[name].cost
            if (name, chunk) not in learned and len(chunk) <= _LONGEST
        ]
        for name in PASSES
    }
    pairs, shapes, letters = _words(data[model.WORDS], rest[model.WORDS])
    return {
        "pairs": pairs,
        "shapes": shapes,
        "letters": letters,
        "marks": _non_negative(
            data[model.BETWEEN], rest[model.BETWEEN], lambda c: list(model.between_counts(c))
        ),
        "others": _signs(data[model.SIGNS], rest[model.SIGNS]),
    }


def _signs(data: Seen, chunks: list[bytes]) -> list[int]:
    """Return the price of each byte that stands for signs; of one never seen, a guess."""

    def row_of(chunk: bytes) -> list[int]:
        row = [0] * 128
        for byte in chunk:
            row[byte - 0x80] += 1
        return row

    found = _non_negative(data, chunks, row_of)
    known = {byte for chunk in chunks for byte in chunk}
    return [0] * 128 + [
        price if byte in known else _UNKNOWN for byte, price in enumerate(found, 0x80)
    ]


def _words(data: Seen, words: list[bytes]) -> tuple[list[list[int]], list[int], list[int]]:
    """Return the prices of letter pairs, of shapes and of the letters outside ASCII."""
    import numpy as np  # type: ignore[import-not-found]
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]
    from scipy.sparse.linalg import lsqr  # type: ignore[import-untyped]

    pairs_to = model.PAIRS * model.PAIRS
    letters_at = pairs_to + 4
    values: list[float] = []
    rows: list[int] = []
    columns: list[int] = []
    scale = [1e3 * data.weight[word] ** 0.5 for word in words]
    for row, word in enumerate(words):
        kind = model.shape(word)
        pairs = model.letter_pairs(word, kind)
        found = Counter(left * model.PAIRS + right for left, right in pairs)
        found[pairs_to + kind] += 1
        if not word.isascii():
            found.update(letters_at + byte for byte in word if byte >= 0x80)
        for column, times in found.items():
            rows.append(row)
            columns.append(column)
            values.append(times * scale[row])
    matrix = csr_matrix((values, (rows, columns)), shape=(len(words), letters_at + 256))
    goal = np.array([data.cost[word] for word in words]) * np.array(scale)
    solved = np.rint(lsqr(matrix, goal, damp=_DAMP, iter_lim=400)[0] * model.UNIT).astype(int)
    known = {byte for word in words for byte in word}
    letters = [0] * 0x80 + [
        int(solved[letters_at + byte]) if byte in known else _UNKNOWN for byte in range(0x80, 0x100)
    ]
    table = solved[:pairs_to].reshape(model.PAIRS, model.PAIRS).tolist()
    return table, solved[pairs_to:letters_at].tolist(), letters


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
