"""What a fan-out came to: counted from the API's log alone, never from what the client says."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from paceline_bench.bound import Job, least_span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from paceline_bench.simapi.config import Config
    from paceline_bench.simapi.records import Record


@dataclass(frozen=True, slots=True)
class Counts:
    """A fan-out in numbers.

    Attributes:
        launched: agents it was to run.
        delivered: agents whose final report the API answered.
        dropped: the others.
        labels: the labels that delivered, sorted.
        requests: requests of agents, refused ones too.
        refusals: refused requests of agents.
        main_refusals: refused requests of the main thread and helpers.
        uncached_tokens: input tokens of agents that the limit counted.
        cache_read: input tokens of agents read from the cache.
        output: output tokens of agents.
        wasted_tokens: uncached tokens of agents that did not deliver.
        total_uncached: uncached tokens of everybody, the main thread too.
        span_s: seconds from the first agent request to the end of the last.
        bound_s: the least seconds those tokens allow (``paceline_bench.bound``); None when none.
        ratio: ``span_s / bound_s``; None without a bound.
    """

    launched: int
    delivered: int
    dropped: int
    labels: tuple[str, ...]
    requests: int
    refusals: int
    main_refusals: int
    uncached_tokens: int
    cache_read: int
    output: int
    wasted_tokens: int
    total_uncached: int
    span_s: float
    bound_s: float | None
    ratio: float | None


def count(records: Iterable[Record], launched: int, config: Config, start: float) -> Counts:
    """Return the numbers of a fan-out.

    Args:
        records: the API's log.
        launched: agents it was to run.
        config: the API's limits.
        start: epoch seconds of the API's start, for limits that change.
    """
    every = sorted(records, key=lambda record: record.number)
    agents = [record for record in every if record.role == "agent"]
    taken = [record for record in agents if record.outcome != "refused"]
    labels = sorted({record.delivered for record in agents if record.delivered})
    span = max(r.end for r in agents) - min(r.t for r in agents) if agents else 0.0
    bound = _bound(agents, taken, config, start)
    refused = [record for record in every if record.outcome == "refused"]
    return Counts(
        launched=launched,
        delivered=len(labels),
        dropped=launched - len(labels),
        labels=tuple(labels),
        requests=len(agents),
        refusals=sum(record.role == "agent" for record in refused),
        main_refusals=sum(record.role != "agent" for record in refused),
        uncached_tokens=sum(record.cost for record in agents),
        cache_read=sum(record.cache_read for record in agents),
        output=sum(record.output for record in agents),
        wasted_tokens=sum(record.cost for record in agents if record.label not in labels),
        total_uncached=sum(record.cost for record in every),
        span_s=span,
        bound_s=bound,
        ratio=span / bound if bound else None,
    )


def _bound(
    agents: Sequence[Record], taken: Sequence[Record], config: Config, start: float
) -> float | None:
    """Return the least span of the requests that were taken, from what the bucket then held."""
    if not taken:
        return None
    first = agents[0]
    jobs = []
    tails: dict[str, float] = {}
    for record in reversed(taken):
        who = record.agent or record.label or ""
        tails[who] = tails.get(who, 0.0) + record.end - record.t
        jobs.append(Job(record.cost, tails[who]))
    offset = first.t - start
    rates = [(0.0, float(config.itpm))]
    for after, itpm in config.itpm_schedule:
        if after <= offset:
            rates = [(0.0, float(itpm))]
        else:
            rates.append((after - offset, float(itpm)))
    return least_span(jobs, first.before, rates)


@dataclass(frozen=True, slots=True)
class RunResult:
    """One run of the real client.

    Attributes:
        counts: the fan-out in numbers.
        exit_code: the client's, None when it was killed at the timeout.
        timed_out: whether it was.
        wall_s: seconds the client ran.
        result: the text of its last ``result`` line, or None.
        is_error: whether that line says so.
        session: the session's id, or None.
        init: its ``mcp_servers``, ``plugins`` and ``tools`` as the first line gives them.
        home: the client's home; gone after the run unless it was kept.
        transcripts: the folder of the session's transcripts, or None.
        state: Paceline's state folder.
        api_log: the API's log, one JSON line a request.
        stream: the client's stream-json output.
        errors: the last 2,000 characters of its stderr.
        debug: the last 4,000 characters of its debug file.
        leftovers: processes of the run that were still there when the client had ended.
    """

    counts: Counts
    exit_code: int | None
    timed_out: bool
    wall_s: float
    result: str | None
    is_error: bool
    session: str | None
    init: dict[str, Any]
    home: Path
    transcripts: Path | None
    state: Path
    api_log: Path
    stream: Path
    errors: str
    debug: str
    leftovers: int

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON holds them, the counts among them."""
        found = asdict(self)
        found |= found.pop("counts")
        return {
            name: str(value) if hasattr(value, "joinpath") else value
            for name, value in found.items()
        }
