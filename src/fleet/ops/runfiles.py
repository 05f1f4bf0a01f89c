"""The files of runs in the state, found, measured and deleted; which of them go is not said here.

A run has a folder in `state/run`, and the CLI's transcripts of it below `state/claude`. Agents may
write there too: every folder is opened one below the other, so that no link leads out of the state.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from fleet.records import made_at

GONE = ".gone-"  # begins the name of a run's folder that is being deleted
FOLDERS = "run"
TRANSCRIPTS = "claude"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


class Transcript(NamedTuple):
    """A file or a folder of the CLI about one session, `claude/<agent>/projects/<project>/<name>`.

    `changed` is when it was written last, seconds since the epoch.
    """

    agent: str
    project: str
    name: str
    changed: float


def folders(state: Path) -> list[str]:
    """The runs that have a folder; nothing else that lies there."""
    with _opened(state, FOLDERS) as folder:
        return [one.name for one in _folders(folder) if made_at(one.name) is not None]


def remainders(state: Path) -> list[str]:
    """The runs whose deletion began and did not end."""
    with _opened(state, FOLDERS) as folder:
        names = [one.name for one in _folders(folder)]
    return [name.removeprefix(GONE) for name in names if name.startswith(GONE)]


def transcripts(state: Path) -> dict[str, list[Transcript]]:
    """What the CLI keeps in the state about each session; the session of a run has its id."""
    found: dict[str, list[Transcript]] = {}
    with _opened(state, TRANSCRIPTS) as agents:
        for agent in [one.name for one in _folders(agents)]:
            with _opened(state, TRANSCRIPTS, agent, "projects") as projects:
                for project in [one.name for one in _folders(projects)]:
                    for one in _sessions(state, agent, project):
                        found.setdefault(one.name.removesuffix(".jsonl"), []).append(one)
    return found


def _sessions(state: Path, agent: str, project: str) -> Iterator[Transcript]:
    with _opened(state, TRANSCRIPTS, agent, "projects", project) as folder:
        for entry in os.scandir(folder) if folder is not None else ():
            # The CLI keeps other things there, a memory among them.
            is_one = (
                entry.name.endswith(".jsonl") if _is_file(entry) else _UUID.fullmatch(entry.name)
            )
            if is_one and not entry.is_symlink():
                changed = entry.stat(follow_symlinks=False).st_mtime
                yield Transcript(agent, project, entry.name, changed)


def size(state: Path, run: str, known: list[Transcript]) -> int:
    """Bytes of all files of `run`, whose transcripts are `known`; what is gone meanwhile is 0."""
    total = 0
    with _opened(state, FOLDERS) as folder:
        total += _below(run, folder)
    for one in known:
        with _opened(state, TRANSCRIPTS, one.agent, "projects", one.project) as folder:
            total += _below(one.name, folder)
    return total


def delete(state: Path, run: str, known: list[Transcript]) -> None:
    """Delete all files of `run`; cut short, its folder is whole or a remainder.

    Raises:
        OSError: something cannot be deleted; the rest of it may be gone.
    """
    with _opened(state, FOLDERS) as folder:
        if folder is None:
            return
        with suppress(FileNotFoundError):
            os.rename(run, GONE + run, src_dir_fd=folder, dst_dir_fd=folder)
        for one in known:
            with _opened(state, TRANSCRIPTS, one.agent, "projects", one.project) as project:
                _remove(one.name, project)
        _remove(GONE + run, folder)


def _remove(name: str, folder: int | None) -> None:
    if folder is None:
        return
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)


def _below(name: str, folder: int | None) -> int:
    """Bytes of a file, or of all files below a folder."""
    if folder is None:
        return 0
    with suppress(FileNotFoundError):
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISDIR(facts.st_mode):
            return facts.st_size
        return sum(
            os.stat(one, dir_fd=inner, follow_symlinks=False).st_size
            for _, _, names, inner in os.fwalk(name, dir_fd=folder)
            for one in names
        )
    return 0


def _folders(folder: int | None) -> Iterator[os.DirEntry[str]]:
    entries = os.scandir(folder) if folder is not None else ()
    return (one for one in entries if one.is_dir(follow_symlinks=False))


def _is_file(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False)


@contextmanager
def _opened(state: Path, *below: str) -> Iterator[int | None]:
    """A descriptor of a folder of the state; None where it is missing, a link, or not ours."""
    handle: int | None = None
    try:
        handle = os.open(state, _DIRECTORY)
        for name in below:
            outer, handle = handle, os.open(name, _DIRECTORY, dir_fd=handle)
            os.close(outer)
    except OSError:
        if handle is not None:
            os.close(handle)
        handle = None
    try:
        yield handle
    finally:
        if handle is not None:
            os.close(handle)
