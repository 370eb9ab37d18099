"""Paceline's domain: what a request costs, who may go when, who was lost, and why.

Every module here decides; none imports third-party code at module level. Files, locks and clocks
are touched only by ``store``, ``events`` and ``paths``.
"""

__version__ = "0.1.0"
