"""The few errors of Paceline. The type says whose fault it is; the text ends with what to type."""

from __future__ import annotations


class PacelineError(Exception):
    """Never raised itself: the base of the errors below."""


class UsageError(PacelineError):
    """The caller asked for something that cannot be (a negative size, an id that is not one)."""


class StateError(PacelineError):
    """The state on disk cannot be used now (no permission, disk full, lock not had in its bound).

    Attributes:
        path: the file or folder it is about.
    """

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message, path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.args[0]}: {self.path}"
