"""Derived files: a hash before the data, replaced by rename, and nothing lost when one is lost."""

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING
from zlib import crc32

from fleet.errors import NotAllowed
from fleet.stores import names
from fleet.stores.files import disk

if TYPE_CHECKING:
    from pathlib import Path


class FilesCache:
    """The `Cache` port over the flat folder `folder`; it is made at the first save."""

    def __init__(self, folder: "Path") -> None:
        self._folder = os.fspath(folder)

    def load(self, name: str) -> bytes | None:
        """See `Cache.load`."""
        try:
            fd = disk.open_file(self._path(name), os.O_RDONLY)
        except (OSError, NotAllowed):
            return None
        try:
            found = os.fstat(fd)
            if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
                return None
            raw = os.pread(fd, found.st_size, 0)
        except OSError:
            return None
        finally:
            os.close(fd)
        head, _, data = raw.partition(b"\n")
        return data if head == _head(data) else None

    def save(self, name: str, data: bytes) -> None:
        """See `Cache.save`."""
        path = self._path(name)
        with suppress(OSError, NotAllowed):
            disk.check_folder(os.path.dirname(self._folder))  # a linked state leads elsewhere
            if not disk.check_folder(self._folder):
                os.makedirs(self._folder, mode=0o700, exist_ok=True)
                os.chmod(self._folder, 0o700)
            disk.replace(
                path,
                _head(data) + b"\n" + data,
                durable=False,
                temporary=disk.own_temporary(path),
            )

    def _path(self, name: str) -> str:
        return f"{self._folder}/{names.shorten(names.encode(name))}"


def _head(data: bytes) -> bytes:
    return b"fleet-cache 1 %d %08x" % (len(data), crc32(data))
