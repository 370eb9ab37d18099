"""Talking to a server in this process as the gate's module and Claude do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paceline import jsonl, paths, settings
from paceline.ledger import belief
from paceline.ledger.own import store_of
from paceline_mcp.server import make

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mcp import Client

    from paceline.ledger.store import FileStore
    from paceline.ledger.values import Ledger

SESSION = "5e551011-0000-4000-8000-000000000001"
MODEL = "claude-opus-5"
FAMILY = "opus-5"


@dataclass(frozen=True)
class Bench:
    """What a test of the server works with."""

    home: Path
    env: Mapping[str, str]

    @property
    def state(self) -> str:
        return paths.state_dir(self.env)

    @property
    def store(self) -> FileStore:
        return store_of(self.env, settings.load(self.env))

    def ledger(self) -> Ledger:
        return self.store.snapshot()

    def tell(self, itpm: float, capacity: float) -> None:
        self.store.transact(
            lambda led, now: belief.tell(
                led, "all", "input", itpm, now, source="set", capacity=capacity
            )
        )

    def server(self, **env: str) -> Any:
        return make({**self.env, **env})

    def events(self, kind: str) -> list[dict[str, Any]]:
        lines, _ = jsonl.read(paths.events_file(self.state, SESSION))
        return [line for line in lines if line["e"] == kind]

    def log(self, **line: Any) -> None:
        paths.make_private(paths.session_dir(self.state, SESSION))
        jsonl.append(paths.events_file(self.state, SESSION), line)

    def transcript(self) -> Path:
        """Name the session's transcript in the log and return its path."""
        path = self.home / "projects" / "p" / f"{SESSION}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        self.log(t=1.0, e="session.start", agent=None, transcript=str(path), cwd="/p")
        return path

    def agent_row(self, agent: str, row: dict[str, Any]) -> None:
        """Append a row to an agent's transcript."""
        folder = self.home / "projects" / "p" / SESSION / "subagents"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"agent-{agent}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


async def gate(client: Client, **asked: Any) -> dict[str, Any]:
    """Call the gate's tool as the module does."""
    result = await client.call_tool("gate", asked)
    assert not result.is_error, result.content
    answer: dict[str, Any] = json.loads(result.content[0].text)  # type: ignore[union-attr]
    return answer


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool and return its typed result."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return dict(result.structured_content)
