from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from paceline_bench.simapi.cache import PromptCache, Usage
from paceline_bench.simapi.counting import Prompt, read_prompt, text_tokens

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
SYSTEM = "You are a test. " * 400
TASK = "Read the file. " * 300


def text(words: str, mark: dict[str, str] | None = None) -> dict[str, Any]:
    return {"type": "text", "text": words, **({"cache_control": mark} if mark else {})}


def request(*turns: str, mark: dict[str, str] | None = None, model: str = "m") -> Prompt:
    """A request as the client sends it: breakpoints after the system text and the last block."""
    mark = mark or MARK
    messages = [
        {
            "role": ("user", "assistant")[number % 2],
            "content": turn if number < len(turns) - 1 else [text(turn, mark)],
        }
        for number, turn in enumerate(turns)
    ]
    return read_prompt({"model": model, "system": [text(SYSTEM, mark)], "messages": messages})


def test_a_cold_request_writes_all_it_marks_and_reads_nothing() -> None:
    prompt = request(TASK)
    usage = PromptCache().usage(prompt, 0.0)
    assert usage == Usage(input=0, creation=prompt.total, read=0)
    assert prompt.total == text_tokens(SYSTEM) + text_tokens(TASK)


def test_a_prefix_is_readable_only_once_the_first_response_has_begun() -> None:
    cache = PromptCache()
    leader, sibling = request(TASK), request("Another task. " * 300)
    assert cache.usage(sibling, 1.0).read == 0
    cache.begin(leader, 1.0)
    usage = cache.usage(sibling, 1.0)
    assert usage.read == text_tokens(SYSTEM)
    assert usage.uncached == text_tokens("Another task. " * 300)


def test_the_next_turn_reads_everything_before_it() -> None:
    cache = PromptCache()
    cache.begin(request(TASK), 0.0)
    longer = request(TASK, "I read it.", "Here is more. " * 100)
    usage = cache.usage(longer, 10.0)
    assert usage.read == request(TASK).total
    assert usage.creation == longer.total - usage.read


def test_an_entry_dies_five_minutes_after_its_last_use() -> None:
    cache = PromptCache()
    prompt = request(TASK)
    cache.begin(prompt, 0.0)
    assert cache.usage(prompt, 299.0).read == prompt.total
    cache.begin(prompt, 299.0)
    assert cache.usage(prompt, 598.0).read == prompt.total
    assert cache.usage(prompt, 599.0).read == 0


def test_reading_a_shorter_prefix_keeps_that_one_alive() -> None:
    cache = PromptCache()
    leader, sibling = request(TASK), request("Another task. " * 300)
    cache.begin(leader, 0.0)
    cache.begin(sibling, 200.0)
    assert cache.usage(leader, 400.0).read == text_tokens(SYSTEM)
    assert cache.usage(sibling, 499.0).read == sibling.total


def test_an_entry_written_for_an_hour_lives_an_hour() -> None:
    cache = PromptCache()
    cache.begin(request(TASK, mark=HOUR), 0.0)
    assert cache.usage(request(TASK), 3_599.0).read > 0
    assert cache.usage(request(TASK), 3_601.0).read == 0


def test_another_model_has_another_cache() -> None:
    cache = PromptCache()
    cache.begin(request(TASK), 0.0)
    assert cache.usage(request(TASK, model="other"), 1.0).read == 0


def test_a_prefix_that_is_too_short_is_not_cached() -> None:
    cache = PromptCache(min_tokens=100_000)
    cache.begin(request(TASK), 0.0)
    usage = cache.usage(request(TASK), 1.0)
    assert (usage.read, usage.creation) == (0, 0)
    assert usage.input == request(TASK).total


def test_an_entry_more_than_twenty_blocks_back_is_not_found() -> None:
    def growing(blocks: int) -> Prompt:
        content = [text(f"block {number} " * 600) for number in range(blocks)]
        content[-1]["cache_control"] = MARK
        return read_prompt({"model": "m", "messages": [{"role": "user", "content": content}]})

    cache = PromptCache()
    cache.begin(growing(5), 0.0)
    assert cache.usage(growing(25), 1.0).read == growing(5).total
    assert cache.usage(growing(26), 1.0).read == 0


def test_the_client_marks_move_without_changing_the_content() -> None:
    marked = {"role": "user", "content": [text("same words", MARK)]}
    plain = {"role": "user", "content": "same words"}
    one = read_prompt({"model": "m", "messages": [marked]})
    two = read_prompt({"model": "m", "messages": [plain]})
    assert one.marks[-1].key == two.marks[-1].key


def test_a_denser_count_gives_the_same_text_more_tokens() -> None:
    body = {"model": "m", "system": [text(SYSTEM)]}
    assert read_prompt(body, 2.5).total == 1.6 * read_prompt(body).total


def test_a_deferred_tool_costs_nothing_until_a_reference_brings_it_in() -> None:
    plain = {"name": "Read", "description": "Read. " * 700}
    deferred = {"name": "Send", "description": "Send. " * 100, "defer_loading": True}
    found = {"type": "tool_result", "content": [{"type": "tool_reference", "tool_name": "Send"}]}
    first = {"model": "m", "tools": [plain], "messages": [{"role": "user", "content": "hello"}]}
    second = {"model": "m", "tools": [plain, deferred], "messages": first["messages"]}
    third = {
        **second,
        "messages": [*second["messages"], {"role": "user", "content": [found]}],
    }
    one, two, three = read_prompt(first), read_prompt(second), read_prompt(third)
    assert one.marks == two.marks == three.marks[:2]
    assert three.total > two.total + 100


def test_the_billing_line_of_the_client_is_no_content() -> None:
    body = {"model": "m", "system": [text("x-anthropic-billing-header: cc_version=1;")]}
    assert read_prompt(body).total == 0


@given(
    st.lists(
        st.tuples(
            st.floats(0, 400), st.lists(st.sampled_from([TASK, SYSTEM, "short"]), min_size=1)
        ),
        max_size=12,
    )
)
def test_read_written_and_plain_tokens_add_up_to_the_prompt(
    steps: list[tuple[float, list[str]]],
) -> None:
    cache, now = PromptCache(), 0.0
    for gap, turns in steps:
        now += gap
        prompt = request(*turns)
        usage = cache.usage(prompt, now)
        assert usage.input + usage.creation + usage.read == prompt.total
        assert min(usage.input, usage.creation, usage.read) >= 0
        cache.begin(prompt, now)
        assert cache.usage(prompt, now).uncached == (
            0 if prompt.total >= cache.min_tokens else prompt.total
        )
