"""A session's hooks without their process: events in, outputs and log lines out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from paceline import jsonl, paths
from paceline_hooks import dispatch

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1789041600.0
SESSION = "bb00e366-4731-4a7c-9007-21846812d14f"


class Hooks:
    """The hooks of one session, recording only (mode ``observe``) unless ``env`` says otherwise."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.env = {
            "PACELINE_STATE_DIR": str(self.state),
            "PACELINE_MODE": "observe",
            "HOME": str(folder),
        }
        self.now = NOW
        self.projects = folder / "projects" / "-w"

    def send(self, name: str, **fields: Any) -> dict[str, Any] | None:
        transcript = str(self.projects / f"{SESSION}.jsonl")
        event = {"session_id": SESSION, "hook_event_name": name, "transcript_path": transcript}
        event.update(fields)
        return self.send_bytes(json.dumps(event).encode())

    def send_bytes(self, data: bytes) -> dict[str, Any] | None:
        return dispatch.answer(data, self.env, self.now)

    def lines(self, kind: str | None = None, session: str = SESSION) -> list[dict[str, Any]]:
        found, _ = jsonl.read(paths.events_file(str(self.state), session))
        return [line for line in found if kind is None or line["e"] == kind]

    def only(self, kind: str) -> dict[str, Any]:
        (line,) = self.lines(kind)
        return line
