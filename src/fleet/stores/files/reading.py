"""Reading a log after a number: no locks, no writes, and a cost that history does not raise."""

import os
from collections.abc import Iterator

from fleet.errors import Trimmed
from fleet.records import MAX_RECORD, Batch, Damage, Record, Sieve
from fleet.stores import codec
from fleet.stores.files import segments
from fleet.stores.files.layout import Layout

_TOO_LONG = bytes(MAX_RECORD)  # stands for a line that was never held in memory


def read(layout: Layout, stream: str, after: int, limit: int, sieve: Sieve | None) -> Batch:
    """What `Store.read` promises, from the segments of `stream`."""
    folder = layout.log(stream).folder
    while True:
        firsts = segments.list_firsts(folder)
        if firsts and after + 1 < firsts[0]:
            raise Trimmed(
                f"{stream} begins at {firsts[0]}, number {after + 1} was trimmed",
                f"read from {firsts[0]}",
                first=firsts[0],
            )
        if limit <= 0:
            return Batch((), after)
        scan = _Scan(layout, stream, after, limit, sieve)
        try:
            for first in segments.from_number(firsts, after + 1):
                if scan.segment(folder, first):
                    break
        except FileNotFoundError:
            continue  # trimmed between the listing and the opening: look again
        return scan.batch()


class _Scan:
    """One pass over lines in order: what passes, what is damaged, and how far it came."""

    def __init__(
        self, layout: Layout, stream: str, after: int, limit: int, sieve: Sieve | None
    ) -> None:
        self._layout = layout
        self._stream = stream
        self._after = after
        self._limit = limit
        self._sieve = sieve
        self._needles = codec.Needles(sieve) if sieve else None
        self._found: list[Record] = []
        self._damage: list[Damage] = []
        self._number = 0  # of the line before the next one
        self._passed = 0  # lines since then that the byte test refused
        self._last = b""  # the newest of those

    def batch(self) -> Batch:
        self._settle()
        return Batch(tuple(self._found), max(self._after, self._number), tuple(self._damage))

    def segment(self, folder: str, first: int) -> bool:
        """Read one segment; True when the first record that was left out is reached."""
        fd = segments.open_segment(folder, first)
        try:
            size = os.fstat(fd).st_size
            offset, before = segments.place_after(fd, size, self._after, first)
            self._settle()
            self._number = max(self._number, before)
            path = f"{folder}/{segments.name_of(first)}"
            return any(self._line(fd, path, at, line) for at, line in self._lines(fd, offset, size))
        finally:
            os.close(fd)

    def _lines(self, fd: int, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
        """(offset, line) of what the byte test lets through; `_TOO_LONG` for one over the limit."""
        for offset, data in segments.chunks(fd, start, stop):
            if data is None:
                yield offset, _TOO_LONG
            elif self._needles is None:
                yield from _split(offset, data)
            else:
                yield from self._sifted(offset, data, self._needles)

    def _sifted(
        self, offset: int, data: bytes, needles: codec.Needles
    ) -> Iterator[tuple[int, bytes]]:
        after = 0
        for start, stop in needles.spans(data):
            self._pass(data, after, start)
            yield offset + start, data[start:stop]
            after = stop + 1
        self._pass(data, after, len(data))

    def _pass(self, data: bytes, start: int, stop: int) -> None:
        """Pass by the lines from `start` to `stop`."""
        if start < stop:
            self._last = data[max(start, data.rfind(b"\n", 0, stop - 1) + 1) : stop - 1]
            self._passed += data.count(b"\n", start, stop)

    def _settle(self) -> None:
        """Count the lines that were passed by without parsing: the last one says its number."""
        if self._passed:
            seq = codec.seq_of(self._last)
            self._number = self._number + self._passed if seq is None else seq
            self._passed = 0

    def _line(self, fd: int, path: str, offset: int, line: bytes) -> bool:
        if self._number < self._after and self._is_before(line):
            return False
        try:
            record = codec.decode_line(self._stream, line)
        except ValueError as fault:
            self._settle()
            self._number += 1
            if self._number > self._after:
                self._report(fd, path, offset, str(fault))
            return False
        if record.seq > self._after and (self._sieve is None or self._sieve.passes(record.body)):
            if len(self._found) >= self._limit:
                return True
            self._found.append(record)
        self._passed = 0
        self._number = record.seq
        return False

    def _is_before(self, line: bytes) -> bool:
        """Whether `line` stands before what was asked for: then it need not be parsed."""
        seq = codec.seq_of(line)
        if seq is None or seq > self._after:
            return False
        self._passed = 0
        self._number = seq
        return True

    def _report(self, fd: int, path: str, offset: int, what: str) -> None:
        line = segments.line_number(fd, offset)
        self._damage.append(Damage(self._stream, self._layout.relative(path), line, what))


def _split(offset: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    for line in data[:-1].split(b"\n"):
        yield offset, line
        offset += len(line) + 1


def crc_at(layout: Layout, stream: str, seq: int) -> str:
    """The checksum of the record that has number `seq`, "" when it was trimmed or damaged."""
    try:
        found = read(layout, stream, seq - 1, 1, None).records
    except Trimmed:
        return ""
    return found[0].crc if found and found[0].seq == seq else ""


def head(layout: Layout, stream: str) -> int:
    """The number of the newest whole line, 0 when there is none."""
    folder = layout.log(stream).folder
    firsts = segments.list_firsts(folder)
    if not firsts:
        return 0
    fd = segments.open_segment(folder, firsts[-1])
    try:
        return segments.tail(fd, os.fstat(fd).st_size, firsts[-1]).seq
    finally:
        os.close(fd)


def size(layout: Layout, stream: str) -> tuple[int, int]:
    """(newest segment, its bytes): what changes when the log grows."""
    folder = layout.log(stream).folder
    firsts = segments.list_firsts(folder)
    if not firsts:
        return 0, 0
    return firsts[-1], os.lstat(f"{folder}/{segments.name_of(firsts[-1])}").st_size
