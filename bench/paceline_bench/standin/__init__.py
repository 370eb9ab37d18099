"""A stand-in for the client, for machines where none is to be had.

It plays the same fan-out against the same simulated API: agents that talk HTTP, retry as the
client does, and die when their retries are spent. Given a plugin it runs that plugin's own command
hooks, as real processes, at the points where the client runs them; it has no gate and no MCP
server, so it shows what the hooks alone do. It measures nothing about the client itself.
"""

from __future__ import annotations

from paceline_bench.standin.run import run_stand_in

__all__ = ["run_stand_in"]
