"""A line for Claude before a Read that is large against what is left of the budget.

Asked for large Reads only: it reads the ledger's snapshot, which a small one must not pay for. Said
at most once a file and agent: a mark of the two is made in the session's folder by the first.
"""

from __future__ import annotations

import os
import time

from paceline import account, paths, settings
from paceline.estimate import advise as advisor

from . import event as fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from paceline.estimate.value import Estimate


def before_read(
    event: Mapping[str, Any], env: Mapping[str, str], estimate: Estimate
) -> dict[str, Any] | None:
    """Return the output of PreToolUse for a Read, or None when there is nothing to say."""
    told = settings.load(env)
    session = fields.session_of(event, env)
    if told.advise_reads == settings.OFF or told.mode != settings.PACE or session is None:
        return None
    state = paths.state_dir(env)
    budget = _budget(env, state, told)
    if budget is None:
        return None
    given = fields.dict_of(event, "tool_input")
    left, rate = budget
    advice = advisor.advise(
        estimate, left=left, rate=rate, mode=told.advise_reads, tool_input=given
    )
    if advice is None or not _first(state, session, event, str(given.get("file_path"))):
        return None
    said: dict[str, Any] = {"hookEventName": "PreToolUse", "additionalContext": advice.text}
    if advice.updated_input is not None:
        said["updatedInput"] = advice.updated_input
    return {"hookSpecificOutput": said}


def _budget(
    env: Mapping[str, str], state: str, told: settings.Settings
) -> tuple[float, float] | None:
    """Return (tokens left, tokens a minute) of the input bucket used last, None when unknown."""
    from paceline.ledger import levels
    from paceline.ledger.store import FileStore
    from paceline.ledger.verdicts import Policy

    folder = told.ledger or paths.ledger_dir(state)
    ledger = FileStore(folder, account.account_id(env, state)).snapshot()
    used = [f for f in ledger.families.values() if "input" in f.buckets]
    if not used:
        return None
    family = max(used, key=lambda one: one.buckets["input"].at)
    rate = levels.refilled(family, "input", time.time(), Policy(headroom=told.headroom))
    if rate is None:
        return None
    return family.buckets["input"].level, rate.per_s * 60.0


def _first(state: str, session: str, event: Mapping[str, Any], path: str) -> bool:
    """Whether this agent was not advised on this file before; it is now."""
    import hashlib

    agent = fields.agent_of(event) or ""
    mark = hashlib.sha256(f"{agent}\0{path}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
    folder = os.path.join(paths.session_dir(state, session), "advised")
    paths.make_private(folder)
    try:
        os.close(os.open(os.path.join(folder, mark), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True
