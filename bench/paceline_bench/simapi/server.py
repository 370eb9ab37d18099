"""The HTTP shell of the simulated API: sockets, clock and log around the pure core.

Bound to 127.0.0.1. Endpoints: ``POST /v1/messages`` (streamed or whole), ``POST
/v1/messages/count_tokens``, ``GET /v1/models``, ``HEAD|GET /api/hello``.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from paceline_bench.simapi import headers, refusals, stream
from paceline_bench.simapi.account import Account, Refusal
from paceline_bench.simapi.cache import PromptCache, Usage
from paceline_bench.simapi.config import Config
from paceline_bench.simapi.counting import Prompt, read_prompt
from paceline_bench.simapi.obey import obey
from paceline_bench.simapi.records import Log, Record
from paceline_bench.simapi.script import RULES, Reply, Turn, answer, delivered, read_turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from pathlib import Path

    from starlette.requests import Request

DEFAULT_RULES: dict[str, Callable[[Turn], Reply]] = {**RULES, "obey": obey}
"""Every role the scripted model knows."""

MODELS = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5")


@dataclass(slots=True)
class _Asked:
    """One request on its way through."""

    number: int
    body: dict[str, Any]
    model: str
    prompt: Prompt
    turn: Turn
    usage: Usage
    t: float
    session: str | None
    agent: str | None
    attempt: int


@dataclass(slots=True)
class SimApi:
    """The core with a clock and a log: what the endpoints call."""

    config: Config
    log: Log
    rules: Mapping[str, Callable[[Turn], Reply]]
    account: Account = field(init=False)
    cache: PromptCache = field(init=False)
    _wall: float = field(default_factory=time.time)
    _mono: float = field(default_factory=time.monotonic)
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _refused: dict[tuple[str | None, str], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Start the organization's buckets now."""
        self.account = Account(self.config, self._wall)
        self.cache = PromptCache(self.config.min_cache_tokens)

    def now(self) -> float:
        """Return epoch seconds that never go back."""
        return self._wall + time.monotonic() - self._mono

    def app(self) -> Starlette:
        """Return the ASGI application."""
        return Starlette(
            routes=[
                Route("/v1/messages", self.messages, methods=["POST"]),
                Route("/v1/messages/count_tokens", self.count_tokens, methods=["POST"]),
                Route("/v1/models", self.models, methods=["GET"]),
                Route("/api/hello", self.hello, methods=["GET", "HEAD"]),
            ]
        )

    async def hello(self, request: Request) -> Response:
        """Answer the client's look whether anybody is there."""
        del request
        return Response(status_code=200)

    async def models(self, request: Request) -> Response:
        """List a few models."""
        del request
        data = [{"type": "model", "id": name, "display_name": name} for name in MODELS]
        return JSONResponse({"data": data, "has_more": False})

    async def count_tokens(self, request: Request) -> Response:
        """Count without charging: it has limits of its own."""
        body = await _json_body(request)
        if body is None:
            return self._bad_request()
        return JSONResponse({"input_tokens": read_prompt(body, self.config.bytes_per_token).total})

    async def messages(self, request: Request) -> Response:
        """Take or refuse a request, and answer it from its script."""
        body = await _json_body(request)
        if body is None or not isinstance(body.get("messages"), list) or not body["messages"]:
            return self._bad_request()
        asked = self._read(request, body)
        verdict = self.account.ask(
            asked.model,
            asked.usage,
            asked.t,
            agent=asked.agent is not None,
            label=asked.turn.label,
            step=asked.turn.step,
            stream=bool(body.get("stream")),
        )
        if isinstance(verdict, Refusal):
            return self._refuse(asked, verdict)
        reply = answer(asked.turn, self.rules)
        await asyncio.sleep(self.config.ttfb_s)
        self.cache.begin(asked.prompt, self.now())
        ttfb = self.now() - asked.t
        found = verdict.headers | headers.common(_request_id(asked.number))
        note = _Note(self, asked, reply, verdict.before, verdict.after, ttfb, kind=verdict.breaks)
        if body.get("stream"):
            return StreamingResponse(
                self._stream(note), media_type="text/event-stream", headers=found
            )
        await asyncio.sleep(reply.output_tokens * self.config.s_per_token)
        self.account.produced(asked.model, reply.output_tokens, self.now())
        note.write("ok")
        whole = stream.message(reply, asked.usage, model=asked.model, number=asked.number)
        return JSONResponse(whole, headers=found)

    async def _stream(self, note: _Note) -> AsyncIterator[bytes]:
        asked, outcome = note.asked, "aborted"
        parts = stream.events(note.reply, asked.usage, model=asked.model, number=asked.number)
        try:
            for at, (data, carried) in enumerate(parts):
                if note.kind is not None and at == stream.FIRST_WORDS:
                    outcome = "broken"
                    kind = refusals.KINDS[note.kind]
                    yield stream.event(refusals.body(kind, kind.message, _request_id(asked.number)))
                    return
                if carried:
                    await asyncio.sleep(carried * self.config.s_per_token)
                    self.account.produced(asked.model, carried, self.now())
                if b"message_stop" in data[:24]:
                    outcome = "ok"
                yield data
        finally:
            note.write(outcome)

    def _read(self, request: Request, body: dict[str, Any]) -> _Asked:
        now = self.now()
        prompt = read_prompt(body, self.config.bytes_per_token)
        agent = request.headers.get("x-claude-code-agent-id")
        last = prompt.marks[-1].key if prompt.marks else ""
        return _Asked(
            number=next(self._numbers),
            body=body,
            model=str(body.get("model")),
            prompt=prompt,
            turn=read_turn(body, self.config.output_tokens),
            usage=self.cache.usage(prompt, now),
            t=now,
            session=request.headers.get("x-claude-code-session-id"),
            agent=agent,
            attempt=self._refused.get((agent, last), 0),
        )

    def _refuse(self, asked: _Asked, refusal: Refusal) -> Response:
        last = asked.prompt.marks[-1].key if asked.prompt.marks else ""
        self._refused[asked.agent, last] = asked.attempt + 1
        level = self.account.at(asked.model, asked.t)["input"].level
        note = _Note(self, asked, Reply(), level, level, 0.0, kind=refusal.kind)
        note.write("refused")
        kind = refusals.KINDS[refusal.kind]
        request_id = _request_id(asked.number)
        found = refusal.headers | headers.common(request_id)
        if not kind.type:
            return HTMLResponse(refusal.message, kind.status, {"cf-mitigated": "challenge"})
        body = refusals.body(kind, refusal.message, request_id)
        return JSONResponse(body, kind.status, found)

    def _bad_request(self) -> Response:
        kind = refusals.KINDS["invalid"]
        request_id = _request_id(next(self._numbers))
        return JSONResponse(refusals.body(kind, kind.message, request_id), kind.status)


