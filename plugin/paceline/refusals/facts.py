"""The fields a refusal is told by, gathered from whichever layer saw it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Window:
    """One window of a plan as a refusal reports it.

    Attributes:
        name: ``five_hour``, ``seven_day``, ``seven_day_opus``, …, ``overage``.
        rejected: this window is used up.
        resets_at: epoch seconds, checked, or None.
    """

    __slots__ = ("name", "rejected", "resets_at")

    def __init__(self, name: str, *, rejected: bool, resets_at: float | None) -> None:
        self.name = name
        self.rejected = rejected
        self.resets_at = resets_at


class Facts:
    """What is known of one refusal. Every field may be missing.

    Attributes:
        at: epoch seconds of the refusal itself, which a reset is counted from.
        status: HTTP status.
        kinds: the body's ``error.type`` and the client's word for it (``rate_limit``, …).
        codes: ``error.details.error_code`` and the client's ``apiError``.
        text: the API's or the client's own error text; never a model's or a tool's.
        html: the body is a web page.
        retry_after: seconds, checked.
        should_retry: the header ``x-should-retry``.
        windows: the plan's windows.
        headers: the response's headers were seen, so a missing one means something.
        dimension: the dimension whose ``remaining`` header is spent.
        limit: its limit per minute.
        resets_at: epoch seconds at which that dimension is whole again.
    """

    __slots__ = (
        "at",
        "codes",
        "dimension",
        "headers",
        "html",
        "kinds",
        "limit",
        "resets_at",
        "retry_after",
        "should_retry",
        "status",
        "text",
        "windows",
    )

    def __init__(
        self,
        at: float,
        *,
        status: int | None = None,
        kinds: tuple[str, ...] = (),
        codes: tuple[str, ...] = (),
        text: str = "",
        html: bool = False,
        retry_after: float | None = None,
        should_retry: bool | None = None,
        windows: Sequence[Window] = (),
        headers: bool = False,
        dimension: str | None = None,
        limit: int | None = None,
        resets_at: float | None = None,
    ) -> None:
        self.at = at
        self.status = status
        self.kinds = frozenset(kinds) - {"", "unknown"}
        self.codes = frozenset(codes)
        self.text = text
        self.html = html
        self.retry_after = retry_after
        self.should_retry = should_retry
        self.windows = windows
        self.headers = headers
        self.dimension = dimension
        self.limit = limit
        self.resets_at = resets_at
