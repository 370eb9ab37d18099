"""Run the real client once, alone, against a simulated API of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline_bench.client import processes
from paceline_bench.client.find import find_client
from paceline_bench.client.home import environment
from paceline_bench.client.result import Counts, RunResult, count
from paceline_bench.client.spec import Fanout, main_script, write_files
from paceline_bench.simapi.script import script_text
from paceline_bench.simapi.server import Running, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from paceline_bench.simapi.script import Reply, Turn

TICK_S = 0.25


@dataclass(frozen=True, slots=True)
class Progress:
    """How a run stands: given to the callback about four times a second.

    Attributes:
        elapsed: seconds since the client was started.
        counts: the fan-out so far.
        home: the client's home.
        pid: the client's process id.
    """

    elapsed: float
    counts: Counts
    home: Path
    pid: int


def run_fanout(
    spec: Fanout,
    *,
    progress: Callable[[Progress], None] | None = None,
    rules: Mapping[str, Callable[[Turn], Reply]] | None = None,
    prepare: Callable[[Path], None] | None = None,
) -> RunResult:
    """Run a fan-out and return what it came to; its home is removed.

    Raises:
        ClientMissing: the client is not to be had.
    """
    with fanout(spec, progress=progress, rules=rules, prepare=prepare) as result:
        return result


@contextmanager
def fanout(
    spec: Fanout,
    *,
    progress: Callable[[Progress], None] | None = None,
    rules: Mapping[str, Callable[[Turn], Reply]] | None = None,
    prepare: Callable[[Path], None] | None = None,
) -> Iterator[RunResult]:
    """Run a fan-out; its home, transcripts and logs stay until the block ends.

    Args:
        spec: what to run.
        progress: called while it runs, in this thread.
        rules: the scripted model; ``simapi.server.DEFAULT_RULES`` when None.
        prepare: called with the home before the client starts (a state file, a setting).

    Raises:
        ClientMissing: the client is not to be had.
    """
    client = find_client(spec.version)
    root = Path(tempfile.mkdtemp(prefix="plbench-")).resolve()
    try:
        home = root / "home"
        work = root / "work"
        for folder in (home / "tmp", work, root / "files"):
            folder.mkdir(parents=True)
        if prepare:
            prepare(home)
        with running(spec.api, log=root / "api.jsonl", rules=rules) as api:
            yield _run(spec, client, root, api, progress)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def run_together(specs: Sequence[Fanout]) -> list[RunResult]:
    """Run several fan-outs at once against one API; return each one's own counts, in order.

    The API is that of the first. For one budget give the specs one ``state_dir``. Homes are gone
    when this returns.

    Raises:
        ClientMissing: a client is not to be had.
    """
    clients = [find_client(spec.version) for spec in specs]
    root = Path(tempfile.mkdtemp(prefix="plbench-")).resolve()
    try:
        roots = [root / str(number) for number in range(len(specs))]
        for one in roots:
            for folder in (one / "home" / "tmp", one / "work", one / "files"):
                folder.mkdir(parents=True)
        with (
            running(specs[0].api, log=root / "api.jsonl") as api,
            ThreadPoolExecutor(len(specs)) as pool,
        ):
            runs = [
                pool.submit(_run, spec, client, one, api, None, shared=True)
                for spec, client, one in zip(specs, clients, roots, strict=True)
            ]
            return [run.result() for run in runs]
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _run(
    spec: Fanout,
    client: Path,
    root: Path,
    api: Running,
    progress: Callable[[Progress], None] | None,
    *,
    shared: bool = False,
) -> RunResult:
    home = root / "home"
    agents = write_files(spec, root / "files")
    prompt = f"Run the fan-out of this script. {script_text(main_script(spec, agents))}"
    (root / "prompt.txt").write_text(prompt, encoding="utf-8")
    command = [
        str(client),
        "-p",
        *("--output-format", "stream-json", "--verbose"),
        "--dangerously-skip-permissions",
        *("--debug-file", str(root / "debug.txt")),
        *spec.options,
    ]
    if spec.plugin_dir:
        command += ["--plugin-dir", str(spec.plugin_dir)]
    mark = uuid.uuid4().hex
    env = environment(spec, home, api.url) | {processes.MARK: mark}
    begun = time.monotonic()
    with (
        (root / "prompt.txt").open("rb") as stdin,
        (root / "out.jsonl").open("wb") as out,
        (root / "err.txt").open("wb") as err,
    ):
        process = processes.start(
            command, cwd=root / "work", env=env, stdin=stdin, out=out, err=err
        )
        try:
            timed_out = _wait(process, spec, api, home, begun, progress=progress)
            wall = time.monotonic() - begun
            left = processes.leftovers(mark) if not timed_out else 0
        finally:
            processes.end(process, mark)
    return _result(
        spec, root, api, process, timed_out=timed_out, wall=wall, leftovers=left, shared=shared
    )


def _wait(
    process: subprocess.Popen[bytes],
    spec: Fanout,
    api: Running,
    home: Path,
    begun: float,
    *,
    progress: Callable[[Progress], None] | None,
) -> bool:
    """Wait for the client's end; return whether the time ran out first."""
    while True:
        elapsed = time.monotonic() - begun
        if progress:
            progress(Progress(elapsed, _counts(spec, api), home, process.pid))
        try:
            process.wait(min(TICK_S, max(0.01, spec.timeout_s - elapsed)))
        except subprocess.TimeoutExpired:
            if elapsed >= spec.timeout_s:
                return True
        else:
            return False


def _counts(spec: Fanout, api: Running, session: str | None = None) -> Counts:
    launched = spec.agents if spec.kind != "none" else 0
    records = [r for r in api.records() if session is None or r.session == session]
    return count(records, launched, spec.api, api.api.account.start)


def _result(
    spec: Fanout,
    root: Path,
    api: Running,
    process: subprocess.Popen[bytes],
    *,
    timed_out: bool,
    wall: float,
    leftovers: int,
    shared: bool,
) -> RunResult:
    lines = list(_json_lines(root / "out.jsonl"))
    first: dict[str, Any] = next((line for line in lines if line.get("subtype") == "init"), {})
    results = [line for line in lines if line.get("type") == "result"]
    texts = [line["result"] for line in results if isinstance(line.get("result"), str)]
    session = first.get("session_id")
    home = root / "home"
    projects = sorted((home / ".claude" / "projects").glob(f"*/{session}.jsonl")) if session else []
    return RunResult(
        counts=_counts(spec, api, session if shared else None),
        exit_code=None if timed_out else process.returncode,
        timed_out=timed_out,
        wall_s=wall,
        result=texts[-1] if texts else None,
        is_error=bool(results and results[-1].get("is_error")),
        session=session,
        init={name: first.get(name) for name in ("mcp_servers", "plugins", "tools", "model")},
        home=home,
        transcripts=projects[0].with_suffix("") if projects else None,
        state=spec.state_dir or home / "state",
        api_log=root / "api.jsonl",
        stream=root / "out.jsonl",
        errors=_tail(root / "err.txt", 2_000),
        debug=_tail(root / "debug.txt", 4_000),
        leftovers=leftovers,
    )


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


def _tail(path: Path, size: int) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[-size:]
    except OSError:
        return ""
