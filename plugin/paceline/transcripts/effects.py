"""What an agent left behind in the world: files it wrote, pull requests it opened."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

WRITERS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
SHELLS = frozenset({"Bash", "PowerShell"})
_PUBLISHING = ("gh pr create", "glab mr create", "hub pull-request", "git push")
_PULL_REQUEST = ("create_pull_request", "create_merge_request")


class Effects:
    """Counts of tool calls that a second run would repeat.

    Attributes:
        edits: calls that wrote a file.
        published: calls that opened a pull request or pushed.
    """

    __slots__ = ("edits", "published")

    def __init__(self) -> None:
        self.edits = 0
        self.published = 0

    def add(self, block: Mapping[str, Any]) -> None:
        """Count one ``tool_use`` block."""
        name = block.get("name")
        given = block.get("input")
        if not isinstance(name, str):
            return
        if name in WRITERS:
            self.edits += 1
        elif name in SHELLS and isinstance(given, dict):
            command = given.get("command")
            if isinstance(command, str) and any(words in command for words in _PUBLISHING):
                self.published += 1
        elif name.endswith(_PULL_REQUEST):
            self.published += 1

    def any(self) -> bool:
        """Whether running the agent again should begin with a look at what exists."""
        return bool(self.edits or self.published)