@dataclass(slots=True)
class _Note:
    """What of a request will stand in its record."""

    api: SimApi
    asked: _Asked
    reply: Reply
    before: float
    after: float
    ttfb: float
    kind: str | None = None

    def write(self, outcome: str) -> None:
        asked, usage = self.asked, self.asked.usage
        taken = outcome != "refused"
        self.api.log.add(
            Record(
                number=asked.number,
                t=asked.t,
                end=self.api.now(),
                session=asked.session,
                agent=asked.agent,
                role=asked.turn.role,
                label=asked.turn.label,
                step=asked.turn.step,
                model=asked.model,
                stream=bool(asked.body.get("stream")),
                attempt=asked.attempt,
                outcome=outcome,
                kind=self.kind,
                input=usage.input if taken else 0,
                cache_creation=usage.creation if taken else 0,
                cache_read=usage.read if taken else 0,
                output=self.reply.output_tokens if outcome == "ok" else 0,
                cost=usage.uncached if taken else 0,
                asked=usage.uncached,
                before=self.before,
                after=self.after,
                ttfb=self.ttfb,
                delivered=delivered(asked.turn, self.reply) if outcome == "ok" else None,
            )
        )


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers: its address, its core and its log."""

    url: str
    api: SimApi

    def records(self) -> list[Record]:
        """Return the records so far."""
        return self.api.log.records()


@contextmanager
def running(
    config: Config | None = None,
    *,
    log: Path | None = None,
    port: int = 0,
    rules: Mapping[str, Callable[[Turn], Reply]] | None = None,
) -> Iterator[Running]:
    """Serve a simulated API in a thread of this process until the block ends.

    Args:
        config: what it is like; the defaults when None.
        log: a file for one JSON line a request, besides the memory.
        port: 0 for any free one. ``OSError`` when it is taken.
        rules: the scripted model; ``DEFAULT_RULES`` when None.
    """
    api = SimApi(config or Config(), Log(log), DEFAULT_RULES if rules is None else rules)
    with socket.create_server(("127.0.0.1", port), backlog=256) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        settings = uvicorn.Config(
            api.app(),
            log_level="error",
            access_log=False,
            http="h11",
            ws="none",
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(settings)
        thread = threading.Thread(
            target=server.run, kwargs={"sockets": [listener]}, name="simapi", daemon=True
        )
        thread.start()
        try:
            yield Running(url, api)
        finally:
            server.should_exit = True
            thread.join(10)


async def _json_body(request: Request) -> dict[str, Any] | None:
    try:
        found = json.loads(await request.body())
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _request_id(number: int) -> str:
    return f"req_bench{number:06d}"
