"""A fan-out of the stand-in: the main thread, its agents, and the hooks around both."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline_bench.client.home import environment
from paceline_bench.client.result import RunResult, count
from paceline_bench.client.run import TICK_S, Progress
from paceline_bench.client.spec import Fanout, main_script, write_files
from paceline_bench.simapi.script import script_text
from paceline_bench.simapi.server import Running, running
from paceline_bench.standin import hooks as plugin_hooks
from paceline_bench.standin import servers
from paceline_bench.standin.talk import MODEL, RETRIES, RefusedError, Talk
from paceline_bench.standin.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AGENT_TYPE = "general-purpose"


class TimeUpError(Exception):
    """The run's time is up."""


@contextmanager
def run_stand_in(
    spec: Fanout,
    *,
    progress: Callable[[Progress], None] | None = None,
    prepare: Callable[[Path, dict[str, str]], None] | None = None,
) -> Iterator[RunResult]:
    """Play a fan-out of Agent calls; its home and logs stay until the block ends.

    Args:
        spec: what to run; its kind is taken for ``agent``.
        progress: called while it runs, in this thread.
        prepare: called with the home and the hooks' environment before it begins.
    """
    root = Path(tempfile.mkdtemp(prefix="plbench-")).resolve()
    try:
        for folder in (root / "home" / "tmp", root / "work", root / "files"):
            folder.mkdir(parents=True)
        with running(spec.api, log=root / "api.jsonl") as api:
            env = environment(spec, root / "home", api.url)
            if prepare:
                prepare(root / "home", env)
            yield _run(spec, root, api, env, progress)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _run(
    spec: Fanout,
    root: Path,
    api: Running,
    env: dict[str, str],
    progress: Callable[[Progress], None] | None,
) -> RunResult:
    session = str(uuid.uuid4())
    env |= {"CLAUDE_CODE_SESSION_ID": session, "CLAUDE_PROJECT_DIR": str(root / "work")}
    begun = time.monotonic()
    play = _Play(
        spec=spec,
        root=root,
        url=api.url,
        session=session,
        hooks=plugin_hooks.load(spec.plugin_dir, env, root / "work"),
        ends=begun + spec.timeout_s,
        stop=threading.Event(),
    )
    with (
        servers.serving(spec.plugin_dir, env, root / "home") as names,
        ThreadPoolExecutor(1, "stand-in") as pool,
    ):
        main = pool.submit(play.main)
        try:
            while not wait([main], TICK_S).done:
                if progress:
                    counted = count(api.records(), spec.agents, spec.api, api.api.account.start)
                    progress(Progress(time.monotonic() - begun, counted, root / "home", 0))
        finally:
            play.stop.set()
    try:
        said = main.result()
    except TimeUpError:
        said = None
    return RunResult(
        counts=count(api.records(), spec.agents, spec.api, api.api.account.start),
        exit_code=None if said is None else 0,
        timed_out=said is None,
        wall_s=time.monotonic() - begun,
        result=said,
        is_error=said is not None and said.startswith("API Error"),
        session=session,
        init={"model": MODEL, "mcp_servers": names},
        home=root / "home",
        transcripts=play.transcripts if play.transcripts.is_dir() else None,
        state=Path(env["PACELINE_STATE_DIR"]),
        api_log=root / "api.jsonl",
        stream=root / "out.jsonl",
        errors="",
        debug="",
        leftovers=0,
    )


