"""Tokens of a text, by a linear-time model of two tokenizers. On a hook's fast path.

The text is cut into chunks (words, numbers, symbols, what stands between them). The few thousand
chunks that matter most have a learned price; any other is priced from its letters or its kinds of
characters, once, and remembered. The prices are data, ``weights_v3.json`` and
``weights_v47.json``, made by ``python -m paceline_bench.estimator fit`` (docs/estimator.md).
"""

from __future__ import annotations

import itertools
import os

from paceline import codec
from paceline.estimate import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

V3 = "v3"
"""Claude 3 to Opus 4.6, Sonnet 4.6 and Haiku 4.5."""
V47 = "v47"
"""Opus 4.7, Sonnet 5 and all that is newer."""

UNIT = 100
"""Prices are whole hundredths of a token, so a sum is exact and the same everywhere."""
SEPARATOR = "\u241e"
"""Between the chunks of one price in the weights."""

_FAMILIES = ("opus", "sonnet", "haiku", "fable", "mythos")
_NEW_FROM = (4, 7)
_VERSION_DIGITS = 2
_SEPARATORS = str.maketrans(".@[:", "----")

# One chunk: a word of any script written in words; a number, a symbol or a run of CJK, Hangul or
# emoji with the single spaces beside it (which cost a token there and nothing between words); or
# what stands between. One byte class a branch, so the scan is linear whatever the text.
CHUNK = (
    rb"[A-Za-z\x80-\xbf\xc3-\xe1\xe3]+"
    rb"| ?0+ ?"
    rb"| ?[\xc0-\xc2\xe2\xe4-\xff][\x80-\xc2\xe2\xe4-\xff]* ?"
    rb"|[^A-Za-z0\x80-\xff]+"
)
_ZEROED = bytes(ord("0") if chr(byte) in "123456789" else byte for byte in range(256))

_LETTERS = b"^abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTER_INDEX = bytes(max(_LETTERS.find(byte), 0) for byte in range(256))
_TAILS = bytes(range(0x80, 0xC0))
LOWER, TITLE, UPPER, MIXED = range(4)
"""Shapes of a word, in the order of the weights' ``shapes``."""

# Scripts by the first byte of a character in UTF-8, in the order of the weights' ``scripts``.
SCRIPTS = (
    ("ascii", 0x00, 0x7F),
    ("signs", 0xC0, 0xC2),
    ("latin west", 0xC3, 0xC3),
    ("latin east", 0xC4, 0xC5),
    ("latin rare", 0xC6, 0xCB),
    ("marks", 0xCC, 0xCD),
    ("greek", 0xCE, 0xCF),
    ("cyrillic", 0xD0, 0xD1),
    ("cyrillic rare", 0xD2, 0xD3),
    ("armenian", 0xD4, 0xD5),
    ("hebrew", 0xD6, 0xD7),
    ("arabic", 0xD8, 0xD9),
    ("arabic rare", 0xDA, 0xDF),
    ("indic", 0xE0, 0xE0),
    ("latin more", 0xE1, 0xE1),
    ("symbols", 0xE2, 0xE2),
    ("kana", 0xE3, 0xE3),
    ("cjk", 0xE4, 0xE9),
    ("hangul", 0xEA, 0xED),
    ("wide", 0xEE, 0xEF),
    ("emoji", 0xF0, 0xFF),
)
_SCRIPT = bytes(
    next((at for at, (_, low, high) in enumerate(SCRIPTS) if low <= byte <= high), 0)
    for byte in range(256)
)
# Scripts that share their first byte and are told apart by the second: (name, bytes).
SHARED = (
    ("devanagari", 0xE0, 0xA4, 0xA5),
    ("bengali", 0xE0, 0xA6, 0xA7),
    ("gujarati", 0xE0, 0xA8, 0xAB),
    ("tamil", 0xE0, 0xAE, 0xAF),
    ("telugu", 0xE0, 0xB0, 0xB3),
    ("malayalam", 0xE0, 0xB4, 0xB7),
    ("thai", 0xE0, 0xB8, 0xBB),
    ("myanmar", 0xE1, 0x80, 0x81),
    ("georgian", 0xE1, 0x82, 0x83),
    ("khmer", 0xE1, 0x9E, 0x9F),
)
_LEADS = {at: low for at, (_, low, high) in enumerate(SCRIPTS) if low == high in (0xE0, 0xE1)}

