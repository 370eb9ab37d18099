"""Any tool call before it runs, and what came back after it ran. On a hook's fast path."""

from __future__ import annotations

from paceline.estimate import image, read, text
from paceline.estimate.value import Estimate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MEASURED_MAX = 2_000_000
"""Characters of one result that are looked at; a longer one is scaled from this many."""

# tool: (kind, tokens, low, high) before anything was learned.
_PRIOR = {
    "Grep": ("search", 500, 40, 6_000),
    "Glob": ("search", 400, 20, 2_500),
    "LS": ("search", 300, 20, 2_500),
    "Bash": ("shell", 600, 20, 10_000),
    "PowerShell": ("shell", 600, 20, 10_000),
    "BashOutput": ("shell", 600, 20, 10_000),
    "TaskOutput": ("shell", 600, 20, 10_000),
    "WebFetch": ("web", 1_000, 100, 4_000),
    "WebSearch": ("web", 1_500, 300, 6_000),
    "Agent": ("agent", 1_000, 100, 6_000),
    "Task": ("agent", 1_000, 100, 6_000),
    "Edit": ("edit", 250, 40, 1_000),
    "MultiEdit": ("edit", 400, 40, 2_000),
    "Write": ("edit", 120, 30, 600),
    "NotebookEdit": ("edit", 200, 40, 1_000),
}
_MCP = ("mcp", 1_000, 20, 25_000)
_OTHER = ("other", 150, 10, 1_000)


def estimate_call(
    tool_name: str,
    tool_input: Mapping[str, Any],
    model: str = "",
    env: Mapping[str, str] | None = None,
    learned: Mapping[str, float] | None = None,
) -> Estimate:
    """Return what this call's result will add to the next request. Never raises.

    Args:
        tool_name: as in the hook's input.
        tool_input: as in the hook's input; fields of a wrong type count as absent.
        model: id or alias of the agent's model.
        env: the client's environment, by default this process's.
        learned: factor by kind (``learn.factors``), 1.0 where it is silent.
    """
    fields = tool_input if isinstance(tool_input, dict) else {}
    if tool_name == "Read":
        found = read.estimate_read(
            _text(fields, "file_path"),
            _int(fields, "offset"),
            _int(fields, "limit"),
            pages=_text(fields, "pages") or None,
            model=model,
            env=env,
        )
    else:
        kind, cost, low, high = (
            _MCP if tool_name.startswith("mcp__") else _PRIOR.get(tool_name, _OTHER)
        )
        found = Estimate(tool_name, kind, cost, low, high, reason="prior")
    factor = (learned or {}).get(found.kind, 1.0)
    if factor != 1.0:
        found.tokens = round(found.tokens * factor)
        found.low = round(found.low * factor)
        found.high = round(found.high * factor)
    return found


def measure_result(tool_name: str, tool_response: Any, model: str = "") -> int:
    """Return the tokens of what came back: PostToolUse's structure or PostToolBatch's text.

    Bounded: looks at two million characters at most. Never raises.
    """
    tokenizer = text.tokenizer_of(model)
    if tool_name == "Read" and isinstance(tool_response, dict):
        file = tool_response.get("file")
        if isinstance(file, dict) and isinstance(file.get("content"), str):
            first = file.get("startLine")
            lines = file["content"].encode("utf-8", "surrogatepass").split(b"\n")
            return text.tokens_of(
                read.numbered(lines, first if isinstance(first, int) else 1), tokenizer
            )
    budget = [MEASURED_MAX]
    total, seen, skipped = _walk(tool_response, tokenizer, model, budget)
    return total + (total * skipped // seen if seen and skipped else 0)


def _walk(value: Any, tokenizer: str, model: str, budget: list[int]) -> tuple[int, int, int]:
    """Return (tokens, characters looked at, characters passed over), without recursion."""
    total = seen = skipped = 0
    stack = [value]
    steps = 0
    while stack:
        item = stack.pop()
        steps += 1
        if steps > 200_000:
            break
        if isinstance(item, str):
            part = item[: max(budget[0], 0)]
            budget[0] -= len(item)
            skipped += len(item) - len(part)
            seen += len(part)
            total += text.tokens(part, tokenizer) if part else 0
        elif isinstance(item, dict):
            if item.get("type") == "image":
                total += _image(item, model)
            else:
                stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif item is not None:
            total += 1
    return total, seen, skipped


def _image(item: dict[str, Any], model: str) -> int:
    from base64 import b64decode  # noqa: PLC0415  images are rare, start-up is not

    source = item.get("source") or item.get("file") or item
    data = source.get("data") or source.get("base64") if isinstance(source, dict) else None
    if not isinstance(data, str):
        return 1_600
    head = data[:65536].encode("ascii", "replace")
    try:
        return image.tokens(b64decode(head[: len(head) // 4 * 4]), model) or 1_600
    except ValueError:
        return 1_600


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _int(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
