"""One record a request: what the simulated API saw. In memory, and a JSON line each in a file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Record:
    """A request, written when it ends.

    Attributes:
        number: its place in the order of arrival.
        t: epoch seconds of its arrival.
        end: epoch seconds of its last byte.
        session: ``x-claude-code-session-id``, or None.
        agent: ``x-claude-code-agent-id``, None for the main thread and helpers.
        role: ``main``, ``agent``, ``helper``, … : the rule that answered.
        label: the scripted agent's label, or None.
        step: the conversation's step.
        model: as asked for.
        stream: whether a stream was asked for.
        attempt: how often this very request of this agent was refused before (the client's own
            header, ``x-stainless-retry-count``, stays 0).
        outcome: ``ok``, ``refused``, ``broken`` (off by a fault) or ``aborted`` (the client went).
        kind: the refusal's kind (a key of ``refusals.KINDS``), or None.
        input: tokens after the last cache breakpoint.
        cache_creation: tokens written to the cache.
        cache_read: tokens read from the cache.
        output: tokens of the answer.
        cost: tokens the input limit counted; 0 for a refusal.
        asked: tokens the input limit would have counted, refused or not.
        before: the input level before it (tokens).
        after: the input level after it (tokens).
        ttfb: seconds to the first byte.
        delivered: the label whose final report this answer was, or None.
    """

    number: int
    t: float
    end: float
    session: str | None
    agent: str | None
    role: str
    label: str | None
    step: int
    model: str
    stream: bool
    attempt: int
    outcome: str
    kind: str | None
    input: int
    cache_creation: int
    cache_read: int
    output: int
    cost: int
    asked: int
    before: float
    after: float
    ttfb: float
    delivered: str | None


class Log:
    """The records of one server, in the order in which requests ended. Only appended to."""

    def __init__(self, path: Path | None = None) -> None:
        """Keep records in memory, and in ``path`` when it is given."""
        self.path = path
        self._records: list[Record] = []

    def add(self, record: Record) -> None:
        """Keep a record. ``OSError`` when the file cannot be written."""
        self._records.append(record)
        if self.path:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(record)) + "\n")

    def records(self) -> list[Record]:
        """Return the records so far."""
        return list(self._records)


def read_log(path: Path) -> list[Record]:
    """Return the records of a log file."""
    with path.open(encoding="utf-8") as file:
        return [Record(**_object(line)) for line in file if line.strip()]


def _object(line: str) -> dict[str, Any]:
    found = json.loads(line)
    if not isinstance(found, dict):
        raise TypeError("a record is an object")
    return found
