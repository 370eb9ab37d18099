"""What this server knows of its session, folded from the session's event log."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from paceline import jsonl, paths
from paceline.ledger import asking
from paceline.ledger.cost import Contexts
from paceline.transcripts import find, place

if TYPE_CHECKING:
    from collections.abc import Mapping


class Session:
    """The event log of one session: read in as it grows, appended to.

    Args:
        state: the state directory.
        session: the session's id.
        env: the process's environment (for the project and the client's folder).
    """

    def __init__(self, state: str, session: str, env: Mapping[str, str]) -> None:
        self.state = state
        self.env = env
        self.project = asking.project_of(env.get("CLAUDE_PROJECT_DIR", ""))
        self._begin(session)

    def _begin(self, session: str) -> None:
        self.id = session
        self.contexts = Contexts()
        self.transcript = ""
        self.calls: dict[str, str] = {}
        self._log = paths.events_file(self.state, session)
        self._offset = 0

    def move(self, session: str) -> bool:
        """Go on with another session's log. False where it is this one, or no session's id.

        A client keeps its servers when its session is cleared or another one resumed, and each of
        those has an id of its own, which hooks go by.
        """
        if session == self.id or not paths.is_id(session):
            return False
        self.quiet()
        self._begin(session)
        return True

    def refresh(self) -> None:
        """Fold what hooks and this server appended since the last time."""
        lines, self._offset = jsonl.read(self._log, self._offset)
        self.contexts.fold(lines)
        for line in lines:
            if line.get("e") == "session.start":
                self.transcript = str(line.get("transcript") or self.transcript)
            elif line.get("e") == "tool.before":
                self.calls[str(line.get("id"))] = str(line.get("agent") or "")

    def append(self, kind: str, agent: str, now: float, **fields: Any) -> None:
        """Append one event; never raises. That the state cannot be written, ``doctor`` says."""
        line = {"t": round(now, 3), "e": kind, "agent": agent or None, **fields}
        with contextlib.suppress(OSError, ValueError):
            paths.make_private(paths.session_dir(self.state, self.id))
            jsonl.append(self._log, line)

    def beat(self) -> None:
        """Tell the hooks that a gate is alive in this session."""
        folder = paths.session_dir(self.state, self.id)
        with contextlib.suppress(OSError):
            paths.make_private(folder)
            with open(os.path.join(folder, "gate"), "w", encoding="ascii") as file:
                file.write(str(os.getpid()))

    def quiet(self) -> None:
        """Tell the hooks that the gate's server is gone."""
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(paths.session_dir(self.state, self.id), "gate"))

    def ask_of(self, agent: str, model: str, index: int, now: float) -> dict[str, Any]:
        """Return the ledger's arguments for an agent's next request (``admit.enqueue``)."""
        self.refresh()
        return asking.asked_of(
            self.contexts,
            session=self.id,
            agent=agent,
            model=model,
            project=self.project,
            now=now,
            late=index > 0,
        )

    def kept(self) -> bool:
        """Whether the client keeps transcripts of this session."""
        path = self.transcript_of("")
        return path is not None and os.path.exists(path)

    def transcript_of(self, agent: str) -> str | None:
        """Return the transcript an agent writes to, or None."""
        if not self.transcript:
            self.refresh()
        if not self.transcript:
            self.transcript = place.of_session(find.projects_dir(self.env), self.id)
        return place.of_agent(self.transcript, self.id, agent)
