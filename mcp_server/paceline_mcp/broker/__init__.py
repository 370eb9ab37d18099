"""The broker: between the gate, which asks for every request, and the ledger, which all share.

* ``session``  what this server knows of its session: contexts, prefix keys, transcripts
* ``desk``     any number of waiting calls, one ledger transaction a tick
* ``gate``     the conversation with the gate
* ``evidence`` what the client wrote of a refusal, read from the transcript
"""

from paceline_mcp.broker.desk import Desk
from paceline_mcp.broker.gate import GateDesk
from paceline_mcp.broker.session import Session

__all__ = ["Desk", "GateDesk", "Session"]
