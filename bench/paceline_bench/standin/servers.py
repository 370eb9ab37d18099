"""Starts the MCP servers of a plugin for as long as a session lasts, as the client would."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

READY_S = 30.0
_OPTION = re.compile(r"\$\{user_config\.(\w+)\}")


@contextmanager
def serving(plugin: Path | None, env: dict[str, str], cwd: Path) -> Iterator[list[str]]:
    """Run the plugin's servers until the block ends; give the names of those that answered.

    A server that does not start within 30 s is left out, and the session goes on without it.

    Raises:
        ValueError: ``.claude-plugin/plugin.json`` is no JSON.
    """
    told = _servers(plugin, env, cwd) if plugin else {}
    names: list[str] = []
    ready, done = threading.Event(), threading.Event()
    thread = threading.Thread(
        target=lambda: asyncio.run(_serve(told, cwd, names, ready, done)), name="mcp-servers"
    )
    thread.start()
    ready.wait(READY_S * (len(told) + 1))
    try:
        yield names
    finally:
        done.set()
        thread.join()


async def _serve(
    told: dict[str, StdioServerParameters],
    cwd: Path,
    names: list[str],
    ready: threading.Event,
    done: threading.Event,
) -> None:
    async with AsyncExitStack() as stack:
        for name, server in told.items():
            errors = stack.enter_context((cwd / f"{name}.err.txt").open("w", encoding="utf-8"))
            if await _started(stack, server, errors):
                names.append(name)
        ready.set()
        await asyncio.to_thread(done.wait)


async def _started(stack: AsyncExitStack, server: StdioServerParameters, errors: TextIO) -> bool:
    try:
        async with asyncio.timeout(READY_S):
            await stack.enter_async_context(Client(stdio_client(server, errlog=errors)))
    except Exception:  # noqa: BLE001 - whatever keeps a server from starting, the session goes on
        return False
    return True


def _servers(plugin: Path, env: dict[str, str], cwd: Path) -> dict[str, StdioServerParameters]:
    """Return the servers of ``plugin.json``, each option at its default; a plugin may have none."""
    path = plugin / ".claude-plugin" / "plugin.json"
    about = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    options = {name: one.get("default", "") for name, one in about.get("userConfig", {}).items()}

    def filled(text: Any) -> str:
        rooted = str(text).replace("${CLAUDE_PLUGIN_ROOT}", str(plugin))
        return _OPTION.sub(lambda match: str(options.get(match[1], "")), rooted)

    return {
        name: StdioServerParameters(
            command=filled(one["command"]),
            args=[filled(word) for word in one.get("args", ())],
            env=env | {key: filled(value) for key, value in one.get("env", {}).items()},
            cwd=cwd,
        )
        for name, one in about.get("mcpServers", {}).items()
    }
