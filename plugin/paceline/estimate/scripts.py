"""One byte for every character: which letters and signs cost alike. On a hook's fast path.

ASCII stays as it is. The letters that European languages add and the signs that stand in prose
and in terminals have a byte of their own; every other character has the byte of its script, and
capitals of a script another one, as the tokenizers mark them.
"""

from __future__ import annotations

_LETTERS = "áàâäãåæçéèêëíìîïñóòôöõøœúùûüýßąćęłńśźżčďěňřšťůžđőűğış"
_SIGNS = "–—‘’“”•…·→←↑─│█✓°«»©€×，。、（）：「」　"  # noqa: RUF001  lookalikes are the point

# (name, first code point, whether words are written in it); it ends where the next one begins.
_SCRIPTS = (
    ("latin signs", 0x80, False),
    ("latin", 0xC0, True),
    ("marks", 0x2B0, True),
    ("greek", 0x370, True),
    ("cyrillic", 0x400, True),
    ("cyrillic of few languages", 0x460, True),
    ("armenian", 0x530, True),
    ("hebrew", 0x590, True),
    ("arabic", 0x600, True),
    ("arabic of few languages", 0x66E, True),
    ("devanagari", 0x900, True),
    ("bengali", 0x980, True),
    ("gujarati", 0xA00, True),
    ("tamil", 0xB00, True),
    ("telugu", 0xC00, True),
    ("malayalam", 0xD00, True),
    ("thai", 0xE00, True),
    ("tibetan", 0xF00, True),
    ("myanmar", 0x1000, True),
    ("georgian", 0x10A0, True),
    ("ethiopic", 0x1100, True),
    ("khmer", 0x1780, True),
    ("vietnamese", 0x1E00, True),
    ("punctuation", 0x2000, False),
    ("symbols", 0x2100, False),
    ("boxes", 0x2500, False),
    ("cjk signs", 0x2E80, False),
    ("hiragana", 0x3040, True),
    ("katakana", 0x30A0, True),
    ("cjk rare", 0x3100, False),
    ("cjk", 0x4E00, False),
    ("other letters", 0xA000, True),
    ("hangul", 0xAC00, False),
    ("wide forms", 0xD7B0, False),
    ("emoji", 0x10000, False),
)
_CASED = ("latin", "greek", "cyrillic", "armenian")

_FIRST = 0x80
_OWN = {char: _FIRST + at for at, char in enumerate(_LETTERS + _SIGNS)}
_OF_SCRIPT = _FIRST + len(_OWN)
_CAPITAL = {name: _OF_SCRIPT + len(_SCRIPTS) + at for at, name in enumerate(_CASED)}

WORDLIKE = frozenset(
    [_OWN[char] for char in _LETTERS]
    + [_OF_SCRIPT + at for at, script in enumerate(_SCRIPTS) if script[2]]
    + list(_CAPITAL.values())
)
"""Bytes that stand for letters outside ASCII."""
SIGNLIKE = frozenset(range(_FIRST, _OF_SCRIPT + len(_SCRIPTS) + len(_CASED))) - WORDLIKE
"""Bytes that stand for characters outside ASCII that are no letters."""


class _Codes(dict[int, int]):
    """Code point to byte; filled as characters come."""

    def __missing__(self, code: int) -> int:
        byte = self[code] = _byte(code)
        return byte


def _byte(code: int) -> int:
    if code < _FIRST:
        return code
    char = chr(code)
    if char in _OWN:
        return _OWN[char]
    at, end = 0, len(_SCRIPTS)
    while end - at > 1:
        middle = (at + end) // 2
        if code < _SCRIPTS[middle][1]:
            end = middle
        else:
            at = middle
    name = _SCRIPTS[at][0]
    return _CAPITAL[name] if name in _CAPITAL and char.isupper() else _OF_SCRIPT + at


CODES = _Codes()
"""The table for ``codecs.charmap_encode``."""
