"""What trimming left behind: sizes of segments, live and archived, and packing the archived ones.

A packed segment is gzip of the same bytes. Nothing here decides what may go.
"""

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import closing
from typing import IO, cast

from fleet.errors import Unavailable
from fleet.ports import Segment
from fleet.records import MAX_RECORD
from fleet.stores.files import disk, segments
from fleet.stores.files.layout import Layout

PACKED = f"{segments.SUFFIX}.gz"
_COPY = 1 << 20
_LEVEL = 6


def list_segments(layout: Layout, stream: str) -> list[Segment]:
    """What `Shelf.segments` promises."""
    places = layout.log(stream)
    live = [
        Segment(first, _size(f"{places.folder}/{segments.name_of(first)}"), archived=False)
        for first in segments.list_firsts(places.folder)
    ]
    return [*archived(places.archive), *live]


def archived(folder: str) -> list[Segment]:
    """The segments in a folder of the archive; where a packing was broken off, the whole one."""
    plain = segments.list_firsts(folder)
    packed = _packed(folder)
    found = [
        Segment(first, _size(f"{folder}/{segments.name_of(first)}"), archived=True)
        for first in plain
    ]
    found += [
        Segment(first, _size(path_of(folder, first)), archived=True, packed=True)
        for first in packed
        if first not in plain
    ]
    return sorted(found)


def _packed(folder: str) -> list[int]:
    if not disk.check_folder(folder):
        return []
    names = (name.removesuffix(PACKED) for name in os.listdir(folder) if name.endswith(PACKED))
    return [int(name) for name in names if name.isascii() and name.isdigit()]


def path_of(folder: str, first: int) -> str:
    """The file of a packed segment."""
    return f"{folder}/{segments.name_of(first)}.gz"


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0


def pack(layout: Layout, stream: str, first: int) -> int:
    """What `Shelf.pack` promises: durable and read back before the plain file goes."""
    folder = layout.log(stream).archive
    plain, packed = f"{folder}/{segments.name_of(first)}", path_of(folder, first)
    source = segments.open_segment(folder, first)
    with closing(cast("IO[bytes]", os.fdopen(source, "rb"))) as file:
        before = os.fstat(source).st_size
        temporary = f"{packed}.tmp"
        try:
            _compress(file, temporary)
            disk.rename(temporary, packed)
        except OSError:
            disk.discard(temporary)
            raise
    disk.sync_folder(folder)
    disk.discard(plain)
    disk.sync_folder(folder)
    return before - _size(packed)


def _compress(file: IO[bytes], target: str) -> None:
    crc = 0
    out = disk.open_file(target, os.O_RDWR | os.O_TRUNC, create=True)
    with os.fdopen(out, "r+b") as raw:
        with gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0) as zipped:
            while part := file.read(_COPY):
                crc = zlib.crc32(part, crc)
                zipped.write(part)
        raw.flush()
        disk.sync_file(out)
        raw.seek(0)
        if crc != _crc(raw):
            raise Unavailable(f"{target} cannot be read back", "check the disk; nothing was lost")


def _crc(raw: IO[bytes]) -> int:
    crc = 0
    with gzip.GzipFile("", "rb", fileobj=raw) as zipped:
        while part := zipped.read(_COPY):
            crc = zlib.crc32(part, crc)
    return crc


def lines(folder: str, first: int) -> Iterator[bytes | None]:
    """The lines of a packed segment without their LF; None for one over the limit.

    Raises:
        OSError, EOFError, zlib.error: it is damaged.
    """
    source = disk.open_file(path_of(folder, first), os.O_RDONLY)
    with os.fdopen(source, "rb") as raw, gzip.GzipFile("", "rb", fileobj=raw) as zipped:
        while line := zipped.readline(MAX_RECORD + 1):
            if len(line) <= MAX_RECORD:
                yield line.removesuffix(b"\n")
                continue
            while line and not line.endswith(b"\n"):
                line = zipped.readline(_COPY)
            yield None
