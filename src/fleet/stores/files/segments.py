"""Reading one segment file: its last line, a place in it, its whole lines. It knows no stream.

All of it works on bytes that may be damaged: a line that cannot be decoded is passed by, never
trusted, and one that is too long is never held in memory.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

from fleet.records import MAX_RECORD
from fleet.stores.codec import crc_in, seq_of
from fleet.stores.files import disk

SUFFIX = ".jsonl"
_DIGITS = 20
_TAIL = 8 << 10  # bytes that hold the last line nearly always
_NEAR = 4 << 10  # bytes that are read through rather than bisected
_PEEK = 2 << 10  # bytes that hold the next whole line mostly
_FIRST, _LARGEST = 16 << 10, 1 << 20  # bytes of the first and of later chunks


def name_of(first: int) -> str:
    """The file name of the segment whose first record has number `first`."""
    return f"{first:0{_DIGITS}d}{SUFFIX}"


def list_firsts(folder: str) -> list[int]:
    """First numbers of the segments in `folder`, ascending; none when it is not there.

    Raises:
        NotAllowed: a symlink stands in the folder's place.
    """
    if not disk.check_folder(folder):
        return []
    names = os.listdir(folder)
    size = _DIGITS + len(SUFFIX)
    return sorted(
        int(name[:_DIGITS])
        for name in names
        if len(name) == size and name.endswith(SUFFIX) and name[:_DIGITS].isdigit()
    )


def from_number(firsts: list[int], seq: int) -> list[int]:
    """The segments of `firsts` that may hold number `seq` or a higher one."""
    older = sum(first <= seq for first in firsts)
    return firsts[max(0, older - 1) :]


def open_segment(folder: str, first: int, flags: int = os.O_RDONLY) -> int:
    """A descriptor of the segment; the errors of `disk.open_file`."""
    return disk.open_file(f"{folder}/{name_of(first)}", flags)


class Tail(NamedTuple):
    """The end of a segment.

    Attributes:
        seq: the number of its last whole line: the last good one plus the damaged ones after it.
        end: the offset after the last LF; what stands behind it is a stub.
        crc: the last whole line's checksum, "" when it is damaged or there is none.
    """

    seq: int
    end: int
    crc: str = ""


def tail(fd: int, size: int, first: int) -> Tail:
    """The end of the first `size` bytes of a segment that begins with number `first`."""
    start = max(0, size - _TAIL)
    block = os.pread(fd, size - start, start)
    stop = block.rfind(b"\n")
    before = block.rfind(b"\n", 0, max(0, stop))
    if stop >= 0 and (before >= 0 or start == 0):
        line = block[before + 1 : stop]
        seq = seq_of(line)
        if seq is not None:
            return Tail(seq, start + stop + 1, crc_in(line))
    return _search_tail(fd, size, first)


def _search_tail(fd: int, size: int, first: int) -> Tail:
    end = damaged = 0
    for start, stop in _lines_backward(fd, size):
        end = end or stop + 1
        if stop - start < MAX_RECORD:
            line = os.pread(fd, stop - start, start)
            seq = seq_of(line)
            if seq is not None:
                return Tail(seq + damaged, end, "" if damaged else crc_in(line))
        damaged += 1
    return Tail(first - 1 + damaged, end)


def _lines_backward(fd: int, size: int) -> Iterator[tuple[int, int]]:
    """(start, offset of the LF) of each whole line, the last one first."""
    stop = -1
    for newline in _newlines_backward(fd, size):
        if stop >= 0:
            yield newline + 1, stop
        stop = newline
    if stop >= 0:
        yield 0, stop


def _newlines_backward(fd: int, size: int) -> Iterator[int]:
    while size > 0:
        start = max(0, size - _LARGEST)
        block = os.pread(fd, size - start, start)
        at = block.rfind(b"\n")
        while at >= 0:
            yield start + at
            at = block.rfind(b"\n", 0, at)
        size = start


def place_after(fd: int, size: int, seq: int, first: int) -> tuple[int, int]:
    """(offset, number before it): a line start from which every number above `seq` follows.

    Bisected by bytes over lines whose checksum is right; at most `_NEAR` bytes before the first
    number above `seq`, damaged lines aside.
    """
    low, low_seq, high = 0, first - 1, size
    step = _NEAR
    while high - low > _NEAR:
        # Most readers stand near the end: look there first, then in growing steps, then by halves.
        middle = max((low + high) // 2, high - step)
        step *= 8
        found = _first_good(fd, middle, high)
        if found is None or found[0] > seq:
            high = middle
        else:
            low_seq, low = found
    return low, low_seq


def _first_good(fd: int, start: int, stop: int) -> tuple[int, int] | None:
    """(number, offset after it) of the first good line that begins in (`start`, `stop`)."""
    begun = False  # the first line found is the rest of one that began before `start`
    for offset, data in chunks(fd, start, stop, block=_PEEK):
        after = offset
        for line in data.split(b"\n")[:-1] if data else ():
            after += len(line) + 1
            seq = seq_of(line) if begun else None
            if seq is not None:
                return seq, after
            begun = True
        begun = True
    return None


def chunks(
    fd: int, start: int, stop: int, *, block: int = _FIRST
) -> Iterator[tuple[int, bytes | None]]:
    """(offset, whole lines with their LF) from `start`, a line start, to the last LF before `stop`.

    A line that is too long comes as (its offset, None): it is passed by in pieces.
    """
    rest = b""
    position = start
    while position < stop:
        data = os.pread(fd, min(block, stop - position), position)
        if not data:
            return
        position += len(data)
        cut = data.rfind(b"\n") + 1
        if cut:
            yield start, rest + data[:cut]
            start, rest = position - len(data) + cut, data[cut:]
        else:
            rest += data
        if len(rest) >= MAX_RECORD:
            after = _after_newline(fd, position, stop)
            if after is None:
                return
            yield start, None
            start = position = after
            rest = b""
        block = min(2 * block, _LARGEST)


def _after_newline(fd: int, start: int, stop: int) -> int | None:
    while start < stop:
        data = os.pread(fd, min(_LARGEST, stop - start), start)
        if not data:
            return None
        at = data.find(b"\n")
        if at >= 0:
            return start + at + 1
        start += len(data)
    return None


def line_number(fd: int, offset: int) -> int:
    """The 1-based number of the line that begins at `offset`: only needed to report damage."""
    lines = position = 0
    while position < offset:
        data = os.pread(fd, min(_LARGEST, offset - position), position)
        if not data:
            break
        lines += data.count(b"\n")
        position += len(data)
    return lines + 1
