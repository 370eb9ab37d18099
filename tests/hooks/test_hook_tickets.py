"""A relaunch that carries its ticket is known from the event log alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paceline.manifest import build_manifest
from paceline.recovery import requeue
from paceline.transcripts.prompts import sha

if TYPE_CHECKING:
    from pathlib import Path

    from hook_session import Hooks

REFUSED = {
    "error": "rate_limit",
    "last_assistant_message": "API Error: Server is temporarily limiting requests "
    "(not your usage limit) · Rate limited",
}


def launch(hooks: Hooks, call: str, agent: str, prompt: str) -> None:
    given = {"description": "one", "subagent_type": "general-purpose", "prompt": prompt}
    hooks.send("PreToolUse", tool_name="Agent", tool_use_id=call, tool_input=given)
    hooks.now += 0.1
    hooks.send("SubagentStart", agent_id=agent, agent_type="general-purpose")
    response = {"status": "async_launched", "agentId": agent}
    hooks.send("PostToolUse", tool_name="Agent", tool_use_id=call, tool_response=response)


def agents(hooks: Hooks) -> list[tuple[str, str, str | None]]:
    told = build_manifest("nowhere", str(hooks.state), now=hooks.now)
    found: list[dict[str, Any]] = [agent for run in told["runs"] for agent in run["agents"]]
    return [(agent["agent_id"], agent["state"], agent["requeued_as"]) for agent in found]


def test_a_relaunch_with_a_ticket_and_other_words_closes_its_drop(hooks: Hooks) -> None:
    """[P6]"""
    launch(hooks, "toolu_1", "a1", "Read a.py.")
    hooks.now += 1
    hooks.send("StopFailure", agent_id="a1", agent_type="general-purpose", **REFUSED)
    assert agents(hooks) == [("a1", "dropped", None)]
    given = requeue("nowhere", str(hooks.state), now=hooks.now + 1)
    (ticket,) = given["tickets"]
    assert (ticket["how"], ticket["agent_id"]) == ("agent", "a1")
    hooks.now += 2
    launch(hooks, "toolu_2", "a2", f"Please read a.py\npaceline-ticket: {ticket['ticket']}")
    assert agents(hooks) == [("a1", "requeued", "a2"), ("a2", "running", None)]
    hooks.now += 1
    hooks.send(
        "SubagentStop", agent_id="a2", agent_type="general-purpose", last_assistant_message="Done."
    )
    assert agents(hooks) == [("a1", "completed", "a2"), ("a2", "completed", None)]


def test_the_fingerprint_of_a_prompt_is_that_without_its_ticket(hooks: Hooks) -> None:
    launch(hooks, "toolu_1", "a1", "Read a.py.\npaceline-ticket: tk_0123456789ab")
    line = hooks.only("tool.before")
    assert (line["ticket"], line["prompt_sha"]) == ("tk_0123456789ab", sha("Read a.py."))
    launch(hooks, "toolu_2", "a2", "Read b.py.")
    assert "ticket" not in hooks.lines("tool.before")[1]


def test_a_workflow_of_a_completion_script_is_known_by_its_name(
    hooks: Hooks, tmp_path: Path
) -> None:
    for call, path in (
        ("toolu_1", str(tmp_path / "tk_0123456789ab.js")),
        ("toolu_2", "C:\\state\\requeue\\tk_0123456789ac.js"),
        ("toolu_3", "/w/tk_/other.js"),
    ):
        given = {"scriptPath": path}
        hooks.send("PreToolUse", tool_name="Workflow", tool_use_id=call, tool_input=given)
    found = [line.get("script") for line in hooks.lines("tool.before")]
    assert found == ["tk_0123456789ab", "tk_0123456789ac", None]


def test_the_log_is_what_the_page_about_it_says(hooks: Hooks) -> None:
    launch(hooks, "toolu_1", "a1", "Read a.py.")
    hooks.send("StopFailure", agent_id="a1", agent_type="general-purpose", **REFUSED)
    requeue("nowhere", str(hooks.state), now=hooks.now + 1)
    line = hooks.only("requeue")
    assert set(line) == {"t", "e", "agent", "ticket", "of", "how", "prompt_sha"}
    assert line["of"] == "a1"
