"""A script that finishes a workflow: what is done stays done, only dead calls run. Pure.

*Replay* is the run's own script with ``agent()`` shadowed: a call whose prompt has a finished
result gets it at once, a dead one runs, and everything the script does with the results happens as
written. Where the script is not to be had or does not fit, *items* runs the dead prompts alone and
returns the array of all results in the order of the calls.
"""

from __future__ import annotations

from .javascript import literal, split_meta

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

SCRIPT_MAX = 524_288
"""Bytes of a workflow's script at most (client 2.1.240 and 2.1.332 refuse a longer file)."""

REPLAY, ITEMS, BARE = "replay", "items", "bare"
"""The script again with results in place; the dead items beside literal results; the dead items
alone, because the finished results would not fit into a script."""

_SHADOW = """
const __paceline = {
  agent,
  saved: %(saved)s,
  // Each finished call is answered once: its prompt, and its label where two share a prompt.
  take(prompt, options) {
    const label = options && options.label;
    const same = (one) => !one.used && one.prompt === String(prompt).trim();
    const found = this.saved.find((one) => same(one) && one.label === label)
      || this.saved.find(same);
    if (found) found.used = true;
    return found;
  },
};
{
const agent = async (prompt, options) => {
  const found = __paceline.take(prompt, options);
  return found ? found.result : await __paceline.agent(prompt, options);
};
%(args)s"""

_ITEMS = """export const meta = %(meta)s;
const results = %(results)s;
const dead = %(dead)s;
const again = await parallel(dead.map((one) => () => agent(one.prompt, one.options)));
again.forEach((result, at) => { results[dead[at].at] = result; });
return results;
"""

_BARE = """export const meta = %(meta)s;
const dead = %(dead)s;
return await parallel(dead.map((one) => () => agent(one.prompt, one.options)));
"""


class Call:
    """One ``agent()`` call of the run.

    Attributes:
        prompt: whole.
        label, phase, agent_type: each "" when not known.
        run_again: whether it is to run; else ``result`` stands (null for one that is given up).
        result: what it returned.
    """

    __slots__ = ("agent_type", "label", "phase", "prompt", "result", "run_again")

    def __init__(
        self,
        prompt: str,
        *,
        label: str = "",
        phase: str = "",
        agent_type: str = "",
        run_again: bool,
        result: Any = None,
    ) -> None:
        self.prompt = prompt
        self.label = label
        self.phase = phase
        self.agent_type = agent_type
        self.run_again = run_again
        self.result = result


class Completion:
    """A generated script.

    Attributes:
        script: its text.
        kind: ``replay``, ``items`` or ``bare``.
        again: how many calls run again.
        kept: how many finished results it holds.
    """

    __slots__ = ("again", "kept", "kind", "script")

    def __init__(self, script: str, kind: str, again: int, kept: int) -> None:
        self.script = script
        self.kind = kind
        self.again = again
        self.kept = kept


def complete(calls: Sequence[Call], script: str = "", args: Any = None) -> Completion | None:
    """Return the script that finishes a run, or None where no call can run again.

    Args:
        calls: the run's calls, in the order they were made.
        script: the run's own script, or "".
        args: what the run was called with.
    """
    again = sum(call.run_again for call in calls)
    if not again:
        return None
    kept = len(calls) - again
    for kind, build in ((REPLAY, _replay), (ITEMS, _items), (BARE, _bare)):
        text = build(calls, script, args)
        if text is not None and len(text.encode("utf-8", "surrogatepass")) <= SCRIPT_MAX:
            return Completion(text, kind, again, kept if kind != BARE else 0)
    return None


def _replay(calls: Sequence[Call], script: str, args: Any) -> str | None:
    parted = split_meta(script)
    # A nested workflow has its own agent(), which cannot be shadowed from here.
    if parted is None or "workflow(" in parted[1]:
        return None
    meta, body = parted
    saved = [
        {"prompt": call.prompt.strip(), "result": call.result}
        | ({"label": call.label} if call.label else {})
        for call in calls
        if not call.run_again
    ]
    shadow = _SHADOW % {
        "saved": literal(saved),
        "args": "" if args is None else f"const args = {literal(args)};\n",
    }
    return f"{meta};{shadow}{body}\n}}\n"


def _items(calls: Sequence[Call], _script: str, _args: Any) -> str | None:
    return _ITEMS % {
        "meta": _meta(calls),
        "results": literal([call.result for call in calls]),
        "dead": literal(_dead(calls)),
    }


def _bare(calls: Sequence[Call], _script: str, _args: Any) -> str | None:
    return _BARE % {"meta": _meta(calls), "dead": literal(_dead(calls))}


def _dead(calls: Sequence[Call]) -> list[dict[str, Any]]:
    found = []
    for at, call in enumerate(calls):
        if call.run_again:
            told = {"label": call.label, "phase": call.phase, "agentType": call.agent_type}
            options = {name: value for name, value in told.items() if value}
            found.append({"at": at, "prompt": call.prompt, "options": options})
    return found


def _meta(calls: Sequence[Call]) -> str:
    """Return the head of a script of our own: it must be a plain literal of plain words."""
    again = sum(call.run_again for call in calls)
    return (
        '{ name: "paceline-completion", description: "Run again the '
        f'{again} of {len(calls)} agents that a limit refused" }}'
    )
