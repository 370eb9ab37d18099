"""Fixtures of the hooks' tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hook_session import Hooks

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def hooks(tmp_path: Path) -> Hooks:
    return Hooks(tmp_path)
