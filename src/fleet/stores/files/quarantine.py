"""Setting aside bytes that could not be read, with the reason beside them; nothing is thrown away.

A piece is named after where it stood and what it holds, so that doing it twice is doing it once.
"""

import json
import os
from zlib import crc32

from fleet.records import rfc3339
from fleet.stores import names
from fleet.stores.files import disk
from fleet.stores.files.layout import Layout

BYTES, REASON = ".bin", ".reason.json"
_SAMPLE = 64 << 10


def set_aside(
    layout: Layout, path: str, start: int, stop: int | None, reason: str, *, wall: float
) -> None:
    """Copy bytes `start` to `stop` (None: the end) of `path` into quarantine, with `reason`."""
    disk.make_folder(layout.quarantine)
    where = layout.relative(path)
    source = disk.open_file(path, os.O_RDONLY)
    try:
        stop = os.fstat(source).st_size if stop is None else stop
        mark = crc32(os.pread(source, min(_SAMPLE, stop - start), start))
        piece = f"{names.shorten(names.encode(where))}.{start}.{mark:08x}"
        target = f"{layout.quarantine}/{piece}"
        disk.copy_range(source, start, stop, f"{target}{BYTES}")
    finally:
        os.close(source)
    note = {
        "file": where,
        "offset": start,
        "bytes": stop - start,
        "reason": reason,
        "at": rfc3339(wall),
    }
    disk.replace(f"{target}{REASON}", json.dumps(note, indent=2).encode() + b"\n")
    disk.sync_folder(layout.quarantine)
