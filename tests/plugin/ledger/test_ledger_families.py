"""Which models share a limit: the classes of the API's published tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.families import ALL, family_of


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-opus-4-8", "opus-4"),
        ("claude-opus-4-5-20251101", "opus-4"),
        ("claude-opus-4-20250514", "opus-4"),
        ("claude-sonnet-4-6", "sonnet-4"),
        ("claude-sonnet-4-5-latest", "sonnet-4"),
        ("claude-opus-5", "opus-5"),
        ("claude-opus-5-5", "opus-5-5"),
        ("claude-sonnet-5-20260801", "sonnet-5"),
        ("claude-fable-5", "fable-5"),
        ("claude-fable-5-1", "fable-5"),
        ("claude-haiku-4-5-20251001", "haiku-4-5"),
        ("claude-3-5-haiku-20241022", "haiku-3-5"),
        ("claude-3-haiku-20240307", "haiku-3"),
        ("claude-opus-4-8[1m]", "opus-4"),
        ("  Claude-Opus-4-8  ", "opus-4"),
        ("us.anthropic.claude-opus-4-8", "opus-4"),
        ("claude-opus-4-8@20260101", "opus-4"),
        ("", "default"),
        ("my/own model", "my-own-model"),
    ],
)
def test_models_of_one_class_draw_from_one_bucket(model: str, family: str) -> None:
    assert family_of(model) == family


@given(st.text(max_size=300))
def test_any_text_has_a_family_that_is_short_and_never_all_of_them(model: str) -> None:
    """A model's name comes from outside; it must not stand for every family."""
    family = family_of(model)
    assert 0 < len(family) <= 80
    assert family_of(model) == family
    assert family != ALL or model.strip().lower() == ALL
