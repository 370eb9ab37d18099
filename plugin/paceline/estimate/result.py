"""Tokens of what a tool call brought back. On a hook's fast path; its time is bounded.

Takes what PostToolUse gives (a structure of the tool's own) and what PostToolBatch gives (the text
or blocks the model will see). The shapes were seen on the client 2.1.332.
"""

from __future__ import annotations

from paceline.estimate import page, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOOKED_AT = 500_000
"""Characters of one result that are priced; a longer one costs in proportion."""
VALUES = 20_000
"""Values of one result that are looked at."""
EMPTY = 25
UNCHANGED = 30
PERSISTED = 100
"""Tokens around the preview of an output that was too long and went to a file."""
PREVIEW = 2_000
HANDBACK = 150
LAUNCHED = 250
EDITED = 50
IMAGE = 1_500
DOCUMENT = 5_000


class _Budget:
    """Counts what was priced and what was passed over."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.tokenizer = text.tokenizer_of(model)
        self.seen = 0
        self.skipped = 0
        self.priced = 0
        self.fixed = 0

    def add(self, value: str) -> None:
        """Price a string as far as the budget goes."""
        part = value[: max(LOOKED_AT - self.seen, 0)]
        self.seen += len(part)
        self.skipped += len(value) - len(part)
        if part:
            self.priced += text.tokens(part, self.tokenizer)

    def total(self) -> int:
        """Return all tokens, those of the skipped text in proportion."""
        return self.fixed + self.priced + self.priced * self.skipped // max(self.seen, 1)


def measure_result(tool_name: str, tool_response: Any, model: str = "") -> int:
    """Return the tokens of a tool's result in the agent's next request. Never raises."""
    budget = _Budget(model if isinstance(model, str) else "")
    if isinstance(tool_response, dict):
        _structure(tool_name, tool_response, budget)
    else:
        _walk(tool_response, budget)
    return budget.total()


def _structure(tool_name: str, found: dict[str, Any], budget: _Budget) -> None:
    if tool_name == "Read":
        _read(found, budget)
    elif tool_name in ("Bash", "PowerShell") and "stdout" in found:
        _shell(found, budget)
    elif tool_name in ("Edit", "MultiEdit", "Write", "NotebookEdit"):
        budget.fixed += EDITED
        _walk(found.get("filePath"), budget)
    elif tool_name in ("Agent", "Task", "Workflow") and "status" in found:
        if found.get("status") == "completed":
            budget.fixed += HANDBACK
            _walk(found.get("content"), budget)
        else:
            budget.fixed += LAUNCHED
    elif tool_name == "WebFetch" and "result" in found:
        _walk(found["result"], budget)
    elif tool_name.startswith("mcp__") and "content" in found:
        _walk(found["content"], budget)
    else:
        _walk(found, budget)


def _read(found: dict[str, Any], budget: _Budget) -> None:
    file = found.get("file")
    kind = found.get("type")
    if kind == "file_unchanged":
        budget.fixed += UNCHANGED
    elif not isinstance(file, dict):
        _walk(found, budget)
    elif isinstance(file.get("content"), str):
        _lines(file, budget)
    elif kind == "notebook":
        _walk(file.get("cells"), budget)
    elif kind == "image":
        size = file.get("dimensions")
        wide, high = (_side(size, "displayWidth"), _side(size, "displayHeight"))
        budget.fixed += _sized(wide, high, budget) or _pixels(file.get("base64"), budget)
    elif kind in ("pdf", "parts"):
        budget.fixed += _document(file, budget)
    else:
        _walk(found, budget)


def _lines(file: dict[str, Any], budget: _Budget) -> None:
    content: str = file["content"]
    if not content:
        budget.fixed += EMPTY
        return
    first = file.get("startLine")
    part = content[:LOOKED_AT].split("\n")
    shown = page.numbered(part, first if isinstance(first, int) else 1)
    budget.seen = min(len(content), LOOKED_AT)
    budget.skipped = len(content) - budget.seen
    budget.priced = text.tokens(shown, budget.tokenizer)
    if file.get("truncatedByTokenCap") is True:
        budget.fixed += page.PARTIAL_NOTE


def _shell(found: dict[str, Any], budget: _Budget) -> None:
    out = found.get("stdout")
    if found.get("isImage") is True and isinstance(out, str):
        budget.fixed += _pixels(out.partition("base64,")[2] or out, budget)
        return
    if found.get("persistedOutputPath"):
        budget.fixed += PERSISTED
        out = out[:PREVIEW] if isinstance(out, str) else ""
    for value in (out, found.get("stderr")):
        if isinstance(value, str):
            budget.add(value)
    if not budget.seen:
        budget.fixed += EMPTY // 2


def _walk(value: Any, budget: _Budget) -> None:
    """Price every string below ``value``, without recursion."""
    stack = [value]
    for _ in range(VALUES):
        if not stack:
            return
        item = stack.pop()
        if isinstance(item, str):
            budget.add(item)
        elif isinstance(item, dict):
            if item.get("type") == "image" or "image_data" in item:
                source = item.get("source") or item.get("file") or item
                data = source if isinstance(source, dict) else {}
                budget.fixed += _pixels(
                    data.get("data") or data.get("base64") or data.get("image_data"), budget
                )
            elif item.get("type") == "document":
                source = item.get("source")
                budget.fixed += _document(source if isinstance(source, dict) else {}, budget)
            elif item.get("type") == "text" and isinstance(item.get("text"), str):
                budget.add(item["text"])
            else:
                stack.extend(item.values())
        elif isinstance(item, (list, tuple)):
            stack.extend(item[:VALUES])
        elif item is not None:
            budget.fixed += 1


def _side(size: object, name: str) -> int:
    value = size.get(name) if isinstance(size, dict) else None
    return value if isinstance(value, int) and value > 0 else 0


def _sized(wide: int, high: int, budget: _Budget) -> int:
    from paceline.estimate import image

    return image.tokens_of(wide, high, budget.model) if wide and high else 0


def _pixels(data: object, budget: _Budget) -> int:
    from paceline.estimate import image  # few results need it

    return (image.tokens_of_base64(data, budget.model) if isinstance(data, str) else 0) or IMAGE


def _document(file: dict[str, Any], budget: _Budget) -> int:
    from paceline.estimate import document, image

    data = file.get("base64") or file.get("data")
    pages = file.get("count")
    if isinstance(pages, int) and 0 < pages <= document.PDF_CALL:
        return pages * image.tokens_of(*document.PDF_PAGE_PIXELS, budget.model)
    return document.pdf_of_base64(data, budget.model) if isinstance(data, str) else DOCUMENT
