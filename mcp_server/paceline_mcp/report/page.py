"""The HTML report: one file, nothing from elsewhere, no script. Pure."""

from __future__ import annotations

import time
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from paceline import __version__
from paceline.recovery.words import count, minutes
from paceline.transcripts import usage
from paceline_mcp.doctor.limits import WHY
from paceline_mcp.report import chart, spans
from paceline_mcp.report.markup import Markup, tag
from paceline_mcp.report.run import outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AGENTS_MAX = 400
"""Agents of one run listed at most, those in trouble first."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""A reader's browser is told so too: nothing is loaded, nothing runs."""
KEY = (
    ("life completed", "delivered"),
    ("life dropped", "dropped"),
    ("hold", "held"),
    ("grant dot", "granted"),
    ("died dot", "refused"),
    ("revived dot", "brought back"),
)
FILLS = {
    "life completed": "--good-soft",
    "life dropped": "--bad-soft",
    "hold": "--hold",
    "grant dot": "--good",
    "died dot": "--bad",
    "revived dot": "--info",
}
PER_MINUTE = {"requests": "requests", "input": "input tokens", "output": "output tokens"}
TROUBLE = ("dropped", "stopped", "parked", "held", "running", "queued", "requeued", "completed")


def page(
    session: str,
    manifest: Mapping[str, Any],
    lines: Sequence[Mapping[str, Any]],
    limits: Sequence[Mapping[str, Any]],
    now: float,
) -> str:
    """Return the report of one session.

    Args:
        session: its id.
        manifest: of that session alone.
        lines: of its event log, none where it has none.
        limits: what is believed now (:func:`paceline.ledger.belief.believed`).
        now: epoch seconds.
    """
    told = next((one for one in manifest["sessions"] if one["session_id"] == session), None)
    timeline = told["timeline"] if told else []
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"Paceline: session {session}, {manifest['verdict']}"),
        tag("style", Markup(style())),
    )
    body = tag(
        "body",
        tag(
            "main",
            _head(session, manifest, now),
            _tiles(manifest, timeline),
            _time_line(manifest, timeline),
            _tokens(lines, limits),
            _runs(manifest),
            _limits(limits, now),
            _foot(now),
        ),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def style() -> str:
    """Return the style sheet."""
    return files("paceline_mcp.report").joinpath("style.css").read_text(encoding="utf-8")


def _head(session: str, manifest: Mapping[str, Any], now: float) -> Markup:
    begun = [run["started_at"] for run in manifest["runs"] if run["started_at"]]
    ended = [run["ended_at"] for run in manifest["runs"] if run["ended_at"]]
    census = manifest["census"]
    when = ""
    if begun:
        when = f"{_stamp(min(begun))}, {minutes(max(ended, default=now) - min(begun))}"
    verdict = manifest["verdict"] if manifest["runs"] else "no agents"
    title = (
        f"{census['completed']} of {count(census['launched'], 'agent')} delivered "
        if manifest["runs"]
        else "No agents were launched "
    )
    return tag(
        "header",
        tag("h1", title, tag("span", verdict, class_=f"badge {verdict}")),
        tag(
            "p",
            "Session ",
            tag("span", session, class_="id"),
            f" · {when}" if when else "",
            class_="soft",
        ),
        *_next(session, manifest),
    )


def _next(session: str, manifest: Mapping[str, Any]) -> list[Markup]:
    """Return what to type next, where agents can be brought back."""
    agents = [agent for run in manifest["runs"] for agent in run["agents"]]
    dead = sum(bool(agent["retryable"]) for agent in agents)
    if not dead:
        return []
    return [
        tag(
            "p",
            f"To bring back {count(dead, 'agent')}: ",
            tag("code", "/paceline:requeue"),
            " in that session, or ",
            tag("code", f"paceline requeue --session {session}"),
            ".",
        )
    ]


def _tiles(manifest: Mapping[str, Any], timeline: Sequence[Mapping[str, Any]]) -> Markup:
    agents = [agent for run in manifest["runs"] for agent in run["agents"]]
    spent = usage.charged(usage.total(*(agent["tokens"] for agent in agents))) if agents else 0
    refused = sum(len(agent["deaths"]) for agent in agents)
    refused = max(refused, sum(one["what"] == "refused" for one in timeline))
    held = sum(float(one.get("waited") or 0) for one in timeline if one["what"] == "grant")
    census = manifest["census"]
    told = [
        ("dropped", str(census["dropped"])),
        ("revived", str(sum(agent["revivals"] for agent in agents))),
        ("replaced or woken", str(sum(agent["requeued_as"] is not None for agent in agents))),
        ("refusals", f"{refused:,}"),
        ("time held, all agents", minutes(held)),
        ("tokens spent", f"{spent:,}"),
        ("tokens wasted", f"{sum(agent['wasted'] for agent in agents):,}"),
        ("saved (an estimate)", f"{sum(agent['saved_estimate'] for agent in agents):,}"),
    ]
    tiles = [tag("div", tag("b", value), tag("span", name), class_="tile") for name, value in told]
    return tag("div", *tiles, class_="tiles")


def _time_line(manifest: Mapping[str, Any], timeline: Sequence[Mapping[str, Any]]) -> Markup:
    rows = spans.spans(manifest["runs"], timeline)
    drawn = spans.drawn(rows)
    if drawn is None:
        return Markup()
    items = [
        tag(
            "li",
            tag(
                "i",
                class_="dot" if kind.endswith("dot") else None,
                style=f"background:var({FILLS[kind]})",
            ),
            words,
        )
        for kind, words in KEY
    ]
    left = len([row for row in rows if row.times()]) - spans.ROWS_MAX
    more = tag("p", f"and {left} more agents, see the tables below", class_="soft")
    return tag(
        "section",
        tag("h2", "Time line"),
        tag(
            "div",
            tag("ul", *items, class_="key"),
            tag("div", drawn, class_="scroll"),
            more if left > 0 else None,
            class_="card",
        ),
    )


def _tokens(lines: Sequence[Mapping[str, Any]], limits: Sequence[Mapping[str, Any]]) -> Markup:
    told = [float(one["limit"]) for one in limits if one["dimension"] == "input"]
    drawn = chart.drawn(chart.settled(lines), max(told, default=None))
    if drawn is None:
        return Markup()
    note = (
        "Uncached input tokens of settled requests, as a rate a minute. "
        "A full bucket lets a burst pass above the line."
    )
    return tag(
        "section",
        tag("h2", "Tokens against the limit"),
        tag("div", tag("div", drawn, class_="scroll"), tag("p", note, class_="why"), class_="card"),
    )


def _runs(manifest: Mapping[str, Any]) -> Markup:
    if not manifest["runs"]:
        return Markup()
    return tag("section", tag("h2", "Runs"), *(_run(run) for run in manifest["runs"]))


def _run(run: Mapping[str, Any]) -> Markup:
    rank = {state: at for at, state in enumerate(TROUBLE)}
    agents = sorted(run["agents"], key=lambda agent: rank.get(agent["state"], 0))
    left = len(agents) - AGENTS_MAX
    kind = "workflow" if run["kind"] == "workflow" else "agents of one message"
    return tag(
        "div",
        tag(
            "h3",
            run["name"] or kind,
            " ",
            tag("span", run["verdict"], class_=f"badge {run['verdict']}"),
        ),
        tag("p", tag("span", run["run_id"], class_="id"), f" · {outcome(run)}", class_="soft"),
        tag("p", run["note"], class_="why") if run["note"] else None,
        tag("div", _agents(agents[:AGENTS_MAX]), class_="scroll") if agents else None,
        tag("p", f"and {left} more that delivered", class_="soft") if left > 0 else None,
        class_="card run",
    )


def _agents(agents: Sequence[Mapping[str, Any]]) -> Markup:
    numbers = {"tries", "held", "spent", "wasted"}
    names = ("agent", "state", "tries", "held", "spent", "wasted", "what happened")
    head = tag("tr", *(tag("th", n, class_="number" if n in numbers else None) for n in names))
    return tag("table", tag("thead", head), tag("tbody", *(_agent(agent) for agent in agents)))


def _agent(agent: Mapping[str, Any]) -> Markup:
    state = f"{agent['state']}: {agent['cause']}" if agent["cause"] else agent["state"]
    spent = usage.charged(agent["tokens"])
    more = [agent["why"] or "", agent["text"] or ""]
    if agent["revivals"]:
        more.append(f"revived {agent['revivals']}×")  # noqa: RUF001 - read by people
    if agent["requeued_as"]:
        woken = agent["requeued_as"] == agent["agent_id"]
        more.append("woken by a message" if woken else f"replaced by {agent['requeued_as']}")
    if agent["replaces"]:
        more.append(f"replaces {agent['replaces']}")
    if agent["resets_at"]:
        about = "about " if agent["approximate"] else ""
        more.append(f"the limit resets {about}{_stamp(agent['resets_at'])}")
    return tag(
        "tr",
        tag(
            "td",
            agent["label"] or "label unknown",
            tag("div", agent["agent_id"] or "no agent came of it", class_="id soft"),
            class_="name",
        ),
        tag("td", tag("span", state, class_=f"badge {agent['state']}")),
        tag("td", str(agent["attempts"]), class_="number"),
        tag("td", minutes(agent["held_s"]) if agent["held_s"] else "", class_="number"),
        tag("td", f"{spent:,}", class_="number"),
        tag("td", f"{agent['wasted']:,}" if agent["wasted"] else "", class_="number"),
        tag("td", "; ".join(part for part in more if part), class_="why"),
    )


def _limits(limits: Sequence[Mapping[str, Any]], now: float) -> Markup:
    if not limits:
        return Markup()
    rows = [
        tag(
            "tr",
            tag("td", row["family"]),
            tag("td", f"{row['limit']:,.0f} {PER_MINUTE[row['dimension']]} a minute"),
            tag("td", f"{row['capacity']:,.0f}", class_="number"),
            tag("td", f"{WHY.get(row['source'], row['source'])}, {minutes(now - row['at'])} ago"),
        )
        for row in limits
    ]
    head = tag(
        "tr",
        *(tag("th", name) for name in ("models", "limit")),
        tag("th", "bucket holds", class_="number"),
        tag("th", "why it is believed"),
    )
    table = tag("table", tag("thead", head), tag("tbody", *rows))
    return tag(
        "section",
        tag("h2", "Limits believed when this was written"),
        tag("div", tag("div", table, class_="scroll"), class_="card"),
    )


def _foot(now: float) -> Markup:
    words = (
        f"Written by Paceline {__version__} on {_stamp(now)}, times in this machine's zone. "
        "Tokens spent leave cache reads out. What did not deliver is unverified, never refuted."
    )
    return tag("footer", words)


def _stamp(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
