"""Values of folds that outlast their records: beside the archived segments, whole or not at all."""

from zlib import crc32

from fleet.errors import NotAllowed
from fleet.stores import names
from fleet.stores.files import disk
from fleet.stores.files.layout import Layout

SUFFIX = ".value"
MAX_VALUE = 64 << 20  # bytes


def save(layout: Layout, stream: str, name: str, data: bytes) -> None:
    """What `Store.make_last` promises."""
    places = layout.log(stream)
    layout.make_archive_folder(places)
    disk.replace(_path(layout, stream, name), b"%08x\n" % crc32(data) + data)
    disk.sync_folder(places.archive)


def load(layout: Layout, stream: str, name: str) -> bytes | None:
    """What `Store.lasting` promises."""
    try:
        return read(_path(layout, stream, name))
    except (OSError, ValueError, NotAllowed):
        return None


def _path(layout: Layout, stream: str, name: str) -> str:
    folder = layout.log(stream).archive
    return f"{folder}/{names.shorten(names.encode(name))}{SUFFIX}"


def read(path: str) -> bytes:
    """The value in a file.

    Raises:
        ValueError: it is damaged.
        OSError: it cannot be read.
    """
    head, _, data = disk.read_all(path, MAX_VALUE).partition(b"\n")
    if head != b"%08x" % crc32(data):
        raise ValueError("the value's checksum is wrong")
    return data
