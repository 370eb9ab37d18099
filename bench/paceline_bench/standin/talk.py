"""One conversation of the stand-in: requests with the client's retries, tool calls, an end."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

    from paceline_bench.standin.transcript import Transcript

MODEL = "claude-opus-5-5"
RETRIES = 10
BACKOFF_S, BACKOFF_MAX_S, RETRY_AFTER_MAX_S = 0.5, 32.0, 60.0
RETRIED = frozenset({408, 409, 429}) | frozenset(range(500, 600))
SHARED = "You are a reading agent. Read every file you are given from first line to last. "
MARK = {"type": "ephemeral"}


class RefusedError(Exception):
    """The API refused a request and the retries are spent; the text is what the client shows."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"API Error: Request rejected ({status}) · {message}")
        self.status = status


@dataclass(slots=True)
class Talk:
    """A conversation.

    Attributes:
        url: the API.
        transcript: where its rows go; it knows the session and the agent.
        prompt: what it begins with.
        tools: names of the tools it may call.
        retries: how often a refused request is sent again.
        pause: waits so many seconds, or raises when the time is up.
        messages: the conversation so far.
    """

    url: str
    transcript: Transcript
    prompt: str
    tools: tuple[str, ...]
    retries: int
    pause: Callable[[float], None]
    messages: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin with the prompt."""
        self._add({"role": "user", "content": self.prompt})

    def ask(self) -> dict[str, Any]:
        """Send the conversation and return the answer, which is appended to it.

        Raises:
            RefusedError: refused, and no retry is left or would help.
        """
        attempt = 0
        while True:
            self.transcript.attempt()
            status, headers, answer = self._post()
            if status == 200:
                self.transcript.message(answer)
                self.messages.append({"role": "assistant", "content": answer["content"]})
                return answer
            wait = _delay(attempt, headers)
            if status not in RETRIED or attempt == self.retries or wait is None:
                error = answer.get("error") or {}
                refused = RefusedError(status, str(error.get("message", "no message")))
                self.transcript.refused(status, str(refused))
                raise refused
            self.pause(wait)
            attempt += 1

    def say(self, text: str) -> None:
        """Append a text of the user's side."""
        self._add({"role": "user", "content": text})

    def give(self, results: list[tuple[str, str]]) -> None:
        """Append the results of tool calls, ``(tool_use id, text)``."""
        content = [
            {"type": "tool_result", "tool_use_id": call, "content": text} for call, text in results
        ]
        self._add({"role": "user", "content": content})

    def _add(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        self.transcript.message(message)

    def _post(self) -> tuple[int, http.client.HTTPMessage, dict[str, Any]]:
        headers = {"content-type": "application/json"}
        headers["x-claude-code-session-id"] = self.transcript.session
        if self.transcript.agent:
            headers["x-claude-code-agent-id"] = self.transcript.agent
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=600)
        try:
            connection.request("POST", "/v1/messages", json.dumps(self._body()), headers)
            response = connection.getresponse()
            data = response.read()
        finally:
            connection.close()
        try:
            answer = json.loads(data)
        except ValueError:
            answer = {}
        return response.status, response.headers, answer

    def _body(self) -> dict[str, Any]:
        last = self.messages[-1]
        content = last["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        marked = [*blocks[:-1], {**blocks[-1], "cache_control": MARK}]
        return {
            "model": MODEL,
            "max_tokens": 8_000,
            "system": [{"type": "text", "text": SHARED * 200, "cache_control": MARK}],
            "tools": [{"name": name, "input_schema": {"type": "object"}} for name in self.tools],
            "messages": [*self.messages[:-1], {"role": last["role"], "content": marked}],
        }


def _delay(attempt: int, headers: http.client.HTTPMessage) -> float | None:
    """Return the seconds before the next attempt, None to give up (the client's rules)."""
    backoff = min(BACKOFF_S * 2.0**attempt, BACKOFF_MAX_S)
    told = headers.get("retry-after", "")
    if not told.isdigit():
        return backoff
    return max(float(told), backoff) if int(told) <= RETRY_AFTER_MAX_S else None
