"""Where no gate paces a session's requests, its hooks hold them.

``hold`` brings the ledger with it, which a hook on the fast path cannot pay: it is imported when
there is something to hold and not before.
"""

from __future__ import annotations

from paceline import paths, settings

from . import event as fields
from . import presence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from paceline.estimate.value import Estimate

    Output = dict[str, Any] | None


def ours(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> bool:
    """Say whether to hold: an agent's request, in mode ``pace``, with no gate alive.

    The main thread is never held: a person does not queue behind agents.
    """
    if fields.agent_of(event) is None or settings.mode(env) != settings.PACE:
        return False
    session = fields.session_of(event, env)
    return session is not None and not presence.gate_alive(paths.state_dir(env), session, now)


def before_first_request(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> Output:
    """Hold a new agent until its first request may go."""
    if not ours(event, env, now):
        return None
    from . import hold

    return hold.before_first_request(event, now)


def before_continuation(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> Output:
    """Hold an agent whose tools have answered until its next request may go."""
    if not ours(event, env, now):
        return None
    from . import hold

    return hold.before_continuation(event, now)


def before_tool(
    event: Mapping[str, Any], env: Mapping[str, str], now: float, estimate: Estimate
) -> Output:
    """Hold a tool call of an agent, where that is the place to do it."""
    if not ours(event, env, now):
        return None
    from . import hold

    return hold.before_tool(event, estimate)
