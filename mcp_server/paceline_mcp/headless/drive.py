"""The loop of ``paceline run``: start, look, wait, resume, until it is done."""

from __future__ import annotations

import shutil
import sys
import time
import uuid
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from paceline import paths, recovery, settings
from paceline.transcripts import find
from paceline_mcp.cli.output import DEGRADED, plain
from paceline_mcp.doctor.interpreter import is_batch_file
from paceline_mcp.headless import plugin, variables, words
from paceline_mcp.headless.again import some
from paceline_mcp.headless.child import Child
from paceline_mcp.headless.decide import INCOMPLETE, Budget, Done, Resume, Spent, decide
from paceline_mcp.headless.ended import Ended, end_of
from paceline_mcp.headless.listen import Listener
from paceline_mcp.headless.newest import session_since

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from paceline_mcp.headless.command import Command
    from paceline_mcp.headless.decide import Wait
    from paceline_mcp.headless.stops import Stops

STOPPED = "interrupted"
SLOTS_MS = 5000
"""Over how long after a reset the sessions that waited for it wake."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asked for.

    Attributes:
        command: their command.
        budget: what may be spent on it.
        once: run it and look, resume nothing.
        add: words added to the command each time (``--plugin-dir``).
    """

    command: Command
    budget: Budget
    once: bool = False
    add: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What it came to."""

    ended: Ended
    done: Done
    spent: Spent
    session: str


class Drive:
    """One ``paceline run``.

    Args:
        asked: see :class:`Asked`.
        env: the person's environment, with what is set under ``/plugin``.
        cwd: the folder the client works in.
        stops: the signals that come.
        say: takes a line for a person.
        rest: waits for a ``Wait`` to be over, or for a signal.
        now: gives epoch seconds.
    """

    def __init__(
        self,
        asked: Asked,
        env: Mapping[str, str],
        cwd: str,
        stops: Stops,
        *,
        say: Callable[[str], None],
        rest: Callable[[Wait], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        self.asked = asked
        self.cwd = cwd
        self.stops = stops
        self.say = say
        self.rest = rest
        self.now = now
        self.session = asked.command.session
        self.state = paths.state_dir(env)
        self.paced = bool(asked.add) or plugin.enabled(asked.command, env, cwd)
        self.env = variables.for_client(env, self.state, paced=self.paced)
        self.projects = find.projects_dir(self.env)
        # The plugin's own hooks give tickets too, as many as the setting says.
        tickets = asked.budget.attempts + settings.load(env).requeue_attempts
        kept = asked.command.persists and not env.get("CLAUDE_CODE_SKIP_PROMPT_HISTORY")
        self.budget = replace(asked.budget, tickets=tickets, resumable=kept, paced=self.paced)

    def run(self) -> Outcome:
        """Run the command to its end."""
        if not self.paced:
            self.say(words.NO_PLUGIN)
        if not self.budget.resumable:
            self.say(words.NOT_KEPT)
        code, since = self._begin(), 0.0
        spent = Spent()
        slot = zlib.crc32(self.session.encode()) % SLOTS_MS / 1000.0
        self.budget = replace(self.budget, slot=slot)
        while True:
            ended = end_of(
                self.projects,
                self.state,
                self.session,
                code,
                self.now(),
                stopped=bool(self.stops.asked),
                since=since,
            )
            step, spent = self._next(ended, spent.after(ended))
            if isinstance(step, Done):
                return Outcome(ended, step, spent, self.session)
            text = words.for_claude(self._advice(ended, step), refused=ended.main is not None)
            if not text:
                why = "what was lost left no prompt to run it from again"
                return Outcome(ended, Done(INCOMPLETE, DEGRADED, why), spent, self.session)
            self.say(words.resuming(step, plain(self.session), spent, self.budget.attempts))
            spent, since = spent.resumed(ended), self.now()
            code = self._resume(text)

    def _begin(self) -> int:
        """Run the person's command as it is, and find out which session it is."""
        command, add, begun = self.asked.command, list(self.asked.add), self.now()
        if not command.chooses_session and command.output != "stream-json":
            self.session = str(uuid.uuid4())
            add += ["--session-id", self.session]
        code = self._client(command.words(add), None)
        self.session = self.session or session_since(self.env, self.cwd, begun)
        return code

    def _resume(self, text: str) -> int:
        """Run the command again on its session, with ``text`` where its prompt came from."""
        command = self.asked.command
        on_stdin = command.prompt is None or self._by_shell()
        line = command.resumed(self.session, None if on_stdin else text, self.asked.add)
        return self._client(line, text.encode() if on_stdin else b"")

    def _by_shell(self) -> bool:
        """Whether the client's words go through cmd.exe, which ends them at the first line's end.

        npm's ``claude.cmd`` on Windows does.
        """
        first = self.asked.command.head[0]
        program = shutil.which(first, path=self.env.get("PATH")) or first
        return is_batch_file(program, sys.platform)

    def _client(self, line: list[str], text: bytes | None) -> int:
        output = self.asked.command.output
        heard: Listener | None = None
        if output == "stream-json" or (output == "json" and not self.session):
            heard = Listener(whole=output == "json")
        child = Child(line, self.env, text=text, listener=heard.take if heard else None)
        self.stops.send_to(lambda asked: self._stop(child, asked))
        if self.stops.asked:  # it came while the client was being started
            child.interrupt()
        try:
            code = child.wait()
        finally:
            self.stops.send_to(None)
        if heard is not None:
            self.session = heard.end() or self.session
        return code

    def _stop(self, child: Child, asked: int) -> None:
        if asked == 1:
            self.say(words.STOPPING)
            child.interrupt()
        else:
            self.say(words.KILLING)
            child.kill()

    def _next(self, ended: Ended, spent: Spent) -> tuple[Resume | Done, Spent]:
        """Return what to do now, when every wait that comes before it is over."""
        while not self.stops.asked:
            now = self.now()
            step = decide(ended, spent, self.budget, now)
            if isinstance(step, Done):
                return step, spent
            if self.asked.once:
                return Done(INCOMPLETE, DEGRADED, "nothing is resumed with --once"), spent
            if isinstance(step, Resume):
                return step, spent
            self.say(words.waiting(step, now))
            self.rest(step)
            spent = spent.rested(self.now() - now)
        return Done(STOPPED, self.stops.exit_code), spent

    def _advice(self, ended: Ended, step: Resume) -> str:
        """Give tickets out for what died; return what Claude is asked to do."""
        manifest = ended.manifest
        if step.most < step.dead:
            dead = recovery.open_drops(manifest, ended.at, self.budget.tickets)
            manifest = some(manifest, frozenset(one.key for one in dead[: step.most]))
        given = recovery.issue(
            manifest, self.projects, self.state, self.now(), attempts=self.budget.tickets
        )
        return str(given["advice"])