@dataclass(slots=True)
class _Play:
    """One session of the stand-in."""

    spec: Fanout
    root: Path
    url: str
    session: str
    hooks: plugin_hooks.Hooks
    ends: float
    stop: threading.Event

    @property
    def transcripts(self) -> Path:
        """The folder of the session's transcripts, where the client would have it."""
        return self.root / "home" / ".claude" / "projects" / "-stand-in" / self.session

    def main(self) -> str:
        """Run the main thread to its end and return its last text."""
        agents = write_files(self.spec, self.root / "files")
        script = main_script(self.spec, agents)
        script["fanout"]["kind"] = "agent"
        text = ""
        try:
            self._fire("SessionStart", None, source="startup")
            prompt = f"Run the fan-out of this script. {script_text(script)}"
            self._fire("UserPromptSubmit", None, prompt=prompt)
            talk = self._talk(None, prompt, ("Agent",))
            reason = ""
            while True:
                while calls := _calls(answer := talk.ask()):
                    talk.give(self._at_once(calls))
                text = _text(answer)
                active = bool(reason)
                told = {"stop_hook_active": active, "last_assistant_message": text}
                reason = _blocked(self._fire("Stop", None, **told))
                if not reason or active:
                    break
                talk.say(f"Stop hook feedback:\n{reason}")
            self._fire("SessionEnd", None, reason="other")
        except RefusedError as err:
            text = str(err)
            self._fire("StopFailure", None, error="rate_limit", last_assistant_message=text)
        return text

    def _at_once(self, calls: list[dict[str, Any]]) -> list[tuple[str, str]]:
        with ThreadPoolExecutor(len(calls), "agent") as pool:
            texts = list(pool.map(self._launch, calls))
        return [(call["id"], text) for call, text in zip(calls, texts, strict=True)]

    def _launch(self, call: dict[str, Any]) -> str:
        """Run one Agent call: the agent's whole life, and what the parent hears of it."""
        told = {"tool_name": "Agent", "tool_input": call["input"], "tool_use_id": call["id"]}
        self._fire("PreToolUse", None, **told)
        agent = "a" + uuid.uuid4().hex[:16]
        self._fire("SubagentStart", agent)
        talk = self._talk(agent, call["input"]["prompt"], ("Read",))
        talk.transcript.describe(
            agentType=AGENT_TYPE, toolUseId=call["id"], description=call["input"]["description"]
        )
        try:
            while reads := _calls(answer := talk.ask()):
                talk.give(self._read(agent, reads))
        except RefusedError as err:
            self._fire("StopFailure", agent, error="rate_limit", last_assistant_message=str(err))
            text = f"Agent terminated early due to an API error: {err}"
            self._fire("PostToolUseFailure", None, **told, error=text, is_interrupt=False)
            return text
        text = _text(answer)
        path = str(talk.transcript.path)
        self._fire("SubagentStop", agent, agent_transcript_path=path, last_assistant_message=text)
        response = {"status": "completed", "agentId": agent, "agentType": AGENT_TYPE}
        self._fire("PostToolUse", None, **told, tool_response=response)
        return text

    def _read(self, agent: str, calls: list[dict[str, Any]]) -> list[tuple[str, str]]:
        results, batch = [], []
        for call in calls:
            told = {"tool_name": "Read", "tool_input": call["input"], "tool_use_id": call["id"]}
            self._fire("PreToolUse", agent, **told)
            lines = Path(call["input"]["file_path"]).read_text(encoding="utf-8").splitlines()
            text = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1))
            results.append((call["id"], text))
            batch.append({**told, "tool_response": text})
        self._fire("PostToolBatch", agent, tool_calls=batch)
        return results

    def _talk(self, agent: str | None, prompt: str, tools: tuple[str, ...]) -> Talk:
        told = self.spec.max_retries
        retries = RETRIES if told is None else told
        path = self.transcripts.with_suffix(".jsonl")
        if agent:
            path = self.transcripts / "subagents" / f"agent-{agent}.jsonl"
        transcript = Transcript(path, self.session, agent)
        return Talk(self.url, transcript, prompt, tools, retries, self._pause)

    def _fire(self, name: str, agent: str | None, **more: Any) -> list[dict[str, Any]]:
        self._check()
        event = {
            "hook_event_name": name,
            "session_id": self.session,
            "transcript_path": str(self.transcripts.with_suffix(".jsonl")),
            "cwd": str(self.root / "work"),
            "permission_mode": "bypassPermissions",
            **({"agent_id": agent, "agent_type": AGENT_TYPE} if agent else {}),
            **more,
        }
        return self.hooks.fire(event, self.ends - time.monotonic())

    def _pause(self, seconds: float) -> None:
        self.stop.wait(min(seconds, max(0.0, self.ends - time.monotonic())))
        self._check()

    def _check(self) -> None:
        if self.stop.is_set() or time.monotonic() >= self.ends:
            raise TimeUpError


def _blocked(said: list[dict[str, Any]]) -> str:
    """Return the reasons of the hooks that block a stop."""
    return "\n".join(str(one.get("reason", "")) for one in said if one.get("decision") == "block")


def _calls(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for block in answer["content"] if block["type"] == "tool_use"]


def _text(answer: dict[str, Any]) -> str:
    return "".join(block["text"] for block in answer["content"] if block["type"] == "text")
