"""The launcher's package list, kept in step with uv.lock: ``python -m paceline_bench.pins``.

``--write`` makes it anew (``make lock``); without it, exit code 1 says that they differ.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from uv import find_uv_bin

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "mcp_server" / "requirements.lock"
HEADER = "# Made from uv.lock by: make lock\n"


def export() -> str:
    """Return what uv.lock says the server needs, with hashes. No network."""
    command = [find_uv_bin(), "export", "--frozen", "--no-dev", "--no-emit-project", "--no-header"]
    told = [*command, "--offline", "--quiet", "--project", str(ROOT)]
    done = subprocess.run(told, check=True, capture_output=True, encoding="utf-8")
    return HEADER + done.stdout


def main(argv: list[str]) -> int:
    """Write the list, or tell whether it is what uv.lock says."""
    wanted = export()
    if argv == ["--write"]:
        LIST.write_text(wanted, encoding="utf-8", newline="\n")
    elif LIST.read_text(encoding="utf-8") != wanted:
        print("mcp_server/requirements.lock differs from uv.lock; next: make lock", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
