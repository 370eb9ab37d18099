"""Runs the command hooks of a plugin, as the client would."""

from __future__ import annotations

import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_NAMES = re.compile(r"[A-Za-z0-9_|]+")
ROOT = "${CLAUDE_PLUGIN_ROOT}"


@dataclass(frozen=True, slots=True)
class Hook:
    """One command of ``hooks.json``: its event, its tool matcher and its words."""

    event: str
    matcher: re.Pattern[str] | None
    words: tuple[str, ...]
    timeout: float

    def fits(self, event: dict[str, Any]) -> bool:
        """Whether it is for this event."""
        if event["hook_event_name"] != self.event:
            return False
        return self.matcher is None or bool(self.matcher.search(event.get("tool_name", "")))


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of one plugin in one session.

    Attributes:
        found: the hooks.
        env: the environment of the processes.
        cwd: their working folder.
    """

    found: tuple[Hook, ...]
    env: dict[str, str]
    cwd: Path

    def fire(self, event: dict[str, Any], within: float) -> list[dict[str, Any]]:
        """Run every hook of an event at once and return the JSON objects they printed.

        A hook that fails, prints no JSON or takes longer than its timeout (or ``within`` seconds)
        says nothing, and the client goes on: so does this.
        """
        data = json.dumps(event).encode()
        fitting = [hook for hook in self.found if hook.fits(event)]
        if len(fitting) < 2:
            said = [self._run(hook, data, within) for hook in fitting]
        else:
            with ThreadPoolExecutor(len(fitting)) as pool:
                said = list(pool.map(lambda hook: self._run(hook, data, within), fitting))
        return [one for one in said if one]

    def _run(self, hook: Hook, data: bytes, within: float) -> dict[str, Any]:
        try:
            done = subprocess.run(
                hook.words,
                input=data,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self.env,
                cwd=self.cwd,
                timeout=max(0.1, min(hook.timeout, within)),
                check=False,
            )
            found = json.loads(done.stdout or b"null")
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return {}
        return found if isinstance(found, dict) else {}


def load(plugin: Path | None, env: dict[str, str], cwd: Path) -> Hooks:
    """Return the command hooks of a plugin; none without one.

    Raises:
        OSError: there is no ``hooks/hooks.json``.
        ValueError: it is no JSON object of hooks.
    """
    if plugin is None:
        return Hooks((), env, cwd)
    told = json.loads((plugin / "hooks" / "hooks.json").read_text(encoding="utf-8"))
    found = [
        Hook(
            event=event,
            matcher=_matcher(group.get("matcher")),
            words=tuple(
                word.replace(ROOT, str(plugin)) for word in (one["command"], *one.get("args", ()))
            ),
            timeout=float(one.get("timeout", 60)),
        )
        for event, groups in told["hooks"].items()
        for group in groups
        for one in group["hooks"]
        if one.get("type") == "command"
    ]
    return Hooks(tuple(found), env | {"CLAUDE_PLUGIN_ROOT": str(plugin)}, cwd)


def _matcher(text: object) -> re.Pattern[str] | None:
    """Return a matcher: names joined by ``|`` are whole names, anything else is searched for."""
    if not isinstance(text, str) or text in ("", "*"):
        return None
    return re.compile(f"^(?:{text})$" if _NAMES.fullmatch(text) else text)
