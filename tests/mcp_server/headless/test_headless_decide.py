"""Resume, wait or done: decided from values alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.refusals import Refusal
from paceline_mcp.headless.decide import Budget, Done, Resume, Spent, Wait, decide
from paceline_mcp.headless.ended import Ended

AT = 1000.0


def agent(number: int, state: str = "completed", cause: str | None = None, **more: Any) -> Any:
    retryable = cause in {"throttle", "overload", "quota", "edge"} if cause else None
    told = {
        "agent_id": f"a{number}",
        "key": f"k{number}",
        "state": state,
        "cause": cause,
        "retryable": retryable,
        "transcript": "/t",
    }
    return told | more


def ended(*agents: Any, code: int = 0, main: Refusal | None = None, **more: Any) -> Ended:
    done = sum(one["state"] == "completed" for one in agents)
    run = {
        "run_id": "r",
        "session_id": "s",
        "kind": "agents",
        "verdict": "complete" if done == len(agents) else "degraded",
        "agents": list(agents),
    }
    census = {"launched": len(agents), "completed": done}
    manifest = {"runs": [run] if agents else [], "verdict": run["verdict"], "census": census}
    return Ended(code, AT, manifest, main, **more)


DEAD = agent(1, "dropped", "throttle")


def asked(what: Ended, spent: Spent | None = None, now: float = AT, **budget: Any) -> Any:
    return decide(what, spent or Spent(), Budget(**budget), now)


def test_a_session_whose_agents_all_delivered_is_complete() -> None:
    assert asked(ended(agent(1), agent(2))) == Done("complete", 0)
    assert asked(ended()) == Done("complete", 0)


@pytest.mark.parametrize("cause", ["throttle", "overload", "edge"])
def test_what_a_limit_dropped_is_brought_back_after_a_pause(cause: str) -> None:
    what = ended(agent(1, "dropped", cause), agent(2))
    wait = asked(what)
    assert isinstance(wait, Wait)
    assert not wait.reset
    assert asked(what, now=wait.until) == Resume(1, 1)


def test_a_quota_is_waited_for_until_its_reset_and_a_slot_of_its_own() -> None:
    """[I8]"""
    what = ended(
        agent(1, "dropped", "quota", resets_at=AT + 60), agent(2, "dropped", "quota", resets_at=0.0)
    )
    wait = asked(what, slot=2.5)
    assert wait == Wait(AT + 60 + 1.0 + 2.5, "the reset", reset=True)
    assert isinstance(asked(what, now=wait.until - 0.1, slot=2.5), Wait)
    assert asked(what, now=wait.until, slot=2.5) == Resume(2, 2)


def test_the_latest_reset_counts_and_the_main_threads_too() -> None:
    main = Refusal("quota", resets_at=AT + 90)
    what = ended(agent(1, "dropped", "quota", resets_at=AT + 60), code=1, main=main)
    assert asked(what).until == AT + 91


def test_a_reset_beyond_what_may_be_waited_ends_it() -> None:
    what = ended(agent(1, "dropped", "quota", resets_at=AT + 601))
    assert isinstance(asked(what, max_wait=700), Wait)
    told = asked(what, max_wait=600)
    assert (told.verdict, told.exit_code) == ("degraded", 3)
    assert "--max-wait" in told.why
    assert isinstance(asked(what, Spent(waited=200.0), max_wait=700), Done)


def test_a_main_thread_that_died_of_a_limit_is_resumed_though_nothing_was_launched() -> None:
    what = ended(code=1, main=Refusal("throttle"))
    wait = asked(what)
    assert isinstance(wait, Wait)
    assert asked(what, now=wait.until) == Resume(0, 0)


@pytest.mark.parametrize("cause", ["auth", "spend", "entitlement", "invalid"])
def test_what_no_wait_can_mend_is_never_tried_again(cause: str) -> None:
    """[§6 auth] [§6 spend] [§6 entitlement] [§6 invalid]"""
    told = asked(ended(agent(1, "dropped", cause), agent(2)))
    assert (told.verdict, told.exit_code) == ("degraded", 3)
    told = asked(ended(code=1, main=Refusal(cause)))
    assert (told.verdict, told.exit_code) == ("failed", 1)


def test_a_client_that_failed_for_its_own_reasons_gives_its_own_exit_code() -> None:
    assert asked(ended(DEAD, code=7)).exit_code == 7
    assert asked(ended(agent(1), code=7)).exit_code == 7
    assert asked(ended(code=-9)).exit_code == 137
    assert asked(ended(code=2, known=False)) == Done(
        "failed", 2, "the client failed before it left a trace of its session"
    )


def test_a_success_without_any_trace_is_not_called_complete() -> None:
    """[P5]"""
    told = asked(ended(known=False))
    assert (told.verdict, told.exit_code) == ("unknown", 3)


def test_resumes_are_bounded_and_a_session_that_is_not_kept_is_not_resumed() -> None:
    assert isinstance(asked(ended(DEAD), Spent(resumes=2), attempts=3), Wait)
    assert asked(ended(DEAD), Spent(resumes=3), attempts=3).exit_code == 3
    assert asked(ended(DEAD), resumable=False).exit_code == 3
    assert asked(ended(DEAD), attempts=0).exit_code == 3


def test_what_a_person_stopped_stays_stopped() -> None:
    assert asked(ended(agent(1, "stopped"))).exit_code == 3


def test_resumes_without_effect_wait_longer_and_wake_fewer() -> None:
    dead = [agent(number, "dropped", "throttle") for number in range(8)]
    what = ended(*dead)
    spent = Spent()
    pauses, most = [], []
    for _ in range(5):
        wait = asked(what, spent)
        pauses.append(wait.until - AT)
        most.append(asked(what, spent, now=wait.until).most)
        spent = spent.resumed(what).after(what)
    assert pauses == [10, 20, 40, 80, 160]
    assert most == [8, 4, 2, 1, 1]
    assert asked(what, spent, now=AT + 9999, paced=True).most == 8
    better = ended(*dead[1:], agent(0))
    assert spent.resumed(what).after(better).fruitless == 0


def test_a_gone_process_needs_no_pause() -> None:
    lost = agent(1, "dropped", "client", retryable=True)
    assert asked(ended(lost)) == Resume(1, 1)


def test_who_was_not_refused_again_is_asked_for_again_without_a_pause() -> None:
    before = [{"t": AT - 100, "cause": "quota"}]
    now = [{"t": AT - 1, "cause": "throttle"}]
    silent = agent(1, "dropped", "quota", deaths=before)
    assert isinstance(asked(ended(silent), Spent(resumes=1)), Wait)
    assert asked(ended(silent, since=AT - 50), Spent(resumes=1)) == Resume(1, 1)
    again = agent(2, "dropped", "throttle", deaths=now)
    assert asked(ended(silent, again, since=AT - 50), Spent(resumes=1)).until == AT + 10


@given(
    st.lists(st.sampled_from(["throttle", "overload", "quota", "auth", None]), max_size=5),
    st.one_of(st.none(), st.floats(-1e6, 1e6)),
    st.sampled_from([None, "throttle", "auth"]),
    st.integers(-15, 3),
    st.integers(0, 12),
    st.floats(0, 1e6),
)
def test_it_always_comes_to_an_end_and_0_means_complete(
    causes: list[str | None],
    reset: float | None,
    main: str | None,
    code: int,
    resumes: int,
    later: float,
) -> None:
    """[P5]"""
    agents = [
        agent(i, "dropped" if cause else "completed", cause, resets_at=reset)
        for i, cause in enumerate(causes)
    ]
    what = ended(*agents, code=code, main=Refusal(main) if main else None)
    budget = Budget(attempts=10, max_wait=600.0)
    step = decide(what, Spent(resumes=resumes), budget, AT + later)
    if isinstance(step, Done):
        assert (step.exit_code == 0) == (not any(causes) and main is None and code == 0)
    if isinstance(step, Wait):
        assert AT + later < step.until <= AT + later + budget.max_wait
        after = decide(what, Spent(resumes=resumes), budget, step.until)
        assert isinstance(after, Resume)
    if isinstance(step, Resume):
        assert resumes < 10
        assert isinstance(decide(what, Spent(resumes=10), replace(budget), AT + later), Done)
