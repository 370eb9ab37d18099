"""What a person sets, and what holds when it cannot be used."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline import settings

NAMES = ("ledger", "mode", "park_max", "requeue_attempts", "advise_reads", "headroom")


def load(**env: str) -> settings.Settings:
    return settings.load({f"PACELINE_{name.upper()}": value for name, value in env.items()})


def test_nothing_needs_to_be_set() -> None:
    """[P4]"""
    found = settings.load({})
    assert (found.mode, found.ledger, found.park_max) == ("pace", "", 21_600.0)
    assert (found.requeue_attempts, found.advise_reads, found.headroom) == (2, "advise", 0.04)
    assert settings.problems({}) == []
    assert settings.mode({}) == "pace"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("ledger", "/shared/ledger", "/shared/ledger"),
        ("mode", " Observe ", "observe"),
        ("mode", "off", "off"),
        ("park_max", "90", 90.0),
        ("park_max", "90m", 5400.0),
        ("park_max", "1.5h", 5400.0),
        ("park_max", "0", 0.0),
        ("requeue_attempts", "0", 0),
        ("requeue_attempts", "12", 12),
        ("advise_reads", "NARROW", "narrow"),
        ("headroom", "0.1", 0.1),
        ("headroom", "10%", 0.1),
        ("headroom", "0", 0.0),
    ],
)
def test_a_setting_is_read(name: str, text: str, value: object) -> None:
    assert getattr(load(**{name: text}), name) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ledger", "redis://10.0.0.1/0"),
        ("mode", "fast"),
        ("park_max", "soon"),
        ("park_max", "-1"),
        ("park_max", "32d"),
        ("park_max", "h"),
        ("requeue_attempts", "many"),
        ("requeue_attempts", "-1"),
        ("requeue_attempts", "100"),
        ("requeue_attempts", "٣"),
        ("advise_reads", "yes"),
        ("headroom", "1"),
        ("headroom", "nan"),
        ("headroom", "1e-3"),
        ("headroom", "."),
        ("ledger", "a\0b"),
    ],
)
def test_a_value_that_cannot_be_used_falls_back_and_is_told(name: str, text: str) -> None:
    env = {f"PACELINE_{name.upper()}": text}
    assert getattr(settings.load(env), name) == getattr(settings.Settings(), name)
    (told,) = settings.problems(env)
    assert told.startswith(f"PACELINE_{name.upper()} is ")
    assert told.endswith("or unset it.")
    assert told.isprintable()


@pytest.mark.parametrize("empty", ["", "  ", "${user_config.mode}"])
def test_an_empty_or_unfilled_value_counts_as_unset(empty: str) -> None:
    env = {"PACELINE_MODE": empty, "CLAUDE_PLUGIN_OPTION_MODE": "observe"}
    assert settings.load(env).mode == "observe"
    assert settings.problems({"PACELINE_MODE": empty}) == []


def test_a_variable_of_its_own_wins_over_the_plugins_option() -> None:
    env = {"PACELINE_MODE": "off", "CLAUDE_PLUGIN_OPTION_MODE": "observe"}
    assert settings.mode(env) == "off"


@given(st.dictionaries(st.sampled_from([f"PACELINE_{n.upper()}" for n in NAMES]), st.text()))
def test_any_environment_gives_settings_in_their_bounds(env: dict[str, str]) -> None:
    found = settings.load(env)
    assert found.mode in ("pace", "observe", "off")
    assert 0 <= found.park_max <= 31 * 86_400
    assert 0 <= found.requeue_attempts <= 99
    assert 0 <= found.headroom <= 0.9
    assert all(isinstance(text, str) for text in settings.problems(env))
