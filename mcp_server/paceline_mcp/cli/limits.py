"""``paceline limits show | set | probe | clear``: what is believed of the account's limits."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline import paths, settings
from paceline.errors import UsageError
from paceline.families import ALL, SHORT, family_of, meant
from paceline.ledger import belief, prefix
from paceline.ledger.observe import observe
from paceline.ledger.own import store_of
from paceline.ledger.store import FileStore
from paceline_mcp.cli.output import ERROR, console, plain, print_json
from paceline_mcp.report.newest import ledger_in_use

if TYPE_CHECKING:
    from paceline.ledger.values import Ledger

PER_MINUTE = {"requests": "rpm", "input": "itpm", "output": "otpm"}

Json = Annotated[bool, typer.Option("--json", help="One JSON value instead of a table.")]
Account = Annotated[str | None, typer.Option(help="The account's id; by default the one in use.")]


def store(account: str | None) -> FileStore:
    """Return the ledger of ``account``, by default of the account of this environment.

    Raises:
        UsageError: an account that cannot be one.
    """
    own = store_of(os.environ, settings.load())
    if account is not None and not paths.is_id(account):
        raise UsageError(f"--account is no id: {plain(account)}; next: paceline status")
    return own if account is None else FileStore(own.folder, account)


def asked_about(account: str | None) -> FileStore:
    """Return the same for a person, who means the account in use."""
    return ledger_in_use(os.environ) if account is None else store(account)


def family_meant(model: str, ledger: Ledger) -> str:
    """Return the family that a person means by a model's name, a short one or ``all``.

    Raises:
        UsageError: it is empty, or a short name of which no model was used yet: requests go by
            their models' whole names, so a limit under it would never be looked at.
    """
    told = meant(model, prefix.models(ledger)) if model.strip() else ""
    name = told.strip().lower()
    if name == ALL:
        return ALL
    if not name or name in SHORT:
        raise UsageError(
            f"--model {plain(model) or 'is empty'}: which one is not known; next: --model all, or "
            "a whole name like claude-opus-5"
        )
    return family_of(told)


def register(app: typer.Typer) -> None:
    """Add ``limits`` and its subcommands."""
    limits = typer.Typer(
        no_args_is_help=True, help="What is believed of the account's limits, and from where."
    )
    app.add_typer(limits, name="limits")
    _add_show(limits)
    _add_set(limits)
    _add_clear(limits)
    _add_probe(limits)


def _add_show(limits: typer.Typer) -> None:
    @limits.command("show")
    def show(*, account: Account = None, json: Json = False) -> None:
        """Show the limits that are believed, their source and their age."""
        _print(asked_about(account).snapshot(), json=json)


def _add_set(limits: typer.Typer) -> None:
    @limits.command("set")
    def set_(
        *,
        model: Annotated[str, typer.Option(help="A model, or all.")],
        rpm: Annotated[float | None, typer.Option(help="Requests a minute.")] = None,
        itpm: Annotated[float | None, typer.Option(help="Input tokens a minute.")] = None,
        otpm: Annotated[float | None, typer.Option(help="Output tokens a minute.")] = None,
        capacity: Annotated[
            float | None, typer.Option(help="Input tokens the bucket holds when full.")
        ] = None,
        account: Account = None,
        json: Json = False,
    ) -> None:
        """Tell Paceline a limit, as the console of the API shows it."""
        told = {"requests": rpm, "input": itpm, "output": otpm}
        if all(value is None for value in told.values()):
            raise typer.BadParameter("give at least one of --rpm, --itpm, --otpm")

        def change(ledger: Ledger, now: float) -> Ledger:
            family = family_meant(model, ledger)
            for dimension, value in told.items():
                if value is not None:
                    holds = capacity if dimension == "input" else None
                    belief.tell(ledger, family, dimension, value, now, source="set", capacity=holds)
            return ledger

        _print(asked_about(account).transact(change), json=json)


def _add_clear(limits: typer.Typer) -> None:
    @limits.command("clear", short_help="Forget what was told and learned.")
    def clear(
        *,
        model: Annotated[str, typer.Option(help="A model, or all.")] = ALL,
        account: Account = None,
        json: Json = False,
    ) -> None:
        """Forget what was told and learned; it is learned anew from the next refusal."""

        def change(ledger: Ledger, _: float) -> Ledger:
            belief.forget(ledger, family_meant(model, ledger))
            return ledger

        _print(asked_about(account).transact(change), json=json)


def _add_probe(limits: typer.Typer) -> None:
    @limits.command("probe", short_help="Ask the API with one tiny request.")
    def probe(
        *,
        model: Annotated[str, typer.Option(help="The model whose limits to ask for.")] = (
            "claude-haiku-4-5"
        ),
        account: Account = None,
        json: Json = False,
    ) -> int | None:
        """Ask the API with one tiny request: its headers tell the limits and what is left."""
        from paceline_mcp.probe import TIMEOUT_S
        from paceline_mcp.probe import probe as ask

        if not json:
            typer.echo(f"asking the API for its limits, {TIMEOUT_S:.0f} s at most", err=True)
        sent_at = time.time()
        found = ask(model)
        if not found:
            typer.echo(
                "paceline: the API told no limits in its headers (a plan's do not). "
                "Set one by hand: paceline limits set --model all --itpm N",
                err=True,
            )
            return ERROR

        def change(ledger: Ledger, now: float) -> Ledger:
            for seen in found:
                observe(ledger, family_of(model), seen, sent_at, now, source="probe")
            return ledger

        _print(asked_about(account).transact(change), json=json)
        return None


def _print(ledger: Ledger, *, json: bool) -> None:
    rows = belief.believed(ledger)
    if json:
        print_json({"account": ledger.account, "limits": rows})
        return
    typer.echo(f"account {ledger.account}")
    if not rows:
        typer.echo(
            "No limit is known yet; it is learned from the first refusal.\n"
            "To tell one: paceline limits set --model all --itpm N"
        )
        return
    _table(rows)


def _table(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table("family", "limit", "per minute", "holds", "source", "age")
    for row in rows:
        table.add_row(
            plain(row["family"]),
            PER_MINUTE[row["dimension"]],
            f"{row['limit']:,.0f}",
            f"{row['capacity']:,.0f}",
            row["source"],
            age(time.time() - row["at"]),
        )
    console().print(table)


def age(seconds: float) -> str:
    """Return a duration for people: ``40 s``, ``12 min``, ``3 h``, ``5 d``."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
