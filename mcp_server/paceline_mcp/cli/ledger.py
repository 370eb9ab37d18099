"""``paceline ledger reserve | settle | release | show``: the budget, for scripts."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline import settings
from paceline.ledger import admit, prefix, settle
from paceline.ledger.own import policy_of
from paceline.ledger.values import NEW
from paceline.ledger.verdicts import Drop, Grant, Usage, Verdict, Wait
from paceline_mcp.cli.limits import Account, Json, asked_about, store
from paceline_mcp.cli.output import DEGRADED, ERROR, RUNNING, console, plain, print_json
from paceline_mcp.report.budget import budget

if TYPE_CHECKING:
    from paceline.ledger.values import Ledger

REPLAN_S = 1.0
LEAST_SLEEP_S = 0.005
SHELL = "shell"
GONE = (
    "no such reservation: settled or released before, its lease ended, or there never was one; "
    "next: paceline ledger show"
)


def register(app: typer.Typer) -> None:
    """Add ``ledger`` and its subcommands."""
    ledger = typer.Typer(no_args_is_help=True, help="Reserve, settle and release, for scripts.")
    app.add_typer(ledger, name="ledger")
    _add_reserve(ledger)
    _add_settle(ledger)
    _add_release(ledger)
    _add_show(ledger)


def _add_reserve(app: typer.Typer) -> None:
    @app.command("reserve")
    def reserve(
        *,
        model: Annotated[str, typer.Option(help="The model the request goes to.")],
        input_: Annotated[float, typer.Option("--input", help="Uncached input tokens.")],
        output: Annotated[float | None, typer.Option(help="Output tokens.")] = None,
        session: Annotated[str, typer.Option(help="For fairness between sessions.")] = SHELL,
        agent: Annotated[str, typer.Option(help="The agent's id.")] = "",
        class_: Annotated[str, typer.Option("--class", help="main, continuation or new.")] = NEW,
        wait: Annotated[float, typer.Option(help="Seconds to wait for it at most.")] = 0.0,
        lease: Annotated[
            float, typer.Option(help="Seconds after which it is given back unless settled.")
        ] = 60.0,
        account: Account = None,
        json: Json = False,
    ) -> int:
        """Reserve a budget. Exit 4: not granted in time; 3: a plan's limit is used up."""
        amounts = {"input": input_} | ({"output": output} if output is not None else {})
        asked = {
            "ticket": f"c{uuid.uuid4().hex[:16]}",
            "family": prefix.family_told(store(account).snapshot(), model),
            "session": session,
            "agent": agent,
            "cls": class_,
            "amounts": amounts,
            "lease": lease,
        }
        verdict = _reserved(asked, wait, account)
        if isinstance(verdict, Grant):
            answer = {"granted": True, "reservation": verdict.reservation, "wait_s": 0.0}
            if verdict.warning:
                typer.echo(f"paceline: {verdict.warning}", err=True)
                answer["warning"] = verdict.warning
            _say(answer, f"{verdict.reservation}", json=json)
            return 0
        now = time.time()
        at = verdict.at if isinstance(verdict, Wait) else verdict.resets_at or now
        wait_s = round(max(0.0, at - now), 3)
        answer = {"granted": False, "reservation": None, "wait_s": wait_s, "why": verdict.why}
        _say(answer, f"not granted ({verdict.why}); about {wait_s:.1f} s to go", json=json)
        return DEGRADED if isinstance(verdict, Drop) else RUNNING


