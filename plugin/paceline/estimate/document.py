"""Tokens of what Read returns for an image, a PDF or a notebook. Loaded on first use."""

from __future__ import annotations

import binascii
import json
import re

from paceline.estimate import image as pixels
from paceline.estimate import text
from paceline.estimate.page import SIZE_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from paceline.estimate.page import Source

IMAGE = 1_500
"""Tokens of an image whose size is not known."""
PDF_PAGE = 2_000
"""Text tokens of a PDF's page: 1,500 to 3,000 by the API's documentation, plus its image."""
PDF_PAGE_PIXELS = (1_275, 1_650)
"""A letter page as an image, at 150 dots an inch."""
PDF_CALL = 20
OUTPUTS_MAX = 10_000
"""Characters of a cell's outputs that a Read still includes."""

_PAGE_DIGITS = 6
_PAGE_OBJECT = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_PAGE_COUNT = re.compile(rb"/Count\s+(\d{1,6})")
_LINEARIZED = re.compile(rb"/Linearized.{0,200}?/N\s+(\d{1,6})", re.DOTALL)
_BYTES_A_PAGE = 60_000


class Cost:
    """Tokens with a range, or the reason why there is no content."""

    __slots__ = ("capped", "high", "low", "reason", "tokens")

    def __init__(
        self, tokens: int, low: float = 0.0, high: float = 0.0, *, reason: str = ""
    ) -> None:
        self.tokens = tokens
        self.low = int(tokens * low)
        self.high = int(tokens * high) + 1
        self.reason = reason
        self.capped = reason.startswith("over")


def image(source: Source, model: str) -> Cost:
    """Return the cost of an image from its header."""
    found = pixels.size(source.read(0, SIZE_MAX))
    if found is None:
        return Cost(0, reason="not an image")
    return Cost(pixels.tokens_of(*found, model), 0.95, 1.05)


def pdf(source: Source, pages: str | None, model: str) -> Cost:
    """Return the cost of a PDF: of the pages asked for as images, else of all of it.

    Which pages a PDF has is seen in its first and last 128 KB; inside a compressed object it is
    not, and the file's size has to say. The range is as wide as that.
    """
    half = SIZE_MAX // 2
    head = source.read(0, half)
    if not head.startswith(b"%PDF-"):
        return Cost(0, reason="not a pdf")
    tail = source.read(max(half, source.size - half), half)
    image_cost = pixels.tokens_of(*PDF_PAGE_PIXELS, model)
    if pages:
        count = page_count(pages)
        return Cost(count * image_cost, 0.7, 1.3) if count else Cost(0, reason="over 20 pages")
    count, sure = pdf_pages(head, tail, source.size)
    a_page = image_cost + PDF_PAGE
    return Cost(count * a_page, 0.5 if sure else 0.2, 1.4 if sure else 4.0)


