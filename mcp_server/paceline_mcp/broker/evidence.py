"""Why a request failed: the error row that the client wrote to the transcript.

The gate sees only that its request came to nothing. The row is written when the gate has passed the
failed attempt's chunk on (measured on client 2.1.332), a moment later at most. Where no transcript
is kept, the row's text is all there is: the client hands it to the gate (``session.append``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from paceline import refusals
from paceline.transcripts.lines import last_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from paceline.refusals import Refusal

ROWS = 12
PATIENCE_S = 2.0
POLL_S = 0.02
SLACK_S = 0.25


async def refusal_of(
    transcript: Callable[[], str | None], since: float, now: float, said: str = "", *, kept: bool
) -> Refusal | None:
    """Wait for the error row of a request that went at ``since``; None when none comes.

    Args:
        transcript: gives the file to look in, None while there is none.
        since: epoch seconds.
        now: epoch seconds.
        said: the row's text, where the gate was told it.
        kept: whether a transcript is written at all; without one only ``said`` tells.
    """
    with anyio.move_on_after(PATIENCE_S):
        while True:
            path = transcript()
            rows = last_rows(path, ROWS) if path else []
            found = refusals.from_last_rows(rows, since - SLACK_S, now)
            if found is not None:
                return found
            if said and not kept:
                break
            await anyio.sleep(POLL_S)
    return refusals.from_death_note(said, now) if said else None
