from __future__ import annotations

import http.client
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anthropic
import pytest

from paceline_bench.simapi import Config, Fault, read_log, running
from paceline_bench.simapi.refusals import KINDS
from paceline_bench.simapi.script import agent_prompt

if TYPE_CHECKING:
    from pathlib import Path

FAST = Config(ttfb_s=0.0, s_per_token=0.0)
READ = {"name": "Read", "description": "Read a file.", "input_schema": {"type": "object"}}
SYSTEM = [
    {"type": "text", "text": "You are a test. " * 400, "cache_control": {"type": "ephemeral"}}
]


def sdk(url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, api_key="made-up", max_retries=0, timeout=20)


def ask(words: str, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": words}]
    return {"model": "claude-opus-5-5", "max_tokens": 100, "messages": messages, **more}


def call(url: str, method: str, path: str, body: str | None = None) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    connection.request(method, path, body)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


def test_a_whole_answer_is_what_the_sdk_understands() -> None:
    with running(FAST) as server, sdk(server.url) as client:
        prompt = agent_prompt({"label": "one", "steps": [["/a"]]})
        answer = client.messages.create(**ask(prompt, tools=[READ]))
    assert answer.stop_reason == "tool_use"
    assert [(b.name, b.input) for b in answer.content if b.type == "tool_use"] == [
        ("Read", {"file_path": "/a"})
    ]
    (record,) = server.records()
    assert (record.role, record.label, record.outcome) == ("agent", "one", "ok")
    assert record.cost == answer.usage.input_tokens == record.input
    assert record.output == answer.usage.output_tokens


def test_a_stream_carries_the_same_answer_and_its_usage() -> None:
    with running(FAST) as server, sdk(server.url) as client:
        whole = client.messages.create(**ask("hello", system=SYSTEM))
        with client.messages.stream(**ask("hello", system=SYSTEM)) as stream:
            streamed = stream.get_final_message()
    assert [b.text for b in streamed.content if b.type == "text"] == [
        b.text for b in whole.content if b.type == "text"
    ]
    assert streamed.usage.cache_read_input_tokens == whole.usage.cache_creation_input_tokens > 0


def test_a_follower_reads_the_prefix_as_soon_as_the_leader_has_its_first_byte() -> None:
    with (
        running(FAST) as server,
        sdk(server.url) as client,
        client.messages.stream(**ask("leader", system=SYSTEM)) as stream,
    ):
        next(iter(stream))
        follower = client.messages.create(**ask("follower", system=SYSTEM))
        leader = stream.get_final_message()
    assert leader.usage.cache_read_input_tokens == 0
    assert follower.usage.cache_read_input_tokens == leader.usage.cache_creation_input_tokens


def test_siblings_that_start_at_once_all_pay_for_the_prefix() -> None:
    with (
        running(Config(ttfb_s=2.0, s_per_token=0.0)) as server,
        sdk(server.url) as client,
        ThreadPoolExecutor(3) as pool,
    ):
        ready = Barrier(3)

        def send(word: str) -> int | None:
            ready.wait(60)
            answer: anthropic.types.Message = client.messages.create(**ask(word, system=SYSTEM))
            return answer.usage.cache_read_input_tokens

        assert set(pool.map(send, ["one", "two", "three"])) == {0}


def test_a_throttle_is_a_rate_limit_error_with_headers_and_the_next_is_counted_as_attempt() -> None:
    with running(Config(itpm=60_000, level=0.0)) as server, sdk(server.url) as client:
        for _ in range(2):
            with pytest.raises(anthropic.RateLimitError) as caught:
                client.messages.create(**ask("word " * 50_000))
    response = caught.value.response
    assert int(response.headers["retry-after"]) > 0
    assert response.headers["anthropic-ratelimit-input-tokens-limit"] == "60000"
    assert "60,000 input tokens per minute" in str(caught.value)
    assert [record.attempt for record in server.records()] == [0, 1]
    assert {record.cost for record in server.records()} == {0}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_refusal_has_its_status_and_body_on_the_wire(kind: str) -> None:
    with (
        running(Config(faults=(Fault(kind),))) as server,
        sdk(server.url) as client,
        pytest.raises(anthropic.APIStatusError) as caught,
    ):
        client.messages.create(**ask("hello"))
    assert caught.value.status_code == KINDS[kind].status
    text = caught.value.response.text
    if KINDS[kind].type:
        assert json.loads(text)["error"]["type"] == KINDS[kind].type
        assert json.loads(text)["request_id"] == caught.value.response.headers["request-id"]
    else:
        assert text.startswith("<!DOCTYPE html>")


def test_sixty_streams_run_at_once() -> None:
    config = Config(ttfb_s=0.0, s_per_token=600.0, itpm=10_000_000)
    all_open = Barrier(60)
    with (
        running(config) as server,
        sdk(server.url) as client,
        ThreadPoolExecutor(60) as pool,
    ):

        def stream(number: int) -> str:
            with client.messages.stream(**ask(f"number {number}")) as found:
                first = next(iter(found))
                all_open.wait(60)
                return first.type

        assert set(pool.map(stream, range(60))) == {"message_start"}
    assert [record.outcome for record in server.records()] == ["aborted"] * 60


def test_a_client_that_goes_away_leaves_an_aborted_record() -> None:
    config = Config(ttfb_s=0.0, s_per_token=0.05, output_tokens=2_000)
    with running(config) as server, sdk(server.url) as client:
        prompt = agent_prompt({"label": "one", "steps": []})
        with client.messages.stream(**ask(prompt)) as stream:
            next(iter(stream))
    (record,) = server.records()
    assert (record.outcome, record.delivered, record.cost > 0) == ("aborted", None, True)


def test_a_reply_can_break_off_and_the_whole_answer_be_refused() -> None:
    """What the API charged for the reply that broke off stays charged."""
    fault = Fault(kind="overload_midway", times=2)
    with running(replace(FAST, faults=(fault,))) as server, sdk(server.url) as client:
        prompt = agent_prompt({"label": "one", "steps": []})
        words: list[str] = []
        with (
            pytest.raises(anthropic.APIStatusError, match="Overloaded"),
            client.messages.stream(**ask(prompt)) as stream,
        ):
            words += stream.text_stream
        with pytest.raises(anthropic.APIStatusError) as caught:
            client.messages.create(**ask(prompt))
        assert client.messages.create(**ask(prompt)).stop_reason == "end_turn"
    assert len(words) == 1
    assert caught.value.status_code == KINDS["overload_midway"].status
    outcomes = [(record.outcome, record.kind, record.cost > 0) for record in server.records()]
    kind = "overload_midway"
    assert outcomes == [("broken", kind, True), ("refused", kind, False), ("ok", None, True)]


def test_the_small_endpoints_answer() -> None:
    with running(FAST) as server, sdk(server.url) as client:
        assert call(server.url, "HEAD", "/api/hello").status == 200
        assert "claude-opus-5-5" in {model.id for model in client.models.list()}
        counted = client.messages.count_tokens(
            model="claude-opus-5-5", messages=[{"role": "user", "content": "x" * 400}]
        )
    assert counted.input_tokens == 100
    assert server.records() == []


@pytest.mark.parametrize("body", ["", "{", "[]", "{}", '{"messages": 3}', '{"messages": []}'])
def test_a_body_that_is_no_request_is_a_400(body: str) -> None:
    with running(FAST) as server:
        assert call(server.url, "POST", "/v1/messages", body).status == 400


def test_the_log_file_holds_one_json_line_a_request(tmp_path: Path) -> None:
    log = tmp_path / "api.jsonl"
    with running(FAST, log=log) as server, sdk(server.url) as client:
        client.messages.create(**ask("hello"))
        client.messages.create(**ask("hello again"))
    assert read_log(log) == server.records()
    assert [record.number for record in read_log(log)] == [0, 1]


def test_from_a_shell_it_prints_its_address_and_serves() -> None:
    command = [
        sys.executable,
        "-m",
        "paceline_bench.simapi",
        "--itpm",
        "50000",
        "--quota",
        "0",
        "9",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        try:
            assert process.stdout
            told = json.loads(process.stdout.readline())
            assert told["config"]["itpm"] == 50_000
            assert told["config"]["faults"][0]["kind"] == "quota"
            assert call(told["url"], "HEAD", "/api/hello").status == 200
        finally:
            process.terminate()
            process.wait(20)


def test_from_a_shell_a_configuration_that_cannot_be_is_a_usage_error() -> None:
    command = [sys.executable, "-m", "paceline_bench.simapi", "--itpm", "0"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=30)
    assert done.returncode == 2
    assert "itpm must be more than 0" in done.stderr
