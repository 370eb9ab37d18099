"""Tokens of a text, by a linear-time model of two tokenizers. On a hook's fast path.

The text becomes one byte a character and is cut into chunks: words, numbers, what stands between
them, and signs no alphabet writes (CJK, symbols, emoji). The few thousand chunks that matter most
have a learned price; any other is priced from its letters, once, and remembered. The prices are
data, ``weights_v3.json`` and ``weights_v47.json``, made by ``python -m paceline_bench.estimator
fit`` (docs/estimator.md).

Cutting is four times the same: ``bytes.translate`` blanks what a pass does not look at, and
``bytes.split`` collects the rest. No regular expressions: their import costs a hook too much.
"""

from __future__ import annotations

import os
from codecs import charmap_encode
from itertools import pairwise

from paceline import codec
from paceline.estimate import scripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

V3 = "v3"
"""Claude 3 to Opus 4.6, Sonnet 4.6 and Haiku 4.5."""
V47 = "v47"
"""Opus 4.7, Sonnet 5 and all that is newer."""

UNIT = 100
"""Prices are whole hundredths of a token, so a sum is exact and the same everywhere."""

_FAMILIES = ("opus", "sonnet", "haiku", "fable", "mythos")
_NEW_FROM = (4, 7)
_VERSION_DIGITS = 2
_SEPARATORS = str.maketrans(".@[:", "----")

WORDS, NUMBERS, BETWEEN, SIGNS = "words", "numbers", "between", "signs"
"""The passes, and the tables of the weights."""

BESIDE = b"\x05"
"""Stands for a single space beside a number or a sign: a token there, nothing between words."""

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_INDEX = bytes(_LETTERS.find(byte) + 1 for byte in range(256))
PAIRS = len(_LETTERS) + 1
"""Letters, and one for a word's ends and for every letter that is not ASCII."""
LOWER, TITLE, UPPER, MIXED = range(4)
"""Shapes of a word, in the order of the weights' ``shapes``."""

