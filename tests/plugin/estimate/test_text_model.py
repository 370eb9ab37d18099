"""The token model: whose tokenizer, what a text costs, and that no text can upset it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.estimate import scripts, text

SAMPLES = Path(__file__).parent / "samples"
# What an offline reconstruction of the tokenizers counts in each sample, which no fit has seen:
# python -m paceline_bench.estimator label tests/plugin/estimate/samples
LABELS: dict[str, dict[str, int]] = json.loads((SAMPLES / "labels.json").read_text("utf-8"))
any_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=400)


def sample(name: str) -> str:
    return (SAMPLES / name).read_text("utf-8")


def errors(tokenizer: str) -> list[float]:
    found = [text.tokens(sample(name), tokenizer) / LABELS[name][tokenizer] - 1 for name in LABELS]
    return sorted(found, key=abs)


@pytest.mark.parametrize(
    ("model", "tokenizer"),
    [
        ("claude-3-5-sonnet-20241022", "v3"),
        ("claude-3-opus-20240229", "v3"),
        ("claude-sonnet-4-20250514", "v3"),
        ("claude-opus-4-6", "v3"),
        ("claude-haiku-4-5-20251001", "v3"),
        ("claude-haiku-4-5@20251001", "v3"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "v3"),
        ("claude-2.1", "v3"),
        ("claude-opus-4-7", "v47"),
        ("claude-opus-4-8[1m]", "v47"),
        ("claude-sonnet-5", "v47"),
        ("claude-opus-5.5", "v47"),
        ("claude-fable-5-1", "v47"),
        ("opus", "v47"),
        ("", "v47"),
        ("some-other-model", "v47"),
    ],
)
def test_a_model_is_counted_with_its_own_tokenizer(model: str, tokenizer: str) -> None:
    assert text.tokenizer_of(model) == tokenizer


@pytest.mark.parametrize("tokenizer", ["v3", "v47"])
def test_texts_no_fit_has_seen_are_estimated_within_the_bound(tokenizer: str) -> None:
    found = [abs(error) for error in errors(tokenizer)]
    assert len(found) >= 40
    assert sum(found) / len(found) <= 0.05
    assert found[int(0.95 * (len(found) - 1))] <= 0.12


@pytest.mark.parametrize("name", sorted(LABELS))
def test_no_script_and_no_kind_is_far_too_low(name: str) -> None:
    """[CASE 30] Outside estimators were low by 1.57 to 2.08 times, worst on wide characters.

    The stated margin is 20 % (docs/estimator.md); Japanese literature comes nearest to it.
    """
    for tokenizer in ("v3", "v47"):
        assert text.tokens(sample(name), tokenizer) >= 0.8 * LABELS[name][tokenizer]


@pytest.mark.parametrize("tokenizer", ["v3", "v47"])
def test_the_range_of_a_kind_holds_most_of_its_texts(tokenizer: str) -> None:
    held = 0
    for name, label in LABELS.items():
        low, high = text.spread("prose" if name.endswith(".txt") else "", tokenizer)
        estimate = text.tokens(sample(name), tokenizer)
        held += estimate * low - 2 <= label[tokenizer] <= estimate * high + 2
    assert held >= 0.8 * len(LABELS)


def test_bytes_by_four_would_fail_the_bound_this_model_keeps() -> None:
    rough = [abs(len(sample(n).encode()) / 4 / LABELS[n]["v47"] - 1) for n in LABELS]
    assert sum(rough) / len(rough) > 0.3


@given(any_text)
def test_any_text_has_a_price_and_none_costs_nothing_but_the_empty_one(value: str) -> None:
    for tokenizer in ("v3", "v47", "unheard of"):
        price = text.tokens(value, tokenizer)
        assert 0 <= price <= 6 * len(value.encode("utf-8", "surrogatepass")) + 1
    assert text.tokens("", "v3") == 0


@given(any_text)
def test_each_character_stands_in_one_chunk_of_one_pass(value: str) -> None:
    seen = [data for _, data in text.passes(value)]
    assert {len(data) for data in seen} == {len(value)}
    for column in zip(*seen, strict=True):
        assert sum(byte not in b" \t\n\r\x0b\x0c" for byte in column) == 1


def test_a_byte_stands_for_letters_or_for_signs_and_there_are_enough() -> None:
    assert not scripts.WORDLIKE & scripts.SIGNLIKE
    for code in range(0x80, 0x110000, 7):
        assert scripts.CODES[code] in scripts.WORDLIKE | scripts.SIGNLIKE


@given(any_text, any_text)
def test_two_texts_a_line_apart_cost_about_their_sum(one: str, two: str) -> None:
    both = text.tokens(f"{one}\nx\n{two}", "v47")
    assert abs(both - text.tokens(one, "v47") - text.tokens(two, "v47")) <= 12


@settings(max_examples=30)
@given(st.sampled_from(["a", "A", " ", "\n", "0", "é", "中", "한", "😀", "-", "\t", "\x00", "—"]))
def test_one_character_a_thousand_times_costs_in_proportion(char: str) -> None:
    """A run is priced from its first bytes, so its price grows evenly with its length."""
    once, twice = text.tokens(char * 4_000, "v47"), text.tokens(char * 8_000, "v47")
    assert once <= twice <= 2 * once + 2


def test_a_long_lived_process_does_not_remember_words_without_end() -> None:
    for at in range(0, 400_000, 4_000):
        words = " ".join(_word(number) for number in range(at, at + 4_000))
        text.tokens(words, "v47")
    prices = text._prices("v47")
    kept = sum(len(table) - table.learned for table in prices._tables.values())
    assert kept <= text._REMEMBERED + 4_000


def _word(number: int) -> str:
    letters = []
    for _ in range(5):
        number, rest = divmod(number, 26)
        letters.append(chr(97 + rest))
    return "q" + "".join(letters)
