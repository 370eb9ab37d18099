"""Labels: what an offline reconstruction of the tokenizers counts, and on which chunk it falls.

``ctok`` (MIT, needs Python 3.12, see docs/estimator.md) is the label of every fit. Its
tokens are laid back onto the text, so that each chunk of ``paceline.estimate.text`` gets the cost
it really has between its neighbours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from paceline.estimate import text as model

VERSIONS = {model.V3: "3.0", model.V47: "4.8"}
_MARKER = re.compile("⟨(bow|eow|shift|caps|pad)⟩")
_BYTES = re.compile("(?:⟨0x[0-9A-F]{2}⟩)+")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text's tokens and the (pass, chunk, tokens) they fall on; none where that failed."""

    tokens: int
    parts: list[tuple[str, bytes, int]]


def label(text: str, tokenizer: str) -> Labelled:
    """Return the labels of one text, without the frame of a message."""
    import ctok  # type: ignore[import-not-found]

    version = VERSIONS[tokenizer]
    pieces = [piece for piece in ctok.tokenize(text, version) if piece != "⟨pad⟩"]
    clean = ctok.normalize(text, version)
    starts = _starts(pieces, clean)
    return Labelled(len(pieces), _parts(clean, starts) if starts is not None else [])


def _starts(pieces: list[str], text: str) -> list[int] | None:
    """Return where in ``text`` each piece starts, or None when they cannot be laid onto it."""
    starts: list[int] = []
    waiting = 0
    at = 0
    last = 0
    raw = b""
    for piece in pieces:
        if _BYTES.fullmatch(piece):
            values = bytes(int(code, 16) for code in re.findall("0x(..)", piece))
            if not raw:
                at = _seek(text, at, None)
                last = at
            raw += values
            starts.append(last)
            try:
                raw.decode()
            except UnicodeDecodeError:
                continue
            at += len(raw.decode())
            raw = b""
            continue
        literal = _MARKER.sub("", piece)
        if not literal:
            if "bow" in piece or "shift" in piece or "caps" in piece:
                waiting += 1
            else:
                starts.append(last)
            continue
        first = -1
        for char in literal:
            at = _seek(text, at, char)
            if at >= len(text):
                return None
            if first < 0:
                first = at
            last = at
            at += 1
        starts.extend([first] * (waiting + 1))
        waiting = 0
    return starts


def _seek(text: str, at: int, char: str | None) -> int:
    """Pass over the single spaces that the stream leaves out."""
    while at < len(text):
        here = text[at]
        if char is None:
            if here != " ":
                return at
        elif here == char or here.lower() == char:
            return at
        elif here != " ":
            return len(text)
        at += 1
    return at


def _parts(text: str, starts: list[int]) -> list[tuple[str, bytes, int]]:
    """Return each chunk with the number of tokens that begin in it."""
    cost = [0] * (len(text) + 1)
    for start in starts:
        cost[start] += 1
    return [
        (name, found[0], sum(cost[found.start() : found.end()]))
        for name, seen in model.passes(text)
        for found in re.finditer(rb"\S+", seen)
    ]
