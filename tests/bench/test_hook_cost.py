"""The measurement of the hooks' cost; its figures are for people, not for assertions."""

from __future__ import annotations

from paceline_bench import hook_cost
from paceline_hooks import dispatch


def test_every_hook_is_measured_against_a_bare_start() -> None:
    """[P7]"""
    figures = hook_cost.measure(1)
    assert figures[0].hook == "python -I -S -c pass"
    assert figures[0].minimum_ratio == figures[0].median_ratio == 1.0
    assert len(figures) == len({figure.hook for figure in figures}) == 11
    assert all(figure.minimum > 0 for figure in figures)
    named = {figure.hook.split(" ")[0].rstrip(",") for figure in figures[1:]}
    assert named <= set(dispatch.EVENTS)


def test_a_hook_over_the_budget_is_named() -> None:
    def figure(name: str, minimum: float, median: float, *, fast: bool = True) -> hook_cost.Figure:
        return hook_cost.Figure(name, fast, 1.0, 1.0, minimum, median, None)

    figures = [
        figure("within", 2.4, 2.5),
        figure("over", 2.6, 2.7),
        figure("disturbed once", 3.4, 2.4),
        figure("rare", 9, 9, fast=False),
    ]
    assert [late.hook for late in hook_cost.over_budget(figures)] == ["over"]
