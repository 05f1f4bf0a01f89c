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
    _explain(layout, target, where, (start, stop - start), reason, wall)


def report(layout: Layout, path: str, seq: int, reason: str, *, wall: float) -> None:
    """Note that the log in folder `path` lost what was there up to number `seq`, for `reason`.

    There are no bytes to keep: the log goes on above that number.
    """
    disk.make_folder(layout.quarantine)
    where = layout.relative(path)
    target = f"{layout.quarantine}/{names.shorten(names.encode(where))}.lost.{seq}"
    _explain(layout, target, where, (0, 0), reason, wall)


def _explain(  # noqa: PLR0917 - what the note holds
    layout: Layout, target: str, where: str, span: tuple[int, int], reason: str, wall: float
) -> None:
    note = {
        "file": where,
        "offset": span[0],
        "bytes": span[1],
        "reason": reason,
        "at": rfc3339(wall),
    }
    disk.replace(f"{target}{REASON}", json.dumps(note, indent=2).encode() + b"\n")
    disk.sync_folder(layout.quarantine)
