"""Names of agent types that the client gives by itself (clients 2.1.240 and 2.1.332)."""

from __future__ import annotations

WORKFLOW = "workflow-subagent"
"""An agent of a workflow."""
PLAIN = "general-purpose"
"""What an Agent call that names no type launches."""