def _reserved(asked: dict[str, Any], wait: float, account: str | None) -> Verdict:
    ledger_file = store(account)
    policy = policy_of(settings.load())
    ticket = asked["ticket"]
    until = time.monotonic() + wait

    def look(ledger: Ledger, now: float) -> Verdict:
        admit.enqueue(ledger, now=now, **asked)
        verdict = admit.tick(ledger, [ticket], now, policy)[ticket]
        if isinstance(verdict, Wait) and time.monotonic() >= until:
            admit.withdraw(ledger, ticket, now)
        return verdict

    try:
        while True:
            verdict = ledger_file.transact(look)
            left = until - time.monotonic()
            if not isinstance(verdict, Wait) or left <= 0:
                return verdict
            pause = max(LEAST_SLEEP_S, verdict.at - time.time())
            time.sleep(min(REPLAN_S, pause, max(LEAST_SLEEP_S, left)))
    except KeyboardInterrupt:  # nobody waits any more: those behind it need not either
        ledger_file.transact(lambda ledger, now: admit.withdraw(ledger, ticket, now))
        raise


def _add_settle(app: typer.Typer) -> None:
    @app.command("settle")
    def settle_(
        *,
        reservation: Annotated[str, typer.Argument(help="The id that reserve printed.")],
        input_: Annotated[float, typer.Option("--input", help="Uncached input tokens.")],
        cache_creation: Annotated[float, typer.Option(help="Tokens written to the cache.")] = 0.0,
        cache_read: Annotated[float, typer.Option(help="Tokens read from the cache.")] = 0.0,
        output: Annotated[float, typer.Option(help="Output tokens.")] = 0.0,
        account: Account = None,
        json: Json = False,
    ) -> int:
        """Settle a reservation with the usage the API reported. Exit 1 when there is none."""
        policy = policy_of(settings.load())
        usage = Usage(input_, cache_creation, cache_read, output)
        done = store(account).transact(
            lambda led, now: settle.settle(led, reservation, usage, now, policy)
        )
        return _ended(reservation, done, "settled", json=json)


def _add_release(app: typer.Typer) -> None:
    @app.command("release")
    def release(
        *,
        reservation: Annotated[str, typer.Argument(help="The id that reserve printed.")],
        account: Account = None,
        json: Json = False,
    ) -> int:
        """Give a reservation back whose request never went. Exit 1 when there is none."""
        policy = policy_of(settings.load())
        done = store(account).transact(
            lambda led, now: settle.release(led, reservation, now, policy)
        )
        return _ended(reservation, done, "released", json=json)


def _add_show(app: typer.Typer) -> None:
    @app.command("show")
    def show(*, account: Account = None, json: Json = False) -> None:
        """Show the levels, the reservations and who waits."""
        shown = picture(asked_about(account).snapshot())
        if json:
            print_json(shown)
            return
        _tables(shown)


def picture(ledger: Ledger) -> dict[str, Any]:
    """Return a ledger as it stands now: levels, reservations, waiters, and its totals."""
    return {
        "account": ledger.account,
        **budget(ledger, policy_of(settings.load()), time.time()),
        "totals": {
            "taken": ledger.totals.taken,
            "settled": ledger.totals.settled,
            "released": ledger.totals.released,
            "expired": ledger.totals.expired,
        },
    }


def _tables(shown: dict[str, Any]) -> None:
    from rich.table import Table

    out = console()
    table = Table("family", "dimension", "level", "of", "per minute", "source", title="Buckets")
    for row in shown["buckets"]:
        table.add_row(
            plain(row["family"]),
            row["dimension"],
            f"{row['level']:,.0f}",
            f"{row['capacity']:,.0f}",
            f"{row['per_minute']:,.0f}",
            row["source"],
        )
    out.print(table if shown["buckets"] else "No limit is known yet: nothing is paced.")
    out.print(
        f"{len(shown['reservations'])} reserved, {len(shown['waiters'])} waiting"
        f" (account {shown['account']})"
    )


def _ended(reservation: str, done: bool, what: str, *, json: bool) -> int:
    reason = "" if done else GONE
    _say({"reservation": reservation, what: done, "reason": reason}, reason or what, json=json)
    return 0 if done else ERROR


def _say(answer: dict[str, Any], text: str, *, json: bool) -> None:
    if json:
        print_json(answer)
    else:
        typer.echo(plain(text))
