"""Cut a text into chunks without ``re``, whose import costs as much as a bare start. Fast path.

What a text costs is a sum, so the order of its chunks does not matter: words are what is left when
everything else becomes a space, and what stands between words is cut by hand, each distinct piece
once. The same chunks as ``text.CHUNK`` finds, for every text with few different symbols; for the
others the caller falls back to it.
"""

from __future__ import annotations

SYMBOLS_MAX = 64
"""Different symbols (of three bytes and more, or like ``·``) of one text that are handled here."""

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_WORD = frozenset((*_LETTERS, *range(0x80, 0xC0), *range(0xC3, 0xE2), 0xE3))
_SIGNS = bytes(byte for byte in range(0x80, 0x100) if byte not in _WORD)
"""Bytes that begin a symbol, and are never part of a word."""
_ONLY_WORDS = bytes(byte if byte in _WORD else 0x20 for byte in range(256))
_NO_WORDS = bytes(0x41 if byte in _WORD else byte for byte in range(256))
_ASCII = bytes(range(0x80))
_NOT_SIGNS = bytes(byte for byte in range(256) if byte not in _SIGNS)
_SPACE, _ZERO = 0x20, 0x30


def cut(data: bytes) -> tuple[list[bytes], list[bytes], dict[bytes, bytes]] | None:
    """Return the words, what stands between them, and the symbols' codes; None: use ``re``.

    Args:
        data: UTF-8 with every digit as 0.
    """
    codes: dict[bytes, bytes] = {}
    if data.translate(None, _NOT_SIGNS):
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return None
        chars = set(data.translate(None, _ASCII).decode("utf-8"))
        symbols = [char.encode() for char in chars]
        symbols = [symbol for symbol in symbols if symbol[0] in _SIGNS]
        if len(symbols) > SYMBOLS_MAX:
            return None
        # A code is of bytes that no text has left by then: none stands in a word or after a sign.
        for at, symbol in enumerate(symbols):
            code = bytes((0xFF, _SIGNS[at // 8], _SIGNS[at % 8]))
            codes[code] = symbol
            data = data.replace(symbol, code)
    words = data.translate(_ONLY_WORDS).split()
    rest = data.translate(_NO_WORDS)
    while b"AA" in rest:
        rest = rest.replace(b"AAAA", b"A").replace(b"AA", b"A")
    return words, rest.split(b"A"), codes


def between(piece: bytes, codes: dict[bytes, bytes]) -> list[bytes]:
    """Return the chunks of what stands between two words, in order, the symbols as they were."""
    found = []
    at, size = 0, len(piece)
    while at < size:
        end = at
        if piece[at] == _SPACE and at + 1 < size and _apart(piece[at + 1]):
            end += 1
        if _apart(piece[end]):
            sign = piece[end] != _ZERO
            while end < size and (piece[end] >= 0x80 if sign else piece[end] == _ZERO):  # noqa: PLR2004
                end += 1
            if end < size and piece[end] == _SPACE:
                end += 1
        else:
            while end < size and not _apart(piece[end]):
                end += 1
        chunk = piece[at:end]
        for code, symbol in codes.items():
            if chunk.isascii():
                break
            chunk = chunk.replace(code, symbol)
        found.append(chunk)
        at = end
    return found


def _apart(byte: int) -> bool:
    """Say whether a number or a symbol begins with this byte of a piece."""
    return byte == _ZERO or byte >= 0x80  # noqa: PLR2004