_LOOKED_AT = 120
"""Bytes of one chunk that are looked at; a longer one costs in proportion."""
_REMEMBERED = 60_000
"""Chunks a long-lived process remembers before it starts over."""


def tokenizer_of(model: str) -> str:
    """Return ``"v3"`` or ``"v47"`` for a model's id, alias or name; an unknown one is new."""
    name = model.lower()
    for family in _FAMILIES:
        at = name.find(family)
        if at < 0:
            continue
        parts = name[at + len(family) :].translate(_SEPARATORS).split("-")[1:3]
        version = [int(part) for part in parts if part.isdecimal() and len(part) <= _VERSION_DIGITS]
        if version:
            return V47 if (*version, 0) >= _NEW_FROM else V3
        return V3 if name[:at].rstrip("-")[-1:].isdecimal() else V47  # claude-3-opus
    return V3 if "claude-2" in name or "claude-instant" in name else V47


def tokens(text: str, tokenizer: str) -> int:
    """Return the expected tokens of ``text``. An unknown tokenizer counts as the newest."""
    return tokens_of(text.encode("utf-8", "surrogatepass"), tokenizer)


def tokens_of(data: bytes, tokenizer: str) -> int:
    """Return the expected tokens of UTF-8 ``data``; bytes that are not UTF-8 cost something too."""
    prices = _prices(V3 if tokenizer == V3 else V47)
    parts = cut.cut(data.translate(_ZEROED))
    if parts is None:
        total = sum(map(prices.__getitem__, chunks(data)))
    else:
        words, pieces, codes = parts
        table = _Pieces(prices, codes) if codes else prices.pieces
        total = sum(map(prices.__getitem__, words)) + sum(map(table.__getitem__, pieces))
    return (total + UNIT // 2) // UNIT


def chunks(data: bytes) -> list[bytes]:
    """Return ``data`` cut into chunks, every digit as 0; joined again they are ``data``."""
    import re  # as dear as the whole rest of a hook: only where `cut` gives up, and for the fit

    return re.findall(CHUNK, data.translate(_ZEROED))


def shape(word: bytes) -> int:
    """Return the shape of a word of ASCII letters."""
    if word.islower() or len(word) == 1:
        return LOWER
    if word.istitle():
        return TITLE
    return UPPER if word.isupper() else MIXED


def letter_pairs(word: bytes) -> list[tuple[int, int]]:
    """Return the pairs of neighbouring letters of a word, its two ends included."""
    if shape(word) == TITLE:
        word = word.lower()
    codes = (b"^" + word + b"^").translate(_LETTER_INDEX)
    return list(itertools.pairwise(codes))


def between(chunk: bytes) -> tuple[int, ...]:
    """Return what prices white space and punctuation.

    Runs of newlines, spaces, runs of spaces, runs of tabs, marks, runs of marks, changes of mark.
    """
    lines = spaces = space_runs = tabs = marks = mark_runs = changes = 0
    before = 0
    for byte in chunk:
        if byte in b"\n\r":
            lines += before not in b"\n\r"
        elif byte == ord(" "):
            spaces += 1
            space_runs += byte != before
        elif byte == ord("\t"):
            tabs += byte != before
        else:
            marks += 1
            mark_runs += before in b"\0 \n\r\t"
            changes += byte != before
        before = byte
    return lines, spaces, space_runs, tabs, marks, mark_runs, changes


def script_counts(chunk: bytes) -> list[tuple[int, int, int]]:
    """Return (script, characters, runs) of a chunk; scripts count through SCRIPTS and SHARED."""
    codes = chunk.translate(_SCRIPT, _TAILS)
    found = []
    for code in sorted(set(codes)):
        mark = bytes((code,))
        runs = len([part for part in codes.split(mark) if part]) + 1
        runs -= (codes[:1] != mark) + (codes[-1:] != mark)
        script = code
        if code in _LEADS:
            lead = _LEADS[code]
            second = chunk[chunk.index(lead) + 1 :][:1] or b"\0"
            for at, (_, first, low, high) in enumerate(SHARED, len(SCRIPTS)):
                if first == lead and low <= second[0] <= high:
                    script = at
        found.append((script, codes.count(mark), max(runs, 1)))
    return found


def spread(kind: str, tokenizer: str) -> tuple[float, float]:
    """Return what to multiply an estimate of this kind with to hold the truth nine times in ten.

    From files the fit had not seen; an unknown kind gets what holds for all of them.
    """
    known = _prices(V3 if tokenizer == V3 else V47).spread
    low, high = known.get(kind) or known[""]
    return low, high


class _Pieces(dict[bytes, int]):
    """What stands between two words, to its price."""

    __slots__ = ("_codes", "_prices")

    def __init__(self, prices: _Prices, codes: dict[bytes, bytes]) -> None:
        super().__init__()
        self._prices = prices
        self._codes = codes

    def __missing__(self, piece: bytes) -> int:
        chunks = cut.between(piece, self._codes)
        price = self[piece] = sum(map(self._prices.__getitem__, chunks))
        return price


class _Prices(dict[bytes, int]):
    """Chunk to price; a chunk that is not there yet is priced from what it is made of."""

    __slots__ = ("_between", "_pairs", "_scripts", "_shapes", "learned", "pieces", "spread")

    def __init__(self, weights: dict[str, Any]) -> None:
        super().__init__()
        for price, joined in weights["chunks"].items():
            self.update(dict.fromkeys(joined.encode().split(SEPARATOR.encode()), int(price)))
        self.learned = len(self)
        self.pieces = _Pieces(self, {})
        self.spread: dict[str, list[float]] = weights.get("spread") or {"": [0.9, 1.1]}
        self._pairs: list[list[int]] = weights["pairs"]
        self._shapes: list[int] = weights["shapes"]
        self._between: list[int] = weights["between"]
        self._scripts: list[list[int]] = weights["scripts"]

    def __missing__(self, chunk: bytes) -> int:
        size = len(chunk)
        if size > _LOOKED_AT:
            return self[chunk[:_LOOKED_AT]] * size // _LOOKED_AT
        price = self[chunk] = self._price(chunk)
        return price

    def _price(self, chunk: bytes) -> int:
        if not chunk.isascii():
            return sum(
                self._scripts[script][0] * count + self._scripts[script][1] * runs
                for script, count, runs in script_counts(chunk)
            )
        if chunk.isalpha():
            return self._word(chunk)
        bare = chunk.strip()
        if bare.isdigit():
            return UNIT * ((len(bare) + 2) // 3 + len(chunk) - len(bare))
        return sum(map(int.__mul__, between(chunk), self._between))

    def _word(self, word: bytes) -> int:
        """Return the price of a word from its shape and its letter pairs: one token or more."""
        rows = self._pairs
        price = self._shapes[shape(word)]
        for left, right in letter_pairs(word):
            price += rows[left][right]
        return max(price, UNIT)


_loaded: dict[str, _Prices] = {}


def _prices(tokenizer: str) -> _Prices:
    prices = _loaded.get(tokenizer)
    if prices is None or len(prices) + len(prices.pieces) > prices.learned + _REMEMBERED:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"weights_{tokenizer}.json")
        with open(path, encoding="utf-8") as file:
            prices = _loaded[tokenizer] = _Prices(codec.loads(file.read()))
    return prices
