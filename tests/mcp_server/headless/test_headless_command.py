"""The person's command line: read as the client reads it, kept as it is, resumed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.errors import UsageError
from paceline_mcp.headless import flags
from paceline_mcp.headless.command import read

SESSION = "0d2a6993-cfda-4576-8c3a-ab25fccd25d5"


def resumed(*words: str) -> list[str]:
    return read(words).resumed(SESSION, "Go on.")


@pytest.mark.parametrize(
    ("words", "prompt"),
    [
        (["claude", "-p", "do it"], "do it"),
        (["claude", "do it", "-p"], "do it"),
        (["claude", "--print", "--model", "opus", "do it"], "do it"),
        (["claude", "-p", "--model=opus", "do it"], "do it"),
        (["claude", "-p", "--verbose", "do it"], "do it"),
        (["claude", "-p", "do it", "--allowedTools", "Read", "Edit"], "do it"),
        (["claude", "-p", "--allowedTools", "Read", "Edit"], None),
        (["claude", "-p", "--allowedTools", "Read", "--", "do it"], "do it"),
        (["claude", "-p", "--", "-x"], "-x"),
        (["claude", "-p"], None),
        (["claude", "-p", "--system-prompt", "-be brief", "do it"], "do it"),
        (["claude", "-p", "-r", SESSION, "do it"], "do it"),
        (["claude", "-pr", SESSION, "do it"], "do it"),
        (["claude", "-pc", "do it"], "do it"),
        (["claude", "-p", "-nname", "do it"], "do it"),
        (["claude", "-p", "--new-in-3", "value", "do it"], "do it"),
        (["claude", "-p", "--new-in-3", "do it"], "do it"),
        (["claude", "-p", "do it", "--new-in-3", "value"], "do it"),
        (["claude", "-p", "-"], "-"),
    ],
)
def test_the_prompt_is_found_where_the_client_finds_it(words: list[str], prompt: str) -> None:
    command = read(words)
    assert command.prompt == prompt
    assert [word for word in command.words() if word != "--"][-1] in words[-1]


@pytest.mark.parametrize(
    ("words", "head"),
    [
        (["claude", "-p"], 1),
        (["/opt/x y/claude", "-p"], 1),
        (["C:\\Users\\a b\\claude.CMD", "-p"], 1),
        (["npx", "@anthropic-ai/claude-code", "-p"], 2),
        (["npx", "-y", "@anthropic-ai/claude-code@2.1.240", "-p"], 3),
        (["env", "A=1", "timeout", "60", "claude", "-p"], 5),
        (["python", "stand_in.py", "-p"], 2),
        (["./ci-claude-wrapper", "-p"], 1),
    ],
)
def test_words_before_the_client_are_left_alone(words: list[str], head: int) -> None:
    command = read(words)
    assert command.head == tuple(words[:head])
    assert command.words(["--x"]) == [*words[:head], "--x", *words[head:]]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "no command"),
        (["claude"], "add -p"),
        (["claude", "do it"], "add -p"),
        (["claude", "--model", "-p", "do it"], "add -p"),
        (["claude", "-p", "--bg"], "watched"),
    ],
)
def test_what_is_no_headless_command_is_refused_with_the_next_thing_to_type(
    words: list[str], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        read(words)


def test_a_resume_keeps_the_persons_flags_and_replaces_the_prompt() -> None:
    line = resumed(
        "claude", "--model", "opus", "-p", "--output-format", "stream-json", "--verbose", "do it"
    )
    assert line == [
        *("claude", "--resume", SESSION, "--model", "opus", "-p", "Go on."),
        *("--output-format", "stream-json", "--verbose"),
    ]


def test_no_list_of_a_flag_can_swallow_the_new_prompt() -> None:
    line = resumed("claude", "-p", "--allowedTools", "Read", "--session-id", SESSION, "do it")
    assert line == ["claude", "--resume", SESSION, "-p", "Go on.", "--allowedTools", "Read"]


def test_a_prompt_that_came_on_stdin_goes_there_again() -> None:
    assert resumed("claude", "-p", "--verbose") == [
        "claude",
        "--resume",
        SESSION,
        "-p",
        "--verbose",
    ]


@pytest.mark.parametrize(
    "chosen",
    [
        ["--session-id", SESSION],
        ["--resume", SESSION],
        [f"--resume={SESSION}"],
        ["-r", SESSION],
        ["-c"],
        ["--continue", "--fork-session"],
        ["--input-format", "stream-json", "--replay-user-messages"],
        ["--from-pr", "12"],
    ],
)
def test_flags_that_choose_a_session_go_when_it_is_resumed(chosen: list[str]) -> None:
    expected = ["claude", "--resume", SESSION, "-p", "Go on.", "--model", "m"]
    assert resumed("claude", "-p", *chosen, "--model", "m", "do it") == expected


@pytest.mark.parametrize(
    ("words", "session", "chooses"),
    [
        ([], "", False),
        (["--session-id", SESSION], SESSION, True),
        (["--resume", SESSION], SESSION, True),
        (["--resume", "a name"], "", True),
        (["-c"], "", True),
        (["-c", "--fork-session"], "", False),
        (["--resume", SESSION, "--fork-session"], "", False),
    ],
)
def test_the_session_is_known_from_the_words_or_may_be_given(
    words: list[str], session: str, *, chooses: bool
) -> None:
    command = read(["claude", "-p", *words])
    assert (command.session, command.chooses_session) == (session, chooses)


def test_a_prompt_that_goes_to_stdin_leaves_no_word_behind() -> None:
    """cmd.exe, which npm's claude.cmd goes through on Windows, cuts a word at its first line."""
    line = read(["claude", "-p", "--model", "m", "do it"]).resumed(SESSION, None)
    assert line == ["claude", "--resume", SESSION, "-p", "--model", "m"]


WORDS = st.one_of(
    st.sampled_from(sorted(flags.REQUIRED | flags.OPTIONAL | flags.LISTS | flags.NONE)),
    st.text(max_size=12),
)


@given(st.lists(WORDS, max_size=12))
def test_nothing_a_person_typed_is_lost_or_moved(words: list[str]) -> None:
    try:
        command = read(["claude", "-p", *words])
    except UsageError:
        return
    told = command.words()
    if any(len(one) > 2 and one[0] == "-" and one[1] != "-" for one in words):
        told, words = ["".join(told).replace("-", "")], ["".join(["-p", *words]).replace("-", "")]
        assert told == ["claude" + words[0]]
    else:
        assert told == ["claude", "-p", *words]
    line = command.resumed(SESSION, "Go on.")
    assert line.count("--resume") >= 1
    assert "Go on." in line or command.prompt is None
