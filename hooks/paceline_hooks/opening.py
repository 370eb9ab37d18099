"""Until when the account is closed, as its ledger knows: to the second, whoever was refused.

A text that the client writes for a person has the time to the minute only, cut and not rounded
(2.1.240, 2.1.332): it may be most of a minute early.
"""

from __future__ import annotations

from paceline import settings
from paceline.families import ALL, family_of

from . import event as fields
from . import replies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def until(
    event: Mapping[str, Any], env: Mapping[str, str], now: float, *, told: bool = False
) -> float:
    """Return until when a plan's window closes the account, or the main thread's model.

    Args:
        event: of the session.
        env: the hook's environment.
        now: epoch seconds.
        told: only what the API told; without, also a guess of ours where it told nothing.

    Returns:
        Epoch seconds; 0 when neither is closed.
    """
    from paceline.ledger import own

    known = own.store_of(env, settings.load(env)).snapshot().families
    path = fields.text_of(event, "transcript_path", fields.PATH_MAX)
    names = {ALL, *(family_of(reply.model) for reply in replies.read(path, now)[-1:])}
    breakers = [known[name].breaker for name in names if name in known]
    return max(
        (one.until for one in breakers if one.cause == "quota" and (one.told or not told)),
        default=0.0,
    )
