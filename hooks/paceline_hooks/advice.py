"""A line for Claude before a Read that is large against what is left of the budget.

Asked for large Reads only. The ledger costs several bare starts to load, so a look at its JSON
comes first and says, mostly, that the budget is far from short. Said at most once a file and agent:
a mark of the two is made in the session's folder by the first.
"""

from __future__ import annotations

import os
import time

from paceline import account, jsonl, paths, settings
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
    folder = told.ledger or paths.ledger_dir(state)
    whose = _account(env, state, session)
    if not _may_be_short(os.path.join(folder, f"{whose}.json"), estimate.tokens, told.headroom):
        return None
    budget = _budget(folder, whose, told)
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


def _account(env: Mapping[str, str], state: str, session: str) -> str:
    """Return the session's account: as its log begins with it, else worked out anew."""
    known = account.of_session(paths.events_file(state, session))
    return known or account.account_id(env, state)


def _may_be_short(path: str, cost: int, headroom: float) -> bool:
    """Say whether the ledger may call for advice on a Read of ``cost`` tokens.

    The same question as :func:`_budget` and the advisor answer, asked of the bare JSON. It errs
    towards yes: a limit that may have risen meanwhile is taken as it was.
    """
    try:
        with open(path, "rb") as file:
            families = jsonl.loads(file.read())["families"].values()
        used = [family for family in families if "input" in family["buckets"]]
        if not used:
            return False
        family = max(used, key=lambda one: float(one["buckets"]["input"]["at"]))
        bucket = family["buckets"]["input"]
        learner = family.get("learner") or {}
        limit, pace = bucket.get("limit"), learner.get("pace")
        if limit is None and pace is None:
            return False
        per_s = min(each for each in (pace, limit and limit / 60.0) if each is not None)
        capacity = max(learner.get("burst") or 0.0, per_s * 5.0)
        if limit is not None:
            capacity = (bucket.get("capacity") or limit) * (1.0 - headroom)
        gained = max(0.0, time.time() - bucket["at"]) * per_s
        left = min(capacity, bucket["level"] + gained)
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return True  # of another shape: the ledger itself must say
    return cost > per_s * 60.0 * advisor.SHARE or (cost > advisor.SHORT and left < cost)


def _budget(folder: str, whose: str, told: settings.Settings) -> tuple[float, float] | None:
    """Return (tokens left, tokens a minute) of the input bucket used last, None when unknown."""
    from paceline.ledger import levels, own
    from paceline.ledger.store import FileStore

    ledger = FileStore(folder, whose).snapshot()
    used = [f for f in ledger.families.values() if "input" in f.buckets]
    if not used:
        return None
    family = max(used, key=lambda one: one.buckets["input"].at)
    rate = levels.refilled(family, "input", time.time(), own.policy_of(told))
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
