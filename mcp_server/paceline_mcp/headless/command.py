"""The person's command line: what session it is, where its prompt stands, how it is resumed. Pure.

Nothing of it is changed but what must be: words of our own go right behind the client's name, and
when the session is resumed the prompt is replaced and flags that choose a session go.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath

from paceline.errors import UsageError
from paceline_mcp.headless import flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CLIENT = "claude"
PRINT = ("-p", "--print")
PACKAGE = "claude-code"


_SHORT = flags.REQUIRED | flags.OPTIONAL


@dataclass(frozen=True, slots=True)
class Part:
    """One flag with its values, or one word that is none.

    Attributes:
        name: the flag, or "" for a word.
        words: what stands in the command line for it, the flag included.
        values: its values; a word's own text.
    """

    name: str
    words: tuple[str, ...]
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A headless command of the client.

    Attributes:
        head: the words up to the client's name.
        parts: the rest, in its order.
    """

    head: tuple[str, ...]
    parts: tuple[Part, ...]

    def has(self, *names: str) -> bool:
        """Whether one of these flags is there."""
        return any(part.name in names for part in self.parts)

    def values(self, *names: str) -> list[str]:
        """Return the values of these flags, in order; those given without one tell none."""
        return [value for part in self.parts if part.name in names for value in part.values]

    @property
    def prompt(self) -> str | None:
        """The prompt among the words, or None where it comes on stdin."""
        return next((part.values[0] for part in self.parts if not part.name), None)

    @property
    def output(self) -> str:
        """``text``, ``json`` or ``stream-json``."""
        return (["text", *self.values("--output-format")])[-1]

    @property
    def session(self) -> str:
        """The session's id where the command says it, else ""."""
        told = self.values("--session-id")
        if not told and not self.has("--fork-session"):
            told = self.values("--resume", "-r")
        return told[-1] if told and is_uuid(told[-1]) else ""

    @property
    def chooses_session(self) -> bool:
        """Whether an id of ours would be refused: it goes on with a session it names itself."""
        if self.has("--session-id"):
            return True
        goes_on = self.has("--resume", "-r", "--continue", "-c", "--from-pr", "--teleport")
        return goes_on and not self.has("--fork-session")

    @property
    def persists(self) -> bool:
        """Whether the session is kept, so that it can be resumed."""
        return not self.has("--no-session-persistence")

    def words(self, extra: Sequence[str] = ()) -> list[str]:
        """Return the command line, with ``extra`` words right behind the client's name."""
        told = [word for part in self.parts for word in part.words]
        return [*self.head, *extra, *told]

    def resumed(self, session: str, text: str | None, extra: Sequence[str] = ()) -> list[str]:
        """Return the same command on ``session``, with ``text`` as its prompt.

        Where the prompt came on stdin, and where ``text`` is None, no word is added: the prompt
        has to go there.
        """
        told: list[str] = []
        given = self.prompt is not None
        for part in self.parts:
            if not part.name or part.name in flags.SESSION:
                continue
            told += part.words
            if given and text is not None and part.name in PRINT:
                told.append(text)  # behind a flag without a value: no list can swallow it
                given = False
        return [*self.head, *extra, "--resume", session, *told]


def is_uuid(text: str) -> bool:
    """Whether ``text`` can be a session's id."""
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def read(words: Sequence[str]) -> Command:
    """Return the command of a person's words.

    Raises:
        UsageError: there is no client in it, or it is not a headless one.
    """
    if not words:
        raise UsageError('no command given; next: paceline run -- claude -p "…"')
    at = _client(words)
    command = Command(tuple(words[:at]), tuple(_parts(list(words[at:]))))
    if not command.has(*PRINT):
        raise UsageError(
            "only a headless command can be run to its end: add -p; "
            'next: paceline run -- claude -p "…"'
        )
    if command.has("--bg", "--background", "--cloud", "--remote"):
        raise UsageError("a session that goes on elsewhere cannot be watched from here; leave --bg")
    return command


def _client(words: Sequence[str]) -> int:
    """Return how many words lead to the client: a path to it, or a wrapper before it."""
    for at, word in enumerate(words):
        name = word.replace("@latest", "").rsplit("@", 1)[0] if word.startswith("@") else word
        stems = {PurePosixPath(name).stem.lower(), PureWindowsPath(name).stem.lower()}
        if stems & {CLIENT, PACKAGE}:
            return at + 1
    dashed = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    return max(1, dashed)


def _parts(words: list[str]) -> list[Part]:
    """Split words as Commander does (see :mod:`.flags`)."""
    found: list[Part] = []
    taking: Part | None = None
    while words:
        word = words.pop(0)
        if word == "--":
            found.append(Part(word, (word,)))
            found += [Part("", (one,), (one,)) for one in words]
            break
        if not _is_flag(word):
            if taking is not None:
                taking = Part(taking.name, (*taking.words, word), (*taking.values, word))
                found[-1] = taking
            else:
                found.append(Part("", (word,), (word,)))
            continue
        taking = None
        cluster = _cluster(word)
        if cluster:
            words[:0] = cluster
            continue
        part = _flag(word, words, prompt_seen=any(not one.name for one in found))
        found.append(part)
        taking = part if part.name in flags.LISTS and "=" not in word else None
    return found


def _is_flag(word: str) -> bool:
    return len(word) > 1 and word.startswith("-")


def _cluster(word: str) -> list[str]:
    """Return the flags that ``-pc`` or ``-pr`` stand for; none where it is one flag."""
    if len(word) == 2 or word.startswith("--"):  # noqa: PLR2004 - a dash and its letter
        return []
    first = word[:2]
    return [first, f"-{word[2:]}"] if first in flags.NONE else []


def _flag(word: str, rest: list[str], *, prompt_seen: bool) -> Part:
    """Return a flag with the value it takes off the words that follow."""
    name, given, value = word.partition("=")
    if given and name.startswith("--"):
        return Part(name, (word,), (value,))
    if not word.startswith("--") and len(word) > 2 and word[:2] in _SHORT:  # noqa: PLR2004
        return Part(word[:2], (word,), (word[2:],))
    if word in flags.REQUIRED:
        takes = bool(rest)
    elif word in flags.OPTIONAL:
        takes = bool(rest) and not _is_flag(rest[0])
    elif word in flags.LISTS or word in flags.NONE:
        takes = False
    else:
        # A newer client's flag: the last word is rather the prompt than its value.
        takes = bool(rest) and not _is_flag(rest[0]) and (len(rest) > 1 or prompt_seen)
    if not takes:
        return Part(word, (word,))
    value = rest.pop(0)
    return Part(word, (word, value), (value,))
