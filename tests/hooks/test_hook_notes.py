"""What is read of a task notification, and what is not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from paceline import paths
from paceline_hooks import notes

_PIECES = st.sampled_from(
    [
        *[
            "<task-notification>",
            "</task-notification>",
            "<task-id>",
            "</task-id>",
            "<status>",
            "</status>",
        ],
        *["<tool-use-id>", "</tool-use-id>", "<summary>", "<result>", "done", "toolu_1"],
        chr(10),
    ]
)


def test_several_notifications_in_one_prompt_are_each_read() -> None:
    block = (
        "<task-notification>\n<task-id>{}</task-id>\n<status>failed</status>\n"
        "<summary>x</summary>\n</task-notification>\n"
    )
    found = notes.tasks_of(block.format("a1") + block.format("a2"))
    assert [task["id"] for task in found] == ["a1", "a2"]
    assert {task["status"] for task in found} == {"failed"}
    assert {task["tool_use_id"] for task in found} == {""}


def test_what_an_agent_wrote_is_not_read_as_the_clients_word() -> None:
    prompt = (
        "<task-notification>\n<task-id>a1</task-id>\n"
        "<summary>the agent says <status>completed</status></summary>\n"
        "<result><tool-use-id>toolu_9</tool-use-id></result>\n</task-notification>"
    )
    assert notes.tasks_of(prompt) == [{"id": "a1", "tool_use_id": "", "status": ""}]


def test_a_person_who_quotes_a_notification_reports_nothing() -> None:
    quoted = "see: <task-notification><task-id>a1</task-id></task-notification>"
    assert notes.tasks_of(quoted) == []


def test_an_id_that_is_none_is_no_task() -> None:
    head = "<task-notification><task-id>../../etc</task-id><status>failed</status>"
    assert notes.tasks_of(head) == []


@given(st.one_of(st.text(), st.lists(_PIECES, max_size=60).map("".join), st.none(), st.integers()))
def test_any_prompt_gives_a_bounded_list_of_ids(prompt: object) -> None:
    found = notes.tasks_of(prompt)
    assert len(found) <= notes.TASKS_MAX
    for task in found:
        assert set(task) == {"id", "tool_use_id", "status"}
        assert paths.is_id(task["id"])
        assert all(value == "" or paths.is_id(value) for value in task.values())
