"""The one place where an error becomes a line for a person and an exit code."""

from __future__ import annotations

import io
import os
import platform
import sys
import time
import traceback
from pathlib import Path

from paceline import __version__, paths
from paceline.errors import PacelineError, UsageError
from paceline_mcp.cli.output import ERROR, FINE, INTERRUPTED, USAGE, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def guarded(command: Callable[[Sequence[str]], int], argv: Sequence[str]) -> int:
    """Return the exit code of ``command(argv)``; what it raises is told on stderr.

    Expected errors are one line. A bug leaves a report in ``<state>/reports`` and says where.
    """
    from typer._click.exceptions import ClickException  # no public name for "what typer shows"
    from typer.exceptions import Abort

    _console_that_cannot_fail()
    try:
        code = command(argv)
        sys.stdout.flush()
    except ClickException as err:
        err.show()
        return getattr(err, "exit_code", ERROR)
    except UsageError as err:
        return _say(str(err), USAGE)
    except PacelineError as err:
        return _say(str(err), ERROR)
    except (KeyboardInterrupt, Abort):
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The reader went away (``| head``). Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except Exception as err:  # noqa: BLE001 - the boundary: a bug must end in words, not in silence
        return _bug(err, argv)
    return code


def _console_that_cannot_fail() -> None:
    """Let characters an old Windows console or pipe cannot show become ``?`` instead of errors."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _say(reason: str, code: int) -> int:
    print(f"paceline: {plain(reason)}", file=sys.stderr)  # noqa: T201 - the error line itself
    return code


def _bug(err: Exception, argv: Sequence[str]) -> int:
    """Write a report without arguments, environment or values: they may hold what is private."""
    words = [word for word in argv[:1] if word.isascii() and word.replace("-", "").isalpha()]
    report = (
        f"paceline {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"command: {' '.join(words) or '(none)'}\n\n" + "".join(traceback.format_exception(err))
    )
    folder = Path(paths.state_dir(), "reports")
    name = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    try:
        paths.make_private(str(folder))
        with name.open("x", encoding="utf-8") as file:
            file.write(report)
    except OSError:
        print(report, file=sys.stderr)  # noqa: T201 - nowhere else to leave it
        return _say("a bug, its report is above; next: paceline doctor", ERROR)
    summary = f"{type(err).__name__}: {err}"
    return _say(f"a bug ({summary}); its report is in {name}; next: paceline doctor", ERROR)
