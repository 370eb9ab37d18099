"""Where no gate paces a session's requests, its hooks hold them.

``hold`` brings the ledger with it, which a hook on the fast path cannot pay: it is imported when
there is something to hold or to settle, and not before.
"""

from __future__ import annotations

from paceline import paths, settings

from . import event as fields
from . import presence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from paceline.refusals import Refusal

HEADLESS = "sdk-"
"""How the client names an entry without a terminal (``sdk-cli`` is ``claude -p``)."""


def ours(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> bool:
    """Say whether to hold: an agent's request, in mode ``pace``, with no gate alive.

    The main thread is not held by this: a person does not queue behind agents.
    """
    if fields.agent_of(event) is None or settings.mode(env) != settings.PACE:
        return False
    session = fields.session_of(event, env)
    return session is not None and not presence.gate_alive(paths.state_dir(env), session, now)


def before_first_request(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> None:
    """Hold a new agent until its first request may go."""
    if ours(event, env, now):
        from . import arriving, hold

        state, session = paths.state_dir(env), str(fields.session_of(event, env))
        log = paths.events_file(state, session)
        if not (arriving.waited(state, log) and arriving.brings_gate(event)):
            hold.before_first_request(event, now)


def before_continuation(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> None:
    """Hold an agent whose tools have answered until its next request may go."""
    if ours(event, env, now):
        from . import hold

        hold.before_continuation(event, now)
    elif fields.agent_of(event) is None:
        before_main(event, env, now)


def before_main(
    event: Mapping[str, Any], env: Mapping[str, str], now: float, ended: Iterable[str] = ()
) -> float:
    """Hold the main thread of a headless session while the quota is closed; return the time then.

    In any other session, and for any other reason, it is never held. ``ended``: ids of the
    background work that the event tells of.
    """
    if not env.get("CLAUDE_CODE_ENTRYPOINT", "").startswith(HEADLESS):
        return now
    if settings.mode(env) != settings.PACE:
        return now
    from . import closed

    return closed.wait(event, env, now, ended)


def after_last_request(event: Mapping[str, Any], env: Mapping[str, str], now: float) -> None:
    """Settle what an agent that stopped had reserved."""
    if ours(event, env, now):
        from . import hold

        hold.after_last_request(event, now)


def after_refusal(
    event: Mapping[str, Any], env: Mapping[str, str], now: float, refusal: Refusal
) -> None:
    """Tell the ledger what refused an agent's request for good."""
    if ours(event, env, now):
        from . import hold

        hold.after_refusal(event, refusal, now)
