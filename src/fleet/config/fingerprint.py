"""Whether the operator's files are still those that a config was made from, without reading them.

A file's stamp is its size, times and inode. A file that was young when it was stamped may change
again within one tick of the file system's clock, so its stamp holds a checksum too: it guards
against accident, not against somebody who can write the home anyway.
"""

import os
import stat
import time
import zlib
from collections.abc import Iterable
from typing import TypeAlias

YOUNG = 2_000_000_000  # nanoseconds

Facts: TypeAlias = tuple[int, int, int, int]
"""Size, mtime and ctime in nanoseconds, inode."""
Stamp: TypeAlias = tuple[str, Facts | None, int | None]
"""A path relative to the home, its facts (None: absent), the checksum of a young file's bytes."""


def facts(path: str) -> Facts | None:
    """The facts of a file or folder, not followed if it is a symlink; None when unreachable."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    size = 0 if stat.S_ISDIR(found.st_mode) else found.st_size
    return (size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def stamp(name: str, seen: Facts | None, content: bytes) -> Stamp:
    """The stamp of `name`: `seen` before its `content` was read."""
    young = seen is not None and time.time_ns() - max(seen[1], seen[2]) < YOUNG
    return (name, seen, zlib.crc32(content) if young else None)


def names(found: Iterable[str]) -> bytes:
    """The content of a folder: its names, in one order."""
    return "\0".join(sorted(found)).encode("utf-8", "surrogateescape")


def unchanged(root: str, stamps: Iterable[Stamp]) -> bool:
    """Whether every stamp still fits what lies under `root`."""
    for name, seen, checksum in stamps:
        path = f"{root}/{name}"
        if facts(path) != seen:
            return False
        if checksum is not None and _checksum(path) != checksum:
            return False
    return True


def _checksum(path: str) -> int | None:
    try:
        return zlib.crc32(names(os.listdir(path)))  # noqa: PTH208 - the hot path has no Path
    except NotADirectoryError:
        pass
    except OSError:
        return None
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            return zlib.crc32(file.read())
    except OSError:
        return None
