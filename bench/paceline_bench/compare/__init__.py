"""Paceline beside what a user would pick instead, in one run on the virtual clock.

* ``loop``     an asyncio loop whose time is virtual, for libraries that wait on it
* ``generic``  generic limiters in front of the client, with the ledger's own cost estimates
* ``rows``     who is compared in which scenarios

``python -m paceline_bench.compare`` prints the tables (``--markdown``, ``--json``).
"""

from __future__ import annotations

from paceline_bench.compare.rows import SCENARIOS, Row, compared

__all__ = ["SCENARIOS", "Row", "compared"]
