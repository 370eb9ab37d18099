"""A stand-in for the client, for machines where none is to be had.

It plays the same fan-out against the same simulated API: agents that talk HTTP, retry as the
client does, and die when their retries are spent. Given a plugin it starts that plugin's MCP
server and runs its command hooks, as real processes, at the points where the client runs them. It
runs no hooks module, so there is no gate: it shows what hooks and ledger alone do, and measures
nothing about the client.
"""

from __future__ import annotations

from paceline_bench.standin.run import run_stand_in

__all__ = ["run_stand_in"]
