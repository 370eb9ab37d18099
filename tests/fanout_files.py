"""Builds the files a client leaves behind, row by row, with invented ids. For tests only."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

T0 = 1789041600.0
"""2026-09-10T12:00:00Z."""

THROTTLE = (
    "API Error: Server is temporarily limiting requests (not your usage limit) · Rate limited"
)
SESSION_LIMIT = "You've hit your session limit · resets 3:20am (America/New_York)"
SESSION = "00000001-0000-4000-8000-000000000001"
SAMPLES = Path(__file__).parent / "plugin" / "samples"


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def agent_id(number: int) -> str:
    return f"a{number:016x}"


def prompt(text: str, at: float = 0.0) -> dict[str, Any]:
    return row("user", at, content=text)


def row(kind: str, at: float, *, content: Any, **fields: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content}
    return {"type": kind, "timestamp": stamp(T0 + at), "message": message, **fields}


def answer(
    *blocks: Any,
    at: float = 1.0,
    stop: str | None = "end_turn",
    ident: str | None = None,
    request: str | None = "same",
    usage: tuple[int, int, int, int] = (3, 100, 1000, 20),
    model: str = "claude-opus-5",
) -> dict[str, Any]:
    """Return an assistant row; usage is input, cache creation, cache read, output."""
    content = [
        {"type": "text", "text": block} if isinstance(block, str) else block for block in blocks
    ]
    ident = ident or f"msg_{at}"
    names = (
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "output_tokens",
    )
    line = row("assistant", at, content=content)
    line["message"] |= {
        "id": ident,
        "model": model,
        "stop_reason": stop,
        "usage": dict(zip(names, usage, strict=True)),
    }
    if request is not None:
        line["requestId"] = f"req_{ident}" if request == "same" else request
    return line


def tool(name: str, call: str = "toolu_1", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def result(
    call: str = "toolu_1",
    text: Any = "ok",
    at: float = 2.0,
    *,
    is_error: bool = False,
    structured: Any = None,
) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call, "content": text}
    if is_error:
        block["is_error"] = True
    line = row("user", at, content=[block])
    if structured is not None:
        line["toolUseResult"] = structured
    return line


def error(
    text: str = THROTTLE,
    at: float = 3.0,
    *,
    status: int | None = 429,
    kind: str = "rate_limit",
    **fields: Any,
) -> dict[str, Any]:
    line = answer(text, at=at, stop="stop_sequence", usage=(0, 0, 0, 0), model="<synthetic>")
    line |= {"isSidechain": True, "isApiErrorMessage": True, "error": kind, **fields}
    if status is not None:
        line["apiErrorStatus"] = status
    return line


def interrupted(at: float = 3.0) -> dict[str, Any]:
    return row("user", at, content=[{"type": "text", "text": "[Request interrupted by user]"}])


def woken(at: float, text: str = "go on") -> dict[str, Any]:
    return row("user", at, content=text, isMeta=True, origin={"kind": "coordinator"})


def launch(
    call: str, label: str, prompt: str = "Read it.", tool_name: str = "Agent", **more: Any
) -> dict[str, Any]:
    given = {"description": label, "subagent_type": "general-purpose", "prompt": prompt, **more}
    return tool(tool_name, call, **given)


def launched(call: str, agent: str, at: float = 1.1) -> dict[str, Any]:
    return result(call, "launched", at, structured={"status": "async_launched", "agentId": agent})


def notice(task: str, status: str, at: float, body: str = "", usage: str = "") -> dict[str, Any]:
    text = (
        f"<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>toolu_x</tool-use-id>\n"
        f"<status>{status}</status>\n{body}\n{usage}</task-notification>"
    )
    return row("user", at, content=text, origin={"kind": "task-notification"})


def delivered(text: str = "Done: 12 findings.", **usage: Any) -> list[dict[str, Any]]:
    return [prompt("Read it."), answer(text, at=5.0, **usage)]


def died(text: str = THROTTLE, **fields: Any) -> list[dict[str, Any]]:
    return [prompt("Read it."), error(text, at=5.0, **fields)]


class Files:
    """One session's files under a projects folder, and its event log under a state folder."""

    def __init__(self, root: Path, session: str = SESSION) -> None:
        self.session = session
        self.projects = root / "projects"
        self.state = root / "state"
        self.project = self.projects / "-home-user-project"
        self.folder = self.project / session

    def agent(self, agent: str, rows: list[Any], run: str = "", **meta: Any) -> Path:
        """Write an agent's transcript, and its sidecar file when ``meta`` has something."""
        folder = self.folder / "subagents"
        if run:
            folder = folder / "workflows" / run
        path = folder / f"agent-{agent}.jsonl"
        write_lines(path, rows)
        if meta:
            path.with_suffix("").with_suffix(".meta.json").write_text(
                json.dumps(meta), encoding="utf-8"
            )
        return path

    def main(self, rows: list[Any]) -> Path:
        return write_lines(self.project / f"{self.session}.jsonl", rows)

    def journal(self, run: str, rows: list[Any]) -> Path:
        return write_lines(self.folder / "subagents" / "workflows" / run / "journal.jsonl", rows)

    def record(self, run: str, **fields: Any) -> Path:
        path = self.folder / "workflows" / f"{run}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        told = {"runId": run, "status": "completed", **fields}
        path.write_text(json.dumps(told), encoding="utf-8")
        return path

    def log(self, *lines: dict[str, Any]) -> Path:
        """Append event lines; ``t`` counts from T0."""
        path = self.state / "sessions" / self.session / "events.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            for line in lines:
                file.write(json.dumps({"agent": None, **line, "t": T0 + line["t"]}) + "\n")
        return path


def write_lines(path: Path, rows: list[Any]) -> Path:
    """Write rows; a ``str`` or ``bytes`` among them is written as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for one in rows:
            if isinstance(one, bytes):
                file.write(one)
            else:
                text = one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)
                file.write(text.encode("utf-8", "surrogatepass") + b"\n")
    return path