_LOOKED_AT = 60
"""Characters of one chunk that are looked at; a longer one costs in proportion."""
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
    return (_prices(V3 if tokenizer == V3 else V47).of(text) + UNIT // 2) // UNIT


def spread(kind: str, tokenizer: str) -> tuple[float, float]:
    """Return what to multiply an estimate of this kind with to hold the truth nine times in ten.

    From files the fit had not seen; an unknown kind gets what holds for all of them.
    """
    known = _prices(V3 if tokenizer == V3 else V47).spread
    low, high = known.get(kind) or known[""]
    return low, high


def passes(text: str) -> list[tuple[str, bytes]]:
    """Return each pass with the text as it sees it: its chunks are what white space parts.

    All are as long as ``text``, and each character stands in one chunk of one of them.
    """
    if text.isascii():
        data = text.encode("ascii").translate(_ZEROED)
        signs = b""
    else:
        data = charmap_encode(text, "strict", scripts.CODES)[0].translate(_ZEROED)
        signs = data.translate(_KEEP_SIGNS)
    for code in {ord("0"), *signs} - {ord(" ")}:
        beside = bytes((code,))
        data = data.replace(b" " + beside, BESIDE + beside).replace(beside + b" ", beside + BESIDE)
    found = [
        (WORDS, data.translate(_KEEP_WORDS)),
        (NUMBERS, data.translate(_KEEP_NUMBERS)),
        (BETWEEN, data.translate(_KEEP_BETWEEN)),
    ]
    if signs:
        found.append((SIGNS, signs))
    return found


def _keep(which: Callable[[int], int]) -> bytes:
    return bytes(which(byte) for byte in range(256))


# How white space is spelt between words, where letters do not occur.
_SPELT = {ord(" "): ord("s"), ord("\n"): ord("n"), ord("\t"): ord("t"), ord("\r"): ord("r")}
_SPELT |= {BESIDE[0]: ord("d"), 0x0B: ord("c"), 0x0C: ord("c")}


def _between_byte(byte: int) -> int:
    if byte in scripts.WORDLIKE or byte in scripts.SIGNLIKE or byte in _LETTERS:
        return ord(" ")
    return ord(" ") if byte == ord("0") else _SPELT.get(byte, byte)


_ZEROED = _keep(lambda byte: ord("0") if byte in b"123456789" else byte)
_KEEP_WORDS = _keep(lambda byte: byte if byte in _LETTERS or byte in scripts.WORDLIKE else ord(" "))
_KEEP_NUMBERS = _keep(lambda byte: byte if byte == ord("0") else ord(" "))
_KEEP_SIGNS = _keep(lambda byte: byte if byte in scripts.SIGNLIKE else ord(" "))
_KEEP_BETWEEN = _keep(_between_byte)
_NOT_ASCII = bytes(range(0x80, 0x100))


def shape(word: bytes) -> int:
    """Return the shape of a word by its ASCII letters."""
    if not word.isascii():
        word = word.translate(None, _NOT_ASCII)
    if len(word) < 2 or word.islower():  # noqa: PLR2004  one letter has no shape
        return LOWER
    if word.istitle():
        return TITLE
    return UPPER if word.isupper() else MIXED


def letter_pairs(word: bytes, kind: int) -> Iterable[tuple[int, int]]:
    """Return the pairs of neighbouring letters of a word of this shape, its ends included."""
    if kind == TITLE:
        word = word.lower()
    return pairwise((b" " + word + b" ").translate(_INDEX))


def between_counts(chunk: bytes) -> tuple[int, ...]:
    """Return what prices a chunk of white space and punctuation.

    Runs of newlines, spaces, runs of spaces, runs of tabs, marks, runs of marks, changes of mark,
    spaces beside numbers and signs.
    """
    lines = spaces = space_runs = tabs = marks = mark_runs = changes = beside = 0
    before = ord(" ")
    for byte in chunk:
        if byte in b"nr":
            lines += before not in b"nr"
        elif byte == ord("s"):
            spaces += 1
            space_runs += byte != before
        elif byte == ord("t"):
            tabs += byte != before
        elif byte == ord("d"):
            beside += 1
        else:
            marks += 1
            mark_runs += before in b" nrstd"
            changes += byte != before
        before = byte
    return lines, spaces, space_runs, tabs, marks, mark_runs, changes, beside


class _Table(dict[bytes, int]):
    """Chunk to price in one pass; one that is not there is priced from what it is made of."""

    __slots__ = ("_price", "learned")

    def __init__(self, learned: dict[str, str], price: Callable[[bytes], int]) -> None:
        super().__init__()
        for cost, joined in learned.items():
            self.update(dict.fromkeys(joined.encode("latin-1").split(b" "), int(cost)))
        self.learned = len(self)
        self._price = price

    def __missing__(self, chunk: bytes) -> int:
        size = len(chunk)
        if size > _LOOKED_AT:
            return self[chunk[:_LOOKED_AT]] * size // _LOOKED_AT
        price = self[chunk] = self._price(chunk)
        return price


class Prices:
    """The prices of one tokenizer, from its weights."""

    def __init__(self, weights: dict[str, Any]) -> None:
        self.spread: dict[str, list[float]] = weights.get("spread") or {"": [0.9, 1.1]}
        self._pairs: list[list[int]] = weights["pairs"]
        self._shapes: list[int] = weights["shapes"]
        self._marks: list[int] = weights["marks"]
        self._letters: list[int] = weights["letters"]
        self._signs: list[int] = weights["others"]
        self._tables = {
            WORDS: _Table(weights[WORDS], self.word),
            NUMBERS: _Table({}, number),
            BETWEEN: _Table(weights[BETWEEN], self.between),
            SIGNS: _Table(weights[SIGNS], self.sign),
        }

    def of(self, text: str) -> int:
        """Return the price of a text in hundredths of a token."""
        tables = self._tables
        total = 0
        for name, seen in passes(text):
            total += sum(map(tables[name].__getitem__, seen.split()))
        return total

    def is_full(self) -> bool:
        """Whether more was remembered than a long-lived process should keep."""
        return sum(len(table) - table.learned for table in self._tables.values()) > _REMEMBERED

    def word(self, word: bytes) -> int:
        """Return the price of a word that is not learned: at least one token."""
        rows = self._pairs
        kind = shape(word)
        price = self._shapes[kind]
        for left, right in letter_pairs(word, kind):
            price += rows[left][right]
        if not word.isascii():
            price += sum(map(self._letters.__getitem__, word))
        return max(price, UNIT)

    def between(self, chunk: bytes) -> int:
        """Return the price of white space and punctuation that is not learned."""
        return sum(map(int.__mul__, between_counts(chunk), self._marks))

    def sign(self, chunk: bytes) -> int:
        """Return the price of signs that are not learned."""
        return sum(map(self._signs.__getitem__, chunk))


def number(digits: bytes) -> int:
    """Return the price of a number: a token for three digits."""
    return UNIT * ((len(digits) + 2) // 3)


_loaded: dict[str, Prices] = {}


def _prices(tokenizer: str) -> Prices:
    prices = _loaded.get(tokenizer)
    if prices is None or prices.is_full():
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"weights_{tokenizer}.json")
        with open(path, encoding="utf-8") as file:
            prices = _loaded[tokenizer] = Prices(codec.loads(file.read()))
    return prices
