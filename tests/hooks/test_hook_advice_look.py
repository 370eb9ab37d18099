"""The cheap look at the ledger's JSON never hides what the ledger itself would advise."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paceline import settings as told
from paceline.estimate import advise as advisor
from paceline.estimate.value import Estimate
from paceline.ledger import belief
from paceline.ledger.store import FileStore
from paceline.ledger.values import Learner
from paceline_hooks import advice

if TYPE_CHECKING:
    from pathlib import Path

    from paceline.ledger.values import Ledger

NEAR = st.floats(0.7, 1.6)
"""Factors around the thresholds, where a look that is off would show."""


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300
)
@given(
    cost=st.integers(5_000, 60_000),
    limit=st.none() | NEAR,
    source=st.sampled_from(["set", "text", "header"]),
    capacity=st.none() | NEAR,
    level=NEAR | st.just(-1.0),
    age=st.floats(0, 2),
    pace=st.none() | NEAR,
    headroom=st.floats(0, 0.5),
)
def test_what_the_ledger_would_advise_on_is_looked_into(
    tmp_path: Path,
    *,
    cost: int,
    limit: float | None,
    source: str,
    capacity: float | None,
    level: float,
    age: float,
    pace: float | None,
    headroom: float,
) -> None:
    store = FileStore(str(tmp_path), "a")
    third = 3.0 * cost

    def change(ledger: Ledger, _: float) -> None:
        ledger.families.clear()
        now = time.time() - age
        family = ledger.family("opus-5")
        if limit is not None:
            belief.tell(ledger, "opus-5", "input", third * limit, now, source=source)
            family.buckets["input"].capacity = capacity and cost * capacity
        if "input" in family.buckets:
            family.buckets["input"].level, family.buckets["input"].at = cost * level, now
        family.learner = Learner(pace=pace and third * pace / 60.0, burst=1.1 * cost)

    store.transact(change)
    policy = told.Settings(headroom=headroom)
    budget = advice._budget(str(tmp_path), "a", policy)
    wanted = budget is not None and advisor.advise(
        Estimate("f", "text", cost, cost, cost), left=budget[0], rate=budget[1]
    )
    look = advice._may_be_short(str(tmp_path / "a.json"), cost, headroom)
    assert look or not wanted


@pytest.mark.parametrize(
    ("text", "worth"),
    [
        (None, False),
        ("{", True),
        ("[]", True),
        ('{"families": {}}', False),
        ('{"families": {"f": {"buckets": {}}}}', False),
        ('{"families": {"f": {"buckets": {"input": {"at": "x"}}}}}', True),
        ('{"families": 5}', True),
    ],
)
def test_a_ledger_of_another_shape_is_left_to_the_ledger(
    tmp_path: Path, text: str | None, *, worth: bool
) -> None:
    path = tmp_path / "a.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    assert advice._may_be_short(str(path), 20_000, 0.04) is worth


def test_the_account_is_the_one_the_sessions_log_begins_with(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "s1"
    folder.mkdir(parents=True)
    log = folder / "events.jsonl"
    env: dict[str, Any] = {"PACELINE_ACCOUNT": "x"}
    log.write_text(json.dumps({"e": "session.start", "account": "abc"}) + "\n", encoding="utf-8")
    assert advice._account(env, str(tmp_path), "s1") == "abc"
    for first in ("{}", "[]", "garbage", '{"account": "../x"}', '{"account": 5}'):
        log.write_text(first + "\n", encoding="utf-8")
        assert len(advice._account(env, str(tmp_path), "s1")) == 16
