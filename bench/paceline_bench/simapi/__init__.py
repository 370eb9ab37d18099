"""A simulated Messages API: limits, prompt cache, refusals and a scripted model, on loopback.

The core (``bucket``, ``cache``, ``counting``, ``account``, ``headers``, ``refusals``, ``script``,
``stream``) is pure; ``server`` puts a clock, a socket and a log around it.
"""

from __future__ import annotations

from paceline_bench.simapi.config import Config, Fault, from_json, quota_closed
from paceline_bench.simapi.records import Record, read_log
from paceline_bench.simapi.server import Running, running

__all__ = [
    "Config",
    "Fault",
    "Record",
    "Running",
    "from_json",
    "quota_closed",
    "read_log",
    "running",
]
