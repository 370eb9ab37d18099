"""Which test holds which promise: ``python -m paceline_bench.ids``, run by ``make check``.

The ids stand in ``docs/promises.md``; a test names them in its docstring, in square brackets.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROMISES = ROOT / "docs" / "promises.md"
TESTS = ROOT / "tests"

_ROW = re.compile(r"^\| (P\d+|I\d+|CASE \d+|§6 [a-z]+) \| ([^|]+)", re.MULTILINE)
_BRACKET = re.compile(r"\[([^\[\]]+)\]")
_ID = re.compile(r"P\d+|I\d+|CASE \d+|§6 [a-z]+")
_SCRIPT_TEST = re.compile(r"""test\(\s*['"`]([^'"`]+)""")


@dataclass(slots=True)
class Held:
    """The ids of the project, what each says, and the tests that hold it."""

    says: dict[str, str]
    tests: dict[str, list[str]] = field(default_factory=dict)

    @property
    def missing(self) -> list[str]:
        """Ids that no test names."""
        return [known for known in self.says if known not in self.tests]

    @property
    def unknown(self) -> dict[str, list[str]]:
        """Ids that tests name and ``docs/promises.md`` does not."""
        return {name: tests for name, tests in self.tests.items() if name not in self.says}


def held(promises: Path = PROMISES, tests: Path = TESTS) -> Held:
    """Read both and return who holds what."""
    text = promises.read_text(encoding="utf-8")
    found = Held({row[1]: row[2].strip() for row in _ROW.finditer(text)})
    for file in sorted(tests.rglob("test_*.py")):
        for test, docstring in _python_tests(file):
            _add(found, f"{file.relative_to(tests).as_posix()}::{test}", docstring)
    for file in sorted(tests.rglob("*.test.ts")):
        for title in _SCRIPT_TEST.findall(file.read_text(encoding="utf-8")):
            _add(found, f"{file.relative_to(tests).as_posix()}::{title}", title)
    return found


def _python_tests(file: Path) -> list[tuple[str, str]]:
    """Return the name and the docstring of each test function of a file."""
    tree = ast.parse(file.read_bytes())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    tests = [n for n in ast.walk(tree) if isinstance(n, kinds) and n.name.startswith("test_")]
    return [(test.name, ast.get_docstring(test) or "") for test in tests]


def _add(found: Held, test: str, text: str) -> None:
    named = (part.strip() for inside in _BRACKET.findall(text) for part in inside.split(","))
    for name in named:
        if _ID.fullmatch(name):
            found.tests.setdefault(name, []).append(test)


def main() -> int:
    """Print the table; exit code 1 when an id has no test or a test names an id that is none."""
    found = held()
    print(f"{'id':<15}{'tests':>5}  what")
    for name, says in found.says.items():
        print(f"{name:<15}{len(found.tests.get(name, ())):>5}  {says[:78]}")
    for name in found.missing:
        print(f"{name} has no test: name it in a docstring, [{name}]", file=sys.stderr)
    for name, tests in found.unknown.items():
        print(f"{name} is not in docs/promises.md, but {tests[0]} names it", file=sys.stderr)
    return 1 if found.missing or found.unknown else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # no stream of ours is bare
    sys.exit(main())
