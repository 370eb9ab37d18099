"""``python -m paceline_mcp``: the command line, where no ``paceline`` script is installed."""

from __future__ import annotations

from paceline_mcp.cli import main

if __name__ == "__main__":
    main()
