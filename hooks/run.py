"""Run one hook: an event on stdin, JSON or nothing on stdout, always exit 0 (docs/start-up.md)."""

import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(os.path.dirname(here), "plugin")]
if "CLAUDE_PLUGIN_DATA" in os.environ and not os.access(here, os.W_OK):
    sys.pycache_prefix = os.path.join(os.environ["CLAUDE_PLUGIN_DATA"], "pycache")
try:
    from paceline_hooks.dispatch import main
except Exception:  # noqa: BLE001 - fails open; `paceline doctor` tells of hooks that leave no trace
    sys.exit(0)
main()
