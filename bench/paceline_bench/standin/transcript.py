"""The stand-in's transcripts: the rows of the client's that Paceline reads, in its shapes."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Transcript:
    """The transcript of one conversation.

    Attributes:
        path: the file, one JSON row a line.
        session: the session's id.
        agent: the agent's id, None for the main thread.
    """

    path: Path
    session: str
    agent: str | None

    def describe(self, **meta: Any) -> None:
        """Write the file the client puts beside an agent's transcript."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.with_suffix(".meta.json").write_text(json.dumps(meta), encoding="utf-8")

    def message(self, message: dict[str, Any], **more: Any) -> None:
        """Append a message of the conversation."""
        side = {"isSidechain": True, "agentId": self.agent} if self.agent else {}
        self._append({"type": message["role"], **side, "message": message, **more})

    def attempt(self) -> None:
        """Append the row that each attempt of a request leaves, answered or not."""
        side = {"agentId": self.agent} if self.agent else {}
        self._append({"type": "api-request", **side, "id": str(uuid.uuid4())})

    def refused(self, status: int, text: str) -> None:
        """Append the row of a request that was refused for good."""
        message = {
            "id": str(uuid.uuid4()),
            "role": "assistant",
            "model": "<synthetic>",
            "content": [{"type": "text", "text": text}],
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        self.message(message, isApiErrorMessage=True, apiErrorStatus=status, error="rate_limit")

    def _append(self, row: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        told = {**row, "sessionId": self.session, "uuid": str(uuid.uuid4()), "timestamp": stamp}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(told) + "\n")
