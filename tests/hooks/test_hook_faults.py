"""What goes wrong in a hook is told once, in words of our own, and hurts nobody."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hook_session import SESSION
from paceline import jsonl
from paceline_hooks import dispatch, faults

if TYPE_CHECKING:
    from hook_session import Hooks

DEEP = b'{"a":' + b"[" * 100_000


@pytest.mark.parametrize(
    "data",
    [b"", b"  \n", b"{", b"[]", b"7", b'"x"', b"\xff\xfe\x00", b'{"a":NaN}', DEEP, b"{}" * 3],
    ids=["empty", "blank", "cut", "list", "number", "text", "bytes", "nan", "deep", "many"],
)
def test_what_is_no_event_is_one_fault_however_often_it_comes(hooks: Hooks, data: bytes) -> None:
    """[CASE 19]"""
    hooks.env["CLAUDE_CODE_SESSION_ID"] = SESSION
    for _ in range(3):
        hooks.now += 1
        assert hooks.send_bytes(data) is None
    assert hooks.only("fault")["where"] == "hook.stdin"


def test_a_byte_order_mark_and_broken_utf8_do_not_hide_an_event(hooks: Hooks) -> None:
    """[CASE 19]"""
    event = {"session_id": SESSION, "hook_event_name": "Stop"}
    hooks.send_bytes(b"\xef\xbb\xbf" + json.dumps(event).encode())
    hooks.send_bytes(json.dumps({**event, "x": "@"}).encode().replace(b"@", b"\xc3\x28\xff"))
    assert len(hooks.lines("stop")) == 2
    assert hooks.lines("fault") == []


def test_an_unknown_event_is_told_once(hooks: Hooks) -> None:
    """[CASE 19]"""
    for name in ("Invented", "AlsoInvented", "dispatch", "../stop", None):
        assert hooks.send(name) is None  # type: ignore[arg-type]
    assert hooks.only("fault")["what"] == "unknown event"


def test_a_stop_with_a_null_transcript_is_an_event_like_another(hooks: Hooks) -> None:
    """[CASE 19]"""
    hooks.send("SubagentStop", agent_transcript_path=None)
    assert hooks.only("agent.stop")["transcript"] == ""
    assert hooks.lines("fault") == []


def test_a_fault_names_our_line_and_not_what_was_handled(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(dispatch.EVENTS, "Stop", "no_such_module")
    assert hooks.send("Stop", secret="tool output") is None
    (line,) = hooks.lines()
    assert (line["e"], line["where"]) == ("fault", "hook.Stop")
    assert line["what"].startswith("ModuleNotFoundError")
    assert "tool output" not in json.dumps(line)


def test_without_a_session_a_fault_stands_beside_the_sessions(hooks: Hooks) -> None:
    for _ in range(2):
        hooks.send_bytes(b"{")
    lines, _ = jsonl.read(str(hooks.state / "faults.jsonl"))
    assert [(line["e"], line["where"]) for line in lines] == [("fault", "hook.stdin")]


def test_where_nothing_can_be_written_the_event_passes_and_stderr_says_what_to_type(
    hooks: Hooks, capfd: pytest.CaptureFixture[str]
) -> None:
    """The state directory is a file: the portable stand-in for a full or read-only disk."""
    hooks.state.write_text("not a folder", encoding="utf-8")
    assert hooks.send("SubagentStart", agent_id="a1") is None
    told = capfd.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert told.err.endswith("Type: paceline doctor\n")
    assert hooks.state.read_text(encoding="utf-8") == "not a folder"


def test_a_second_fault_of_another_kind_is_told_too(hooks: Hooks) -> None:
    event = {"session_id": SESSION}
    for where, what in [("a", "x"), ("b", "x"), ("a", "y"), ("a", "x")]:
        faults.tell(event, hooks.env, hooks.now, where, what)
    assert len(hooks.lines("fault")) == 3


def test_a_batch_of_thousands_still_fits_one_line(hooks: Hooks) -> None:
    calls = [{"tool_name": "Read", "tool_use_id": f"t{n:04}" + "x" * 120} for n in range(5000)]
    hooks.send("PostToolBatch", tool_calls=calls)
    assert hooks.only("batch")["ids"][0].startswith("t0000")
    assert hooks.lines("fault") == []
