"""Finding ids that callers gave: in the log by bytes, and after trimming by the hashes that stay.

A repeated id is the first record again, or is refused when it stands for another one.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fleet.records import Body, Draft, Record
from fleet.stores import codec
from fleet.stores.files import disk, segments

KEYS_FILE = "keys.jsonl"


def _digest(data: bytes) -> str:
    from _blake2 import blake2b  # hashlib costs the hot path ten times as much

    return blake2b(data, digest_size=16).hexdigest()


class Place(NamedTuple):
    """Where a found line stands: its segment, its offset there, and its bytes with the LF."""

    first: int
    offset: int
    line: bytes


class Search:
    """A search for the keys and ids of `drafts` that reads each byte of the log once.

    `run` may be called again, under the lock, and reads only what was written since.

    Attributes:
        found: the first record of each draft that was found, by its index.
        places: where those stand that were not trimmed.
    """

    def __init__(self, stream: str, folder: str, archive: str, drafts: Sequence[Draft]) -> None:
        self._stream = stream
        self._folder = folder
        self._drafts = drafts
        self._searched: dict[int, int] = {}  # segment -> offset it was searched to
        self._needles = [
            (b"%b:%b" % (codec.to_json(name), codec.to_json(value)), index)
            for index, draft in enumerate(drafts)
            for name, value in (("key", draft.key), ("id", draft.id))
            if value
        ]
        self.found: dict[int, Record] = {}
        self.places: dict[int, Place] = {}
        if any(draft.key for draft in drafts):
            self._recall(f"{archive}/{KEYS_FILE}")

    def run(self) -> None:
        """Search what was not searched yet."""
        for first in segments.list_firsts(self._folder):
            try:
                fd = segments.open_segment(self._folder, first)
            except FileNotFoundError:
                continue  # trimmed meanwhile: its keys were found, or stay as hashes
            try:
                self._search(fd, first)
            finally:
                os.close(fd)

    def confirm(self) -> None:
        """Under the lock: search the rest, and drop what a failed write took back meanwhile."""
        if not all(self._stands(place) for place in self.places.values()):
            for index in self.places:
                del self.found[index]
            self.places.clear()
            self._searched.clear()
        self.run()

    def _stands(self, place: Place) -> bool:
        try:
            fd = segments.open_segment(self._folder, place.first)
        except FileNotFoundError:
            return True  # trimmed: only whole, settled segments are
        try:
            return os.pread(fd, len(place.line), place.offset) == place.line
        finally:
            os.close(fd)

    def _search(self, fd: int, first: int) -> None:
        start, size = self._searched.get(first, 0), os.fstat(fd).st_size
        for offset, data in segments.chunks(fd, start, size):
            if data is None:
                continue
            self._searched[first] = offset + len(data)
            for needle, index in self._needles:
                if index not in self.found and needle in data:
                    self._look(data, needle, index, first, offset)

    def _look(self, data: bytes, needle: bytes, index: int, first: int, offset: int) -> None:
        """Decode the lines of `data` that hold `needle`: a payload may hold the same bytes."""
        draft = self._drafts[index]
        for start, line in _lines_with(data, needle):
            try:
                record = codec.decode_line(self._stream, line)
            except ValueError:
                continue
            if record.id == draft.id or (draft.key and record.key == draft.key):
                self.found[index] = record
                self.places[index] = Place(first, offset + start, line + b"\n")
                return

    def _recall(self, path: str) -> None:
        """Look for keys of trimmed records among the hashes that stayed."""
        try:
            fd = disk.open_file(path, os.O_RDONLY)
        except FileNotFoundError:
            return
        hashes = {
            b'"hash":"%b"' % _digest(draft.key.encode()).encode(): index
            for index, draft in enumerate(self._drafts)
            if draft.key
        }
        try:
            for _, data in segments.chunks(fd, 0, os.fstat(fd).st_size):
                for needle, index in hashes.items():
                    for _, line in _lines_with(data or b"", needle):
                        self._remember(index, line)
        finally:
            os.close(fd)

    def _remember(self, index: int, line: bytes) -> None:
        draft = self._drafts[index]
        try:
            kept = json.loads(line)
        except ValueError:
            return  # the beginning of a line whose writer was killed; it was written again
        record = Record(
            self._stream, kept["seq"], kept["id"], kept["at"], draft.body, draft.key, kept["crc"]
        )
        hashes, again = kept["body"], _hashes(draft.body)
        wanted: Iterable[str] = again.keys() | hashes.keys() if draft.same is None else draft.same
        if any(again.get(name) != hashes.get(name) for name in wanted):
            raise codec.refuse_reuse(record, draft)
        self.found[index] = record


def _lines_with(data: bytes, needle: bytes) -> Iterator[tuple[int, bytes]]:
    """(offset, line) of the lines in `data` that hold `needle`."""
    at = data.find(needle)
    while at >= 0:
        start, stop = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        yield start, data[start:stop]
        at = data.find(needle, stop)


def _hashes(body: Body) -> dict[str, str]:
    return {name: _digest(codec.to_json(value)) for name, value in body.items()}


def keep_keys(fd: int, size: int, stream: str, target: str) -> None:
    """Append the hashes of a segment's keys, and of what they stood for, to `target`, durable."""
    lines = []
    for _, data in segments.chunks(fd, 0, size):
        for line in data.split(b"\n") if data and b'"key":' in data else ():
            try:
                record = codec.decode_line(stream, line)
            except ValueError:
                continue
            if record.key is not None:
                lines.append(codec.to_json(_kept(record)) + b"\n")
    if not lines:
        return
    disk.append_whole(target, lines)


def _kept(record: Record) -> Body:
    key = record.key or ""
    return {
        "hash": _digest(key.encode()),
        "seq": record.seq,
        "id": record.id,
        "at": record.at,
        "crc": record.crc,
        "body": _hashes(record.body),
    }
