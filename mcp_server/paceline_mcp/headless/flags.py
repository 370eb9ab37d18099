"""Which of the client's flags take a value, as its own help tells (2.1.240 and 2.1.332).

The client reads its command line with Commander: a required value is the next word whatever it
looks like, an optional one is the next word unless that begins with a dash, a list takes words up
to the next flag. What is in none of these tables and starts with a dash takes none.
"""

from __future__ import annotations

REQUIRED = frozenset(
    {
        "--agent",
        "--agents",
        "--append-subagent-system-prompt",
        "--append-subagent-system-prompt-file",
        "--append-system-prompt",
        "--append-system-prompt-file",
        "--autocompact",
        "--debug-file",
        "--effort",
        "--environment",
        "--fallback-model",
        "--fast-mode",
        "--input-format",
        "--json-schema",
        "--managed-settings",
        "--max-budget-usd",
        "--max-thinking-tokens",
        "--max-turns",
        "--model",
        "--name",
        "-n",
        "--output-format",
        "--parent-session-id",
        "--permission-mode",
        "--permission-prompt-tool",
        "--permission-prompts",
        "--plan-mode-instructions",
        "--plugin-dir",
        "--plugin-dir-no-mcp",
        "--plugin-url",
        "--prefill",
        "--remote-control-session-name-prefix",
        "--resume-drops-turn",
        "--resume-session-at",
        "--rewind-files",
        "--sdk-url",
        "--session-id",
        "--setting-sources",
        "--settings",
        "--system-prompt",
        "--system-prompt-file",
        "--system-prompt-snapshot",
        "--task-budget",
    }
)

OPTIONAL = frozenset(
    {
        "--cloud",
        "--debug",
        "-d",
        "--from-pr",
        "--prompt-suggestions",
        "--rc",
        "--remote",
        "--remote-control",
        "--resume",
        "-r",
        "--teleport",
        "--worktree",
        "-w",
    }
)

LISTS = frozenset(
    {
        "--add-dir",
        "--allowed-tools",
        "--allowedTools",
        "--betas",
        "--channels",
        "--dangerously-load-development-channels",
        "--disallowed-tools",
        "--disallowedTools",
        "--file",
        "--mcp-config",
        "--tools",
    }
)

NONE = frozenset(
    {
        "--allow-dangerously-skip-permissions",
        "--ax-screen-reader",
        "--background",
        "--bare",
        "--bg",
        "--brief",
        "--chrome",
        "--continue",
        "-c",
        "--dangerously-skip-permissions",
        "--desktop",
        "--disable-slash-commands",
        "--enable-auto-mode",
        "--exclude-dynamic-system-prompt-sections",
        "--fork-session",
        "--forward-subagent-text",
        "--help",
        "-h",
        "--ide",
        "--include-hook-events",
        "--include-partial-messages",
        "--init",
        "--maintenance",
        "--no-chrome",
        "--no-session-persistence",
        "--print",
        "-p",
        "--replay-user-messages",
        "--restricted",
        "--safe-mode",
        "--strict-mcp-config",
        "--tmux",
        "--verbose",
        "--version",
        "-v",
    }
)

SESSION = frozenset(
    {
        "--continue",
        "-c",
        "--fork-session",
        "--from-pr",
        "--input-format",
        "--replay-user-messages",
        "--resume",
        "-r",
        "--resume-drops-turn",
        "--resume-session-at",
        "--rewind-files",
        "--session-id",
        "--teleport",
    }
)
"""Flags that say which session it is or how its input comes: gone when it is resumed."""
