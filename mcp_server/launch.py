"""Start the MCP server in an environment of its own. What plugin.json names; see ``launcher/``.

Kept to syntax that old interpreters parse, so that one too old can look for a newer one.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def newer():  # type: () -> int
    """Replace this too old interpreter by a newer one on PATH, or say what is missing."""
    import shutil
    import subprocess

    for minor in range(19, 10, -1):
        found = getattr(shutil, "which", lambda _: None)("python3.%d" % minor)
        if found:
            args = [found, "-I", "-X", "utf8", os.path.abspath(__file__)] + sys.argv[1:]
            if os.name == "nt":
                return subprocess.call(args)
            os.execv(found, args)
    sys.stderr.write(
        "paceline: the server needs Python 3.11 or later; %s is %d.%d\n"
        % (sys.executable, sys.version_info[0], sys.version_info[1])
        + "paceline: next: install a newer Python, then name it under /plugin, paceline, "
        "'Python for the server'\n"
    )
    return 1


if __name__ == "__main__":
    if sys.version_info < (3, 11):
        sys.exit(newer())
    sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "plugin")]
    from paceline_mcp.launcher.start import main

    sys.exit(main(os.path.dirname(HERE), sys.argv[1:]))
