"""Which room may import which, read from the source without running it."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {
    "paceline": ROOT / "plugin" / "paceline",
    "paceline_hooks": ROOT / "hooks" / "paceline_hooks",
    "paceline_mcp": ROOT / "mcp_server" / "paceline_mcp",
    "paceline_bench": ROOT / "bench" / "paceline_bench",
}
MAY_IMPORT = {
    "paceline": {"paceline"},
    "paceline_hooks": {"paceline", "paceline_hooks"},
    "paceline_mcp": {"paceline", "paceline_mcp"},
    "paceline_bench": set(ROOMS),
}
# The commands that show or simulate a fan-out reach for the bench, inside the function that does.
BENCH_COMMANDS = {"cli/demo.py", "cli/simulate.py"}


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(node: ast.AST, *, deep: bool) -> Iterator[tuple[str, int]]:
    """Yield the top-level package of each import that runs: at module level, or anywhere."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((name.name.split(".")[0], child.lineno) for name in child.names)
        elif isinstance(child, ast.ImportFrom) and child.level == 0 and child.module:
            yield child.module.split(".")[0], child.lineno
        elif is_for_types(child):
            continue
        elif deep or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from imports(child, deep=deep)


def sources(room: str) -> list[Path]:
    return sorted(ROOMS[room].rglob("*.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_imports_between_rooms_point_one_way(room: str) -> None:
    wrong = []
    for file in sources(room):
        inside = file.relative_to(ROOMS[room]).as_posix()
        for package, line in imports(ast.parse(file.read_bytes()), deep=True):
            allowed = MAY_IMPORT[room] | ({"paceline_bench"} if inside in BENCH_COMMANDS else set())
            if package in ROOMS and package not in allowed:
                wrong.append(f"{inside}:{line} imports {package}")
    assert sources(room)
    assert wrong == []


@pytest.mark.parametrize("room", ["paceline", "paceline_hooks"])
def test_a_hook_process_needs_no_package_to_start(room: str) -> None:
    wrong = []
    for file in sources(room):
        for package, line in imports(ast.parse(file.read_bytes()), deep=False):
            if package not in sys.stdlib_module_names and package not in ROOMS:
                wrong.append(f"{file.name}:{line} imports {package} at module level")
    assert wrong == []


def test_the_launcher_needs_nothing_but_the_standard_library() -> None:
    files = [ROOT / "mcp_server" / "launch.py", *ROOMS["paceline_mcp"].glob("launcher/*.py")]
    files += [ROOMS["paceline_mcp"] / "__init__.py"]
    ours = {"paceline", "paceline_mcp"}
    wrong = []
    for file in files:
        for package, line in imports(ast.parse(file.read_bytes()), deep=True):
            if package not in sys.stdlib_module_names and package not in ours:
                wrong.append(f"{file.name}:{line} imports {package}")
    assert len(files) > 4
    assert wrong == []


def test_the_command_line_starts_without_the_heavy_packages() -> None:
    heavy = {"anthropic", "mcp", "paceline_bench", "pydantic", "rich"}
    shell = [ROOMS["paceline_mcp"] / "cli" / f"{name}.py" for name in ("__init__", "boundary")]
    found = {
        package
        for file in shell
        for package, _ in imports(ast.parse(file.read_bytes()), deep=False)
    }
    assert found.isdisjoint(heavy)


def test_no_source_file_outgrows_400_lines() -> None:
    long = {
        file.relative_to(ROOT).as_posix(): count
        for room in ROOMS
        for file in sources(room)
        if (count := len(file.read_text(encoding="utf-8").splitlines())) > 400
    }
    assert long == {}
