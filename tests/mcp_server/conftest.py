"""A server in this process, with a state folder and a home of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gate_talk import SESSION, Bench

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def anyio_backend() -> str:
    """The SDK runs on asyncio here."""
    return "asyncio"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    env = {
        "HOME": str(tmp_path),
        "PACELINE_STATE_DIR": str(tmp_path / "state"),
        "CLAUDE_CONFIG_DIR": str(tmp_path),
        "CLAUDE_PROJECT_DIR": str(tmp_path / "work"),
        "CLAUDE_CODE_SESSION_ID": SESSION,
        "ANTHROPIC_API_KEY": "made-up",
    }
    return Bench(tmp_path, env)
