"""Cutting without ``re`` finds the chunks the fit was made with, in whatever order."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from paceline.estimate import cut, text

ALPHABET = [*"abzAZ019 .,;\t\n\r\0(", *"éßжع中한😀—→·“\xa0\u2028\ufffd"]
MIXED = st.text(alphabet=st.sampled_from(ALPHABET), max_size=60)
BROKEN = st.lists(st.sampled_from([b"\xe2", b"\x80", b"a", b" ", b"\xc3"])).map(b"".join)


def chunks_of(data: bytes) -> Counter[bytes] | None:
    found = cut.cut(data.translate(text._ZEROED))
    if found is None:
        return None
    words, pieces, codes = found
    return Counter(words + [chunk for piece in pieces for chunk in cut.between(piece, codes)])


@given(MIXED | st.text(max_size=80))
@example("a 0 b")
@example("a, 0 — b")
@example("—0 —")
@example("  0  ")
@example("中é中 0中")
def test_the_same_chunks_are_found_as_by_the_pattern(value: str) -> None:
    data = value.encode("utf-8", "surrogatepass")
    found = chunks_of(data)
    if found is not None:
        assert found == Counter(text.chunks(data))


@given(st.binary(max_size=60) | BROKEN)
@example(b"\xe2\x80a\x94")
def test_bytes_that_are_no_utf8_are_cut_alike_or_left_to_the_pattern(data: bytes) -> None:
    found = chunks_of(data)
    if found is not None:
        assert found == Counter(text.chunks(data))


@given(MIXED)
def test_a_text_costs_the_sum_of_its_chunks(value: str) -> None:
    for tokenizer in ("v3", "v47"):
        prices = text._prices(tokenizer)
        total = sum(prices[chunk] for chunk in text.chunks(value.encode()))
        assert text.tokens(value, tokenizer) == (total + text.UNIT // 2) // text.UNIT


def test_ordinary_texts_need_no_pattern() -> None:
    """Else the hooks would pay for ``re`` all the same."""
    root = Path(__file__).parents[3]
    for path in [*root.glob("docs/*.md"), *root.glob("plugin/paceline/*.py"), root / "README.md"]:
        assert chunks_of(path.read_bytes()) is not None, path


def test_a_text_of_many_symbols_or_of_half_ones_is_left_to_the_pattern() -> None:
    many = "".join(map(chr, range(0x4E00, 0x4E00 + cut.SYMBOLS_MAX + 1)))
    assert chunks_of(many.encode()) is None
    assert chunks_of(many[:-1].encode()) is not None
    assert chunks_of("\ud800—".encode("utf-8", "surrogatepass")) is None