def pdf_of_base64(data: str, model: str) -> int:
    """Return the tokens of a whole PDF in base64, from its first and last 128 KB."""
    half = SIZE_MAX // 2
    packed = data.encode("ascii", "ignore")
    try:
        head = binascii.a2b_base64(packed[: half // 3 * 4])
        tail = binascii.a2b_base64(packed[max(half // 3 * 4, (len(packed) - half) // 4 * 4) :])
    except binascii.Error:
        return PDF_PAGE
    count, _ = pdf_pages(head, tail, len(packed) * 3 // 4)
    return count * (pixels.tokens_of(*PDF_PAGE_PIXELS, model) + PDF_PAGE)


def pdf_pages(head: bytes, tail: bytes, size: int) -> tuple[int, bool]:
    """Return the pages of a PDF, and whether its text says so."""
    marked = _LINEARIZED.search(head[:2048])
    if marked:
        return max(int(marked[1]), 1), True
    counts = [int(found) for part in (head, tail) for found in _PAGE_COUNT.findall(part)]
    seen = len(_PAGE_OBJECT.findall(head)) + len(_PAGE_OBJECT.findall(tail))
    if counts or seen:
        return max([*counts, seen, 1]), True
    return max(1, size // _BYTES_A_PAGE), False


def page_count(pages: str) -> int:
    """Return how many pages ``"1-5"`` or ``"3"`` names; 0 when it is more than one call gives."""
    total = 0
    for part in pages.split(","):
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        if not first.isdecimal() or len(first) > _PAGE_DIGITS:
            continue
        end = int(last) if last.isdecimal() and len(last) <= _PAGE_DIGITS else int(first)
        if dash and not last:
            end = int(first) + PDF_CALL - 1
        total += max(0, end - int(first) + 1)
    return total if total <= PDF_CALL else 0


def notebook(source: Source, model: str, cap: int) -> Cost:
    """Return the cost of a notebook: its cells and outputs as text, its images by their pixels."""
    raw = source.read(0, SIZE_MAX)
    tokenizer = text.tokenizer_of(model)
    if source.size > SIZE_MAX:
        return _large_notebook(raw, source.size, tokenizer, cap)
    try:
        cells = json.loads(raw.decode("utf-8-sig", "replace"))["cells"]
        return _cells([cell for cell in cells if isinstance(cell, dict)], model, tokenizer, cap)
    except (ValueError, KeyError, TypeError, RecursionError):
        return Cost(0, reason="not a notebook")


def _cells(cells: list[dict[str, Any]], model: str, tokenizer: str, cap: int) -> Cost:
    parts: list[str] = []
    checked: list[object] = []
    images = 0
    for at, cell in enumerate(cells):
        name = cell.get("id") or f"cell-{at}"
        source = _joined(cell.get("source"))
        kind = "" if cell.get("cell_type") == "code" else f"<cell_type>{cell.get('cell_type')}"
        parts.append(f'<cell id="{name}">{kind}{source}</cell id="{name}">\n')
        shown, found = _outputs(cell.get("outputs"), model)
        images += found
        if len(shown) > OUTPUTS_MAX:
            shown = "Outputs are too large to include. Use Bash with: cat <notebook_path> | jq"
        parts.append(shown)
        checked.append(
            {"cellType": "code", "source": source, "cell_id": name, "outputs": [{"text": shown}]}
        )
    if text.tokens(json.dumps(checked, ensure_ascii=False), tokenizer) > cap:
        return Cost(0, reason="over the token cap")
    low, high = text.spread("json", tokenizer)
    return Cost(text.tokens("\n".join(parts), tokenizer) + images, low - 0.05, high + 0.05)


def _outputs(outputs: object, model: str) -> tuple[str, int]:
    """Return the text of a cell's outputs, and the tokens of their images."""
    parts = []
    images = 0
    for output in outputs if isinstance(outputs, list) else []:
        if not isinstance(output, dict):
            continue
        data = output.get("data")
        if isinstance(data, dict):
            parts.append(_joined(data.get("text/plain")))
            for kind in ("image/png", "image/jpeg"):
                if kind in data:
                    images += pixels.tokens_of_base64(_joined(data[kind]), model) or IMAGE
        parts.append(_joined(output.get("text")))
        if "ename" in output:
            parts.append(f"{output['ename']}: {output.get('evalue')}")
            parts.append(_joined(output.get("traceback"), "\n"))
    return "\n".join(part for part in parts if part), images


def _large_notebook(raw: bytes, size: int, tokenizer: str, cap: int) -> Cost:
    """Guess from the first 256 KB: base64 lines are images, the rest is text in JSON."""
    lines = raw.decode("utf-8", "replace").split("\n")
    images = [line for line in lines if len(line) > OUTPUTS_MAX]
    rest = "\n".join(line for line in lines if len(line) <= OUTPUTS_MAX)
    scale = size / max(len(raw), 1)
    cost = int(text.tokens(rest, tokenizer) * 0.6 * scale)
    if cost > cap:
        return Cost(0, reason="over the token cap")
    return Cost(cost + int(len(images) * IMAGE * scale), 0.2, 3.0)


def _joined(value: object, between: str = "") -> str:
    if isinstance(value, list):
        return between.join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""
