"""Whether the MCP server's packages are installed, and where."""

from __future__ import annotations

import sys
from pathlib import Path

from paceline.transcripts import find
from paceline_mcp.doctor.row import Level, Row
from paceline_mcp.launcher import places
from paceline_mcp.launcher.start import LOG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "server's packages"


def server_row(env: Mapping[str, str], root: Path | None = None) -> Row:
    """Look where the launcher would look, and into the data folders of installed plugins."""
    root = root or Path(__file__).resolve().parents[3]
    if not (root / "mcp_server" / "launch.py").is_file():
        return Row(NAME, Level.FINE, f"installed with this command ({sys.prefix})")
    checkout = places.checkout_venv(root)
    if checkout is not None:
        return Row(NAME, Level.FINE, f"ready in the checkout, {checkout}")
    data = sorted(Path(find.config_dir(env), "plugins", "data").glob("paceline-*/venv"))
    found = [Path(folder) for folder in [*places.folders(env), *data]]
    ready = [venv for folder in found for venv in sorted(folder.glob("*")) if places.is_ready(venv)]
    script = root / "mcp_server" / "launch.py"
    following = f'{Path(sys.executable).name} "{script}" --install'
    if ready:
        newest = max(ready, key=lambda venv: (venv / places.READY).stat().st_mtime)
        return Row(NAME, Level.FINE, f"ready, {newest}")
    logs = [folder / LOG for folder in found if (folder / LOG).is_file()]
    if logs:
        what = f"the last installation did not finish; its log is {logs[0]}"
        return Row(NAME, Level.BAD, what, following)
    what = "not installed yet; the first session with the plugin does it, in about 10 s"
    return Row(NAME, Level.NOTE, what, following)
