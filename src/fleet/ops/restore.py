"""Unpacks a backup into a new folder: all of it is checked before the first byte is written.

It makes files and tells what is in them; it starts nothing.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

from fleet.errors import NotAllowed, Unavailable, Usage
from fleet.ops import packing
from fleet.ops.packing import Entry, Manifest
from fleet.ports import first_kept
from fleet.records import Body
from fleet.units import format_size

if TYPE_CHECKING:
    from fleet.wiring import Fleet

PAGE = 500
Progress = Callable[[int, int], None]


def restore(
    source: Path, target: Path, progress: Progress = lambda _done, _total: None
) -> Manifest:
    """Unpack the backup `source` into `target`, which is new or an empty folder.

    Files are 0600 or 0700, folders 0700. Durable when it returns; whatever fails leaves nothing.

    Args:
        source: the file.
        target: absolute.
        progress: told how many bytes are done, and of how many.

    Raises:
        Usage: there is no such file, or `target` is no folder or holds anything.
        Rejected: the file is no backup.
        EndedBadly: it is damaged, or somebody made it up.
        BadHome: a newer program made it.
        Unavailable: it does not fit on the disk.
        NotAllowed: the system does not let this user write there.
    """
    if not source.is_file():
        raise Usage(f"there is no file {source}", "name a file that fleet backup wrote")
    check_target(target)
    with packing.opened(source) as archive:
        total = packing.manifest_of(archive).size
        done = _Counted(progress, 2 * total)
        _check_room(target.parent, total)
        manifest = packing.check(archive, done)
        with _beside(target) as folder:
            _unpack(archive, manifest, folder, done)
    return manifest


def check_target(target: Path) -> None:
    """Refuse a place in which something could be lost.

    Raises:
        Usage: it is no folder, holds anything, is the current folder, or has none to be in.
    """
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise Usage(f"{target} is no folder", "name a new or an empty folder")
    if target.is_dir() and (found := next(target.iterdir(), None)):
        raise Usage(
            f"{target} is not empty: it holds {found.name}", "name a new or an empty folder"
        )
    if target.is_dir() and target.samefile(Path.cwd()):
        raise Usage(f"{target} is the folder you are in", "name another, from outside of it")
    if not target.parent.is_dir():
        raise Usage(f"there is no folder {target.parent}", "make it, or name another place")


class _Counted:
    """Sums up what is done for whoever watches."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def __call__(self, count: int) -> None:
        self._done += count
        self._progress(self._done, self._total)


def _check_room(folder: Path, size: int) -> None:
    room = os.statvfs(folder)
    free = room.f_bavail * room.f_frsize
    if size > free:
        raise Unavailable(
            f"{format_size(size)} do not fit into {folder}, where {format_size(free)} are free",
            "make room, or name another place",
        )


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A new folder beside `target` that takes its place at the end, or goes without a trace."""
    folder = target.with_name(f".{target.name}.restoring-{os.getpid()}")
    try:
        folder.mkdir(mode=0o700)
        yield folder
        os.sync()  # once for all of them: a file system has them in any order
        folder.rename(target)
        os.sync()
    except BaseException as fault:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(fault, PermissionError):
            raise NotAllowed(
                f"nothing may be written to {target.parent}", "name another"
            ) from fault
        if isinstance(fault, OSError):
            what = f"it could not be unpacked: {(fault.strerror or str(fault)).lower()}"
            raise Unavailable(what, "nothing was left behind; make room, then repeat") from fault
        raise


def _unpack(archive: ZipFile, manifest: Manifest, folder: Path, moved: packing.Moved) -> None:
    for name in manifest.folders:
        _make_folder(folder, name)
    for entry in manifest.files:
        _make_folder(folder, entry.path.rpartition("/")[0])
        _write(archive, entry, folder / entry.path, moved)


def _make_folder(top: Path, name: str) -> None:
    """Each folder 0700, whatever the umask."""
    path = top
    for part in name.split("/") if name else ():
        path /= part
        if not path.is_dir():
            path.mkdir(mode=0o700)
            path.chmod(0o700)


def _write(archive: ZipFile, entry: Entry, path: Path, moved: packing.Moved) -> None:
    mode = 0o700 if entry.program else 0o600
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)
        for part in packing.parts(archive, entry):
            file.write(part)
            moved(len(part))
    os.utime(path, (entry.changed, entry.changed))


def figures(fleet: "Fleet") -> Body:
    """What the home's state holds: {logs, records, documents}."""
    streams = list(_pages(fleet.store.streams))
    records = sum(fleet.store.head(name) - first_kept(fleet.store, name) + 1 for name in streams)
    documents = sum(1 for _ in _pages(fleet.store.keys))
    return {"logs": len(streams), "records": records, "documents": documents}


def _pages(list_page: Callable[[str, str, int], list[str]]) -> Iterator[str]:
    after = ""
    while page := list_page("", after, PAGE):
        yield from page
        after = page[-1]
