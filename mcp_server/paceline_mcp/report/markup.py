"""HTML and SVG as text. Whatever is no markup of our own is escaped, without exception."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from paceline_mcp.cli.output import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

VOID = frozenset({"meta", "rect", "line", "path", "circle"})


class Markup(str):
    """Text that is markup already: made by :func:`tag` alone."""

    __slots__ = ()


def tag(name: str, /, *children: Markup | str | float | None, **attributes: object) -> Markup:
    """Return an element. Children that are no markup are escaped; None leaves nothing.

    An attribute's trailing underscore is dropped and the others become dashes; None leaves it out.
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID and not children:
        return Markup(f"<{name}{told}/>")
    inside = "".join(one if isinstance(one, Markup) else text(one) for one in children)
    return Markup(f"<{name}{told}>{inside}</{name}>")


def text(value: object) -> str:
    """Return text for HTML: escaped, and without control and format characters."""
    told = "" if value is None else str(value)
    kept = html.escape(plain(told), quote=True)
    # A space at an edge parts it from the element beside it.
    left = " " if kept and told[:1].isspace() else ""
    right = " " if kept and told[-1:].isspace() else ""
    return f"{left}{kept}{right}" if kept else " " * bool(told and told.isspace())


def join(parts: Iterable[Markup]) -> Markup:
    """Return markup after markup."""
    return Markup("".join(parts))


def place(value: float) -> str:
    """Return a coordinate of an SVG."""
    return f"{value:.1f}".removesuffix(".0")
