"""The one place where an error becomes a line for a person and an exit code."""

from __future__ import annotations

import errno
import io
import os
import platform
import sys
import time
import traceback
from pathlib import Path

from paceline import __version__, paths
from paceline.errors import PacelineError, StateError, UsageError
from paceline_mcp.cli.output import ERROR, FINE, INTERRUPTED, USAGE, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NEXT = "next: "
"""What every line of an error ends with, and something to type."""


def guarded(command: Callable[[Sequence[str]], int], argv: Sequence[str]) -> int:
    """Return the exit code of ``command(argv)``; what it raises is told on stderr.

    Expected errors are one line. A bug leaves a report in ``<state>/reports`` and says where.
    """
    from typer._click.exceptions import ClickException  # no public name for "what typer shows"
    from typer.exceptions import Abort

    _console_that_cannot_fail()
    console = sys.stdout  # typer puts another in its place where a reader goes away
    try:
        code = command(argv)
        sys.stdout.flush()
    except ClickException as err:
        err.show()
        return getattr(err, "exit_code", ERROR)
    except UsageError as err:
        return _say(str(err), USAGE)
    except StateError as err:
        return _say(str(err) if NEXT in str(err) else f"{err}; {NEXT}paceline doctor", ERROR)
    except PacelineError as err:
        return _say(str(err), ERROR)
    except (KeyboardInterrupt, Abort):
        return _say("interrupted", INTERRUPTED)
    except SystemExit as err:
        if sys.stdout is console:
            raise
        return _unread(FINE) if err.code else FINE
    except OSError as err:
        if reader_left(err, sys.platform):
            return _unread(FINE)
        if err.errno in NOT_WRITTEN and err.filename is None:
            return _unread(_say(f"the output cannot be written ({err.strerror})", ERROR))
        return _bug(err, argv)
    except Exception as err:  # noqa: BLE001 - the boundary: a bug must end in words, not in silence
        return _bug(err, argv)
    return code


NOT_WRITTEN = frozenset({errno.ENOSPC, errno.EIO, errno.EFBIG, getattr(errno, "EDQUOT", -1)})


def reader_left(err: OSError, system: str) -> bool:
    """Whether an error means that the reader of stdout went away (``| head``).

    Args:
        err: what was raised.
        system: as ``sys.platform`` says it; Windows calls such a write an invalid argument.
    """
    if isinstance(err, BrokenPipeError):
        return True
    return system == "win32" and err.errno == errno.EINVAL and err.filename is None


def _unread(code: int) -> int:
    """Let what is still buffered go nowhere: Python would complain at exit. Return ``code``."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _console_that_cannot_fail() -> None:
    """Let characters an old Windows console or pipe cannot show become ``?`` instead of errors.

    A stream that was closed before we came (``>&-``) takes everything and shows nothing.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for good
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
