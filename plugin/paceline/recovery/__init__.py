"""Bringing the dead back: which, how, with which ticket, and what Claude is told to do.

:func:`plan` is pure; :func:`requeue` also writes the completion scripts and notes the tickets.
"""

from __future__ import annotations

from .completion import Call, Completion, complete
from .issue import issue, requeue
from .tickets import Ticket, open_drops, plan, ticket_id
from .words import for_claude, for_person

__all__ = [
    "Call",
    "Completion",
    "Ticket",
    "complete",
    "for_claude",
    "for_person",
    "issue",
    "open_drops",
    "plan",
    "requeue",
    "ticket_id",
]
