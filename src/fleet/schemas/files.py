"""The files in `schemas/`: their names, their bytes, and a print that says whether one changed.

Nothing here understands a schema.
"""

import os
import stat
import time
from pathlib import Path

from fleet.errors import BadHome
from fleet.places import safe_name
from fleet.records import MAX_DOCUMENT

SUFFIX = ".json"
MAX_FILE = MAX_DOCUMENT  # bytes
SETTLED = 2.0  # seconds after which a change of a file shows in its times, on any file system

Print = tuple[int, int, int, int]
"""Size, mtime and ctime in nanoseconds, inode."""


def folder_of(root: Path) -> Path:
    """Where the home at `root` keeps its event types."""
    return root / "schemas"


def path_of(root: Path, name: str) -> Path:
    """The file of event type `name`, which must be a safe name."""
    return folder_of(root) / f"{name}{SUFFIX}"


def names(root: Path) -> list[str]:
    """Every event type that has a file, valid or not, sorted; [] without the folder."""
    try:
        files = os.listdir(folder_of(root))  # noqa: PTH208 - half the time, and emit waits for it
    except FileNotFoundError:
        return []
    stems = (name.removesuffix(SUFFIX) for name in files if name.endswith(SUFFIX))
    return sorted(stem for stem in stems if safe_name(stem))


def print_of(path: Path) -> Print | None:
    """The print of the file at `path`, not followed if it is a symlink; None without a file."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def is_young(seen: Print) -> bool:
    """Whether a file with this print may still change without its print changing."""
    return time.time() - max(seen[1], seen[2]) / 1e9 < SETTLED


def read(path: Path) -> bytes:
    """The bytes of a regular file of at most `MAX_FILE` bytes.

    Raises:
        BadHome: it is a symlink, no regular file, too large, or cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as fault:
        if path.is_symlink():
            raise BadHome(f"{path.name} is a symlink", "put the file itself there") from None
        raise BadHome(f"{path.name} cannot be read", os.strerror(fault.errno or 0)) from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise BadHome(f"{path.name} is no regular file", "put a JSON Schema there")
        with open(handle, "rb", closefd=False) as file:
            data = file.read(MAX_FILE + 1)
    finally:
        os.close(handle)
    if len(data) > MAX_FILE:
        raise BadHome(f"{path.name} has more than {MAX_FILE >> 10} KiB", "shorten the schema")
    return data
