"""Copies a home into one file while everything goes on; what the file is, `packing` says.

Whoever writes here writes a record first and the document about it second. So documents are
copied before logs, and a log that refers to others before those: nothing in the copy points to a
record that is not in it. Blobs and run folders come after the records that name them.
"""

import os
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import IO, NamedTuple
from zipfile import ZipFile

from fleet.errors import NotAllowed, Unavailable, Usage
from fleet.ops import packing
from fleet.ops.packing import Entry, Manifest
from fleet.ops.runfiles import GONE
from fleet.places import FORMAT_FILE, Places
from fleet.records import rfc3339
from fleet.units import format_size

BESIDE = frozenset({"archive", "claude", "export", "outbox", "quarantine", "run"})
"""Folders of the state that hold neither live logs nor documents."""

REFERRING = ("alerts", "retractions", "shadow", "deadletters", "fires", "runs")
"""Logs that name records of other logs, in the order in which they may name each other."""

REFERRED = ("channels", "events")
BLOBS = "blobs"
"""Documents that records name, and that are there before those."""

DOCUMENT, LOG, UNFINISHED = (".json", ".json.prev"), ".jsonl", ".tmp"
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TAIL = 64 << 10

Progress = Callable[[int, int], None]
"""Told how many bytes are done, and of how many."""


class Found(NamedTuple):
    """A file or folder to copy; `log` when it must end at a line feed."""

    path: Path
    log: bool = False


def backup(
    places: Places,
    target: Path,
    *,
    wall: float,
    work: bool = True,
    least: int = 0,
    progress: Progress = lambda _done, _total: None,
) -> Manifest:
    """Write the home at `places` to the new file `target`, 0600, durable when it returns.

    The caller holds the maintenance lock, shared.

    Args:
        places: the home.
        target: absolute, outside of the home; there is nothing yet.
        wall: now, in epoch seconds.
        work: with the agents' working folders.
        least: bytes that must stay free where `target` shares the home's disk.
        progress: told how far it is.

    Raises:
        Usage: `target` exists, lies in the home, or has no folder to be in.
        NotAllowed: the system does not let this user write there.
        Unavailable: the disk is full, or what must be read cannot be; nothing is left behind.
    """
    _check_target(places.root, target)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    copying = _Copying(places, work=work, room=_Room(places.root, target.parent, least))
    try:
        with _new_file(temporary) as file:
            with ZipFile(file, "w") as archive:
                manifest = copying.into(archive, wall, progress)
            file.flush()
            os.fsync(file.fileno())
        _check_target(places.root, target)
        temporary.rename(target)
        _sync_folder(target.parent)
    except BaseException as fault:
        temporary.unlink(missing_ok=True)
        if isinstance(fault, OSError):
            what = f"the backup could not be written: {(fault.strerror or str(fault)).lower()}"
            where = f" ({fault.filename})" if fault.filename else ""
            fix = "nothing was left behind; make room, or name another place"
            raise Unavailable(f"{what}{where}", fix) from fault
        raise
    return manifest


def _check_target(root: Path, target: Path) -> None:
    if os.path.lexists(target):
        raise Usage(f"{target} is there already", "name a new file")
    if not target.parent.is_dir():
        raise Usage(f"there is no folder {target.parent}", "make it, or name another place")
    if target.parent.resolve().is_relative_to(root):
        raise Usage(f"{target} lies in the home itself", "name a file outside of it")


def _new_file(path: Path) -> IO[bytes]:
    try:
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b")
    except PermissionError as fault:
        raise NotAllowed(f"nothing may be written to {path.parent}", "name another") from fault


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class _Room:
    """Watches that a backup on the home's own disk leaves `least` bytes of it free."""

    def __init__(self, root: Path, folder: Path, least: int) -> None:
        self._folder = folder
        shared = folder.stat().st_dev == root.stat().st_dev
        self._least = least if shared else 0

    def check(self, coming: int = 0) -> None:
        """Raise `Unavailable` when less would be free once `coming` bytes are written."""
        room = os.statvfs(self._folder)
        free = room.f_bavail * room.f_frsize
        if self._least and free - coming < self._least:
            said = f"{format_size(free)} are free, limits.min_free is {format_size(self._least)}"
            raise Unavailable(
                f"a backup beside the home would fill its disk: {said}",
                "name a file on another disk; fleet trim says what could go",
            )


