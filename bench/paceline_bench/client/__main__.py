"""Run ``python -m paceline_bench.client run``: one fan-out of the real client, from a shell."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from paceline_bench.client.find import ClientMissing, find_client
from paceline_bench.client.run import Progress, fanout
from paceline_bench.client.spec import SEED_API, Fanout
from paceline_bench.client.tell import telling
from paceline_bench.simapi.config import from_json

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@app.command()
def install(version: str) -> None:
    """Install a version of the client into the cache and print where it is."""
    try:
        print(find_client(version))
    except ClientMissing as err:
        print(err, file=sys.stderr)
        raise typer.Exit(1) from err


@app.command()
def run(
    *,
    version: Annotated[str, typer.Option(help="The client's version.")] = "2.1.332",
    kind: Annotated[str, typer.Option(help="agent, workflow or none")] = "agent",
    agents: Annotated[int, typer.Option(help="How many.")] = 6,
    reads: Annotated[int, typer.Option(help="Reads of each agent, one a turn.")] = 1,
    read_bytes: Annotated[int, typer.Option(help="Size of each file.")] = 60_000,
    width: Annotated[int | None, typer.Option(help="Agents at once.")] = None,
    max_retries: Annotated[
        int | None, typer.Option(help="The client's retries; its own default when left out.")
    ] = None,
    oauth: Annotated[bool, typer.Option(help="Act as on a plan.")] = False,
    background: Annotated[bool, typer.Option(help="Agent calls in the background.")] = False,
    role: Annotated[str, typer.Option(help="The main thread's rule: main or obey.")] = "main",
    plugin: Annotated[Path | None, typer.Option(help="The plugin's root.")] = None,
    api: Annotated[str, typer.Option(help="Fields of the simulated API's Config, as JSON.")] = "{}",
    itpm: Annotated[int, typer.Option(help="Input tokens a minute.")] = SEED_API.itpm,
    capacity: Annotated[int | None, typer.Option(help="Size of the input bucket.")] = None,
    tell: Annotated[bool, typer.Option(help="Tell Paceline the limit before.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds.")] = 900.0,
    env: Annotated[list[str] | None, typer.Option(help="NAME=VALUE for the client.")] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Copy home and logs into this new folder.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="All of the result as JSON.")] = False,
) -> None:
    """Run a fan-out and print what it came to. Exit 3 when an agent was dropped."""
    if keep and keep.exists():
        raise typer.BadParameter(f"{keep} is there already; name a new folder for --keep")
    told = {"itpm": itpm, "itpm_capacity": capacity} | json.loads(api)
    spec = Fanout(
        version=version,
        plugin_dir=plugin.resolve() if plugin else None,
        agents=agents,
        reads=reads,
        read_bytes=read_bytes,
        width=width,
        max_retries=max_retries,
        auth="oauth" if oauth else "api_key",
        background=background,
        role=role,
        api=from_json(json.dumps(told)),
        env=dict(pair.split("=", 1) for pair in env or []),
        timeout_s=timeout,
    )
    spec = replace(spec, kind=_kind(kind))
    try:
        prepare = telling(spec) if tell else None
        with fanout(spec, progress=None if as_json else _show, prepare=prepare) as result:
            if keep:
                shutil.copytree(result.home.parent, keep, symlinks=True, ignore=_sockets)
            found = result.to_json()
    except ClientMissing as err:
        print(err, file=sys.stderr)
        raise typer.Exit(1) from err
    if not as_json:
        print(file=sys.stderr)
        found = {name: found[name] for name in _SHORT}
    print(json.dumps(found, indent=None if as_json else 1))
    raise typer.Exit(3 if found["dropped"] else 0)


_SHORT = (
    *("launched", "delivered", "dropped", "refusals", "requests", "uncached_tokens"),
    *("cache_read", "wasted_tokens", "span_s", "bound_s", "ratio", "wall_s", "exit_code"),
    *("timed_out", "leftovers", "is_error"),
)


def _kind(text: str) -> Any:
    if text not in ("agent", "workflow", "none"):
        raise typer.BadParameter("kind is agent, workflow or none")
    return text


def _sockets(folder: str, names: list[str]) -> list[str]:
    """Name what cannot be copied: a client that was stopped leaves its sockets behind."""
    return [name for name in names if (Path(folder) / name).is_socket()]


def _show(progress: Progress) -> None:
    counts = progress.counts
    print(
        f"\r{progress.elapsed:6.1f} s  {counts.delivered}/{counts.launched} delivered, "
        f"{counts.refusals} refusals, {counts.uncached_tokens:,} tokens ",
        end="",
        file=sys.stderr,
        flush=True,
    )


if __name__ == "__main__":
    app()
