"""Who was launched, who delivered, who did not and why: the manifest of every run.

It is derived, never stored: a fold over the event log, reconciled with the client's transcripts,
journals and records, either of which may be missing. :func:`build_manifest` gives it as JSON.
"""

from __future__ import annotations

from .accounts import accounts
from .build import build_manifest, read_sessions
from .contract import manifest, worst

__all__ = ["accounts", "build_manifest", "manifest", "read_sessions", "worst"]
