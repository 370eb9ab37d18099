"""The MCP server of Paceline, its broker for the gate, and the command line."""
