"""Telling Paceline the limit before a run, as ``paceline limits set --model all`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline import settings
from paceline.ledger import belief
from paceline.ledger.own import store_of
from paceline_bench.client.home import environment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from paceline_bench.client.spec import Fanout

NOWHERE = "http://127.0.0.1:9"


def telling(spec: Fanout) -> Callable[[Path], None]:
    """Return what ``fanout(spec, prepare=…)`` calls to make the limit of ``spec.api`` known."""

    def tell(home: Path) -> None:
        env = environment(spec, home, NOWHERE)
        store_of(env, settings.load(env)).transact(
            lambda ledger, now: belief.tell(
                ledger,
                "all",
                "input",
                spec.api.itpm,
                now,
                source="set",
                capacity=spec.api.itpm_capacity,
            )
        )

    return tell
