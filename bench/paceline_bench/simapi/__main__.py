"""Run ``python -m paceline_bench.simapi``: serve until interrupted, one JSON line when ready."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path  # noqa: TC003 - typer reads the annotations at run time
from typing import Annotated

import typer

from paceline_bench.simapi.config import STYLES, from_json
from paceline_bench.simapi.server import running


def serve(
    *,
    config: Annotated[
        Path | None, typer.Option(help="A JSON file with the fields of Config.")
    ] = None,
    port: Annotated[int, typer.Option(help="0 takes any free one.")] = 0,
    log: Annotated[Path | None, typer.Option(help="One JSON line a request goes here.")] = None,
    rpm: Annotated[int | None, typer.Option(help="Requests a minute.")] = None,
    itpm: Annotated[int | None, typer.Option(help="Uncached input tokens a minute.")] = None,
    otpm: Annotated[int | None, typer.Option(help="Output tokens a minute.")] = None,
    capacity: Annotated[int | None, typer.Option(help="Size of the input bucket.")] = None,
    headers: Annotated[str | None, typer.Option(help=", ".join(STYLES))] = None,
    number_in_text: Annotated[
        bool | None, typer.Option(help="Whether a throttle's text names the limit.")
    ] = None,
    quota: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Seconds after the start between which the plan is used up."),
    ] = None,
) -> None:
    """Serve a simulated API on 127.0.0.1 and print its address as one JSON line."""
    told = json.loads(config.read_text(encoding="utf-8")) if config else {}
    given = {
        "rpm": rpm,
        "itpm": itpm,
        "otpm": otpm,
        "itpm_capacity": capacity,
        "headers": headers,
        "number_in_text": number_in_text,
    }
    told |= {name: value for name, value in given.items() if value is not None}
    if quota:
        fault = {"kind": "quota", "after": quota[0], "until": quota[1]}
        told["faults"] = [*told.get("faults", []), fault]
    try:
        merged = from_json(json.dumps(told))
    except ValueError as err:
        raise typer.BadParameter(str(err)) from err
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with running(merged, log=log, port=port) as server:
        print(json.dumps({"url": server.url, "config": merged.to_json()}), flush=True)
        while not stop.wait(0.5):
            pass


if __name__ == "__main__":
    typer.run(serve)