class _Copying:
    """One backup under way: what was copied, and what was left out."""

    def __init__(self, places: Places, *, work: bool, room: _Room) -> None:
        self._places = places
        self._root = places.root
        self._work = work
        self._room = room
        self._files: list[Entry] = []
        self._folders: list[str] = []
        self._left_out: list[tuple[str, str]] = []

    def into(self, archive: ZipFile, wall: float, progress: Progress) -> Manifest:
        """Copy everything in its order, and the manifest last."""
        state = format_of(self._places)
        self._room.check()
        total, done = self._total(), 0
        for found in self._all():
            self._room.check()
            entry = self._copy(archive, found)
            if entry:
                self._files.append(entry)
                done += entry.size
                progress(min(done, total), total)
        manifest = Manifest(
            fleet=version("fleet-agents"),
            state=state,
            made=rfc3339(wall),
            host=socket.gethostname(),
            home=str(self._root),
            work=self._work,
            folders=tuple(sorted(set(self._folders))),
            files=tuple(self._files),
            left_out=tuple(self._left_out),
        )
        packing.put_manifest(archive, manifest)
        return manifest

    def _total(self) -> int:
        """Bytes that are there now; what is left out is counted at the real copying."""
        total = 0
        for found in self._all():
            with suppress(OSError):
                total += found.path.lstat().st_size
        self._folders.clear()
        self._left_out.clear()
        return total

    # What, in which order ------------------------------------------------------------------------

    def _all(self) -> Iterator[Found]:
        """Every file, each part of the home listed when its turn comes and not before."""
        state = self._places.state
        yield from self._operators()
        yield from (Found(path) for path in self._walk(state, _points_to_records))
        for kind in REFERRING:
            yield from self._logs(kind.__eq__)
        yield from self._logs(lambda kind: kind not in {*REFERRING, *REFERRED})
        for kind in REFERRED:
            yield from self._logs(kind.__eq__)
        yield from (Found(path) for path in self._walk(state, _is_pointed_to))
        yield from (Found(path) for path in self._walk(state, self._is_beside))
        yield from (Found(path) for path in self._walk(self._places.runs))
        if self._work:
            yield from (Found(path) for path in self._walk(self._root / "work"))

    def _operators(self) -> Iterator[Found]:
        """What a person keeps: all but fleet's own and hidden folders (.git, .venv)."""
        for path in sorted(self._root.iterdir()):
            hidden = path.name.startswith(".") and path.is_dir()
            if path.name in {"state", "work"} or hidden:
                continue
            yield from (Found(one) for one in self._walk(path))

    def _logs(self, wanted: Callable[[str], bool]) -> Iterator[Found]:
        state = self._places.state
        found = self._walk(state, lambda parts: _is_log(parts) and wanted(parts[0]))
        yield from (Found(path, log=True) for path in found)

    def _is_beside(self, parts: tuple[str, ...]) -> bool:
        """What of the state is no document, live log or run's file, and not about this moment."""
        return parts[0] not in {"run", "export"} and not _is_document(parts) and not _is_log(parts)

    def _walk(
        self, start: Path, wanted: Callable[[tuple[str, ...]], bool] = lambda _parts: True
    ) -> Iterator[Path]:
        """The regular files below `start`, or it itself, sorted; links and devices are noted.

        `wanted` is asked with the parts of a path below `start`.
        """
        if not start.is_dir() or start.is_symlink():
            yield from self._regular([start]) if os.path.lexists(start) else ()
            return
        for folder, inner, names in os.walk(start, onerror=self._cannot_list):
            here = Path(folder)
            self._folders.append(str(here.relative_to(self._root)))
            links = [name for name in inner if (here / name).is_symlink()]
            inner[:] = sorted(name for name in inner if not self._never(here / name))
            inside = [here / name for name in sorted((*names, *links))]
            yield from self._regular([p for p in inside if wanted(p.relative_to(start).parts)])

    def _never(self, folder: Path) -> bool:
        name = str(folder.relative_to(self._root))
        return name in packing.NEVER or name.startswith(f"state/run/{GONE}")

    def _cannot_list(self, fault: OSError) -> None:
        if Path(str(fault.filename)).is_relative_to(self._places.state):
            raise fault
        self._leave_out(Path(str(fault.filename)), (fault.strerror or "unreadable").lower())

    def _regular(self, paths: list[Path]) -> Iterator[Path]:
        for path in paths:
            if path.name.endswith(UNFINISHED) and path.is_relative_to(self._places.state):
                continue
            try:
                mode = path.lstat().st_mode
            except FileNotFoundError:
                continue
            if stat.S_ISREG(mode):
                yield path
            elif not stat.S_ISSOCK(mode):
                self._leave_out(path, "a symbolic link" if stat.S_ISLNK(mode) else "a device")

    def _leave_out(self, path: Path, why: str) -> None:
        name = str(path.relative_to(self._root)).encode("utf-8", "backslashreplace").decode()
        if (name, why) not in self._left_out:
            self._left_out.append((name, why))

    # One file ------------------------------------------------------------------------------------

    def _copy(self, archive: ZipFile, found: Found) -> Entry | None:
        """Copy one file; None when it is gone, or is none of those that a backup holds."""
        path = found.path
        name = str(path.relative_to(self._root))
        try:
            name.encode()
        except UnicodeEncodeError:
            self._leave_out(path, "its name is no UTF-8")
            return None
        try:
            descriptor = os.open(path, _FLAGS)
        except FileNotFoundError:
            return None
        except OSError as fault:
            if path.is_relative_to(self._places.state):
                raise
            self._leave_out(path, (fault.strerror or "unreadable").lower())
            return None
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                self._leave_out(path, "no regular file")
                return None
            size = _whole_lines(descriptor, facts.st_size) if found.log else facts.st_size
            self._room.check(size)
            return packing.put(
                archive,
                name,
                file,
                size,
                program=bool(facts.st_mode & stat.S_IXUSR),
                changed=facts.st_mtime,
            )


def _is_document(parts: tuple[str, ...]) -> bool:
    return parts[0] not in BESIDE and parts[-1].endswith(DOCUMENT)


def _points_to_records(parts: tuple[str, ...]) -> bool:
    return _is_document(parts) and parts[0] != BLOBS


def _is_pointed_to(parts: tuple[str, ...]) -> bool:
    return _is_document(parts) and parts[0] == BLOBS


def _is_log(parts: tuple[str, ...]) -> bool:
    return len(parts) > 1 and parts[0] not in BESIDE and parts[-1].endswith(LOG)


def _whole_lines(descriptor: int, size: int) -> int:
    """Bytes up to the last line feed: what follows is an append under way, or a killed writer's."""
    while size:
        start = max(0, size - _TAIL)
        cut = os.pread(descriptor, size - start, start).rfind(b"\n")
        if cut >= 0:
            return start + cut + 1
        size = start
    return 0


def format_of(places: Places) -> str:
    """What the state's file FORMAT says, "" when there is none."""
    try:
        return (places.state / FORMAT_FILE).read_text("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""
