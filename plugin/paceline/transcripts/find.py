"""Where the client keeps its files. Undocumented, seen on 2.1.240 and 2.1.332.

``<config>/projects/<slug>/<session>.jsonl``                       the main thread
``<config>/projects/<slug>/<session>/subagents/agent-<id>.jsonl``  an agent, with ``.meta.json``
``…/<session>/subagents/workflows/<run>/agent-<id>.jsonl``         a workflow's agent, and
``…/<session>/subagents/workflows/<run>/journal.jsonl``            that run's journal
``…/<session>/workflows/<run>.json``                               the run's record, at its end
``…/<session>/workflows/scripts/<name>-<run>.js``                  the run's script
"""

from __future__ import annotations

import os

from paceline import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_AGENT = "agent-"
_ROWS = ".jsonl"
_WORKFLOWS = ("subagents", "workflows")


class AgentFile:
    """One agent's transcript on disk.

    Attributes:
        agent: the agent's id.
        path: of its transcript.
        size: bytes.
        mtime: epoch seconds of its last change.
    """

    __slots__ = ("agent", "mtime", "path", "size")

    def __init__(self, agent: str, path: str, size: int, mtime: float) -> None:
        self.agent = agent
        self.path = path
        self.size = size
        self.mtime = mtime


class SessionFiles:
    """The files of one session.

    Attributes:
        session: its id.
        slug: the project's folder name.
        main: path of the main thread's transcript (which may be missing).
        folder: path of the session's folder (which may be missing).
    """

    __slots__ = ("folder", "main", "session", "slug")

    def __init__(self, project: str, session: str) -> None:
        self.session = session
        self.slug = os.path.basename(project)
        self.main = os.path.join(project, session + _ROWS)
        self.folder = os.path.join(project, session)

    def agents(self) -> list[AgentFile]:
        """Return the agents outside workflows."""
        return agent_files(os.path.join(self.folder, "subagents"))

    def workflows(self) -> list[str]:
        """Return the workflow runs that left something here."""
        found = {entry.name for entry in _folders(os.path.join(self.folder, *_WORKFLOWS))}
        records = _files(os.path.join(self.folder, "workflows"), ".json")
        found.update(entry.name.removesuffix(".json") for entry in records)
        return sorted(run for run in found if paths.is_id(run))

    def workflow_folder(self, run: str) -> str:
        """Return the folder of a run's transcripts and its journal."""
        return os.path.join(self.folder, *_WORKFLOWS, run)

    def record(self, run: str) -> str:
        """Return the path of a run's record, which is written when the run ends."""
        return os.path.join(self.folder, "workflows", run + ".json")

    def script(self, run: str) -> str | None:
        """Return the path of a run's script."""
        scripts = _files(os.path.join(self.folder, "workflows", "scripts"))
        return next((file.path for file in scripts if file.name.endswith(f"-{run}.js")), None)

    def fanned_out(self) -> bool:
        """Whether agents left anything here."""
        return any(
            os.path.isdir(os.path.join(self.folder, name)) for name in ("subagents", "workflows")
        )


def config_dir(env: Mapping[str, str] | None = None) -> str:
    """Return the client's folder: ``CLAUDE_CONFIG_DIR``, else ``~/.claude``."""
    env = os.environ if env is None else env
    told = env.get("CLAUDE_CONFIG_DIR")
    return os.path.abspath(told) if told else os.path.join(paths.home(env), ".claude")


def projects_dir(env: Mapping[str, str] | None = None) -> str:
    """Return the folder with one folder a project."""
    return os.path.join(config_dir(env), "projects")


def sessions(projects: str, only: str | None = None) -> Iterator[SessionFiles]:
    """Yield the sessions under a projects folder, in no order; ``only`` one id when given.

    ``projects`` may also be one project's folder. An unreadable folder has none.
    """
    for project in (projects, *(entry.path for entry in _folders(projects))):
        names = {entry.name.removesuffix(_ROWS) for entry in _files(project, _ROWS)}
        names.update(
            entry.name
            for entry in _folders(project)
            if entry.name not in names and os.path.isdir(os.path.join(entry.path, "subagents"))
        )
        for name in sorted(names):
            if paths.is_id(name) and (only is None or name == only):
                yield SessionFiles(project, name)


def agent_files(folder: str) -> list[AgentFile]:
    """Return the agents whose transcripts lie in a folder, those with an id for a name."""
    found = []
    for entry in _files(folder, _ROWS):
        agent = entry.name.removeprefix(_AGENT).removesuffix(_ROWS)
        if entry.name != f"{_AGENT}{agent}{_ROWS}" or not paths.is_id(agent):
            continue
        try:
            stat = entry.stat()
        except OSError:
            continue
        found.append(AgentFile(agent, entry.path, stat.st_size, stat.st_mtime))
    return sorted(found, key=lambda file: file.agent)


def meta_of(transcript: str) -> str:
    """Return the path of the ``.meta.json`` beside an agent's transcript."""
    return transcript.removesuffix(_ROWS) + ".meta.json"


def _files(folder: str, ending: str = "") -> list[os.DirEntry[str]]:
    return [entry for entry in _entries(folder, files=True) if entry.name.endswith(ending)]


def _folders(folder: str) -> list[os.DirEntry[str]]:
    return _entries(folder, files=False)


def _entries(folder: str, *, files: bool) -> list[os.DirEntry[str]]:
    """Return the regular files or the folders in a folder; none where it cannot be read."""
    kept = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    if entry.is_file() if files else entry.is_dir():
                        kept.append(entry)
                except OSError:
                    continue
    except OSError:
        pass
    return kept
