"""What is set for the client, unless the person set it: documented variables only. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

RETRIES = "CLAUDE_CODE_MAX_RETRIES"
WATCHDOG = "CLAUDE_CODE_RETRY_WATCHDOG"

ALWAYS = {
    # -p waits for what it launched in the background, however long that takes.
    "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS": "0",
}
UNPACED = {
    # Nothing paces: let each request try as often as the client allows (its default is 10). Not
    # CLAUDE_CODE_RETRY_WATCHDOG: an agent that waits for a plan's reset inside a request is ended
    # by the client's stall watchdog after 10 minutes, and nobody is told that it waits.
    RETRIES: "15",
}


def for_client(env: Mapping[str, str], state: str, *, paced: bool) -> dict[str, str]:
    """Return the client's environment.

    Args:
        env: the person's.
        state: Paceline's state folder, so that the plugin and this command share one.
        paced: whether the plugin is in the session.
    """
    helps = {**ALWAYS, "PACELINE_STATE_DIR": state}
    if not paced and not env.get(WATCHDOG):
        helps |= UNPACED
    return {**helps, **{name: value for name, value in env.items() if value or name not in helps}}
