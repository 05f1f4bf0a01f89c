"""How far each log ever came: the newest number and checksum, kept in the log's lock file.

A log that ends below its mark, or holds another record there, was shortened or replaced. The mark
is never synced: after a power cut it may be older than the log, or name a record that was lost
before anybody was told of it. Both are harmless: going on above it gives no number twice.
"""

from contextlib import suppress
from typing import NamedTuple

from fleet.stores.files.locks import Lock

_SEQ, _CRC = 20, 8  # digits
_SIZE = _SEQ + 1 + _CRC + 1  # bytes, with a space and a line feed


class Mark(NamedTuple):
    """The newest record that a writer has put into a log.

    Attributes:
        seq: its number.
        crc: its checksum, eight hexadecimal digits.
    """

    seq: int
    crc: str


def load(lock: Lock) -> Mark | None:
    """The mark of the log whose lock is held, also shared; None when there is none yet."""
    seq, _, crc = lock.noted(_SIZE).decode("ascii", "replace").rstrip("\n").partition(" ")
    whole = seq.isdecimal() and (len(seq), len(crc)) == (_SEQ, _CRC)
    return Mark(int(seq), crc) if whole else None


def save(lock: Lock, mark: Mark) -> None:
    """Keep `mark` for the next writer; without room on the disk the older one stays."""
    with suppress(OSError):
        lock.note(b"%020d %b\n" % (mark.seq, mark.crc.encode()))


def fault(mark: Mark, seq: int, crc: str) -> str:
    """Why a log is not the one that `mark` was made in, "" when it may be.

    Args:
        mark: how far the log had come.
        seq: the number that the log ends with now.
        crc: the checksum that it holds at the mark's number, "" when it cannot be told.
    """
    if seq < mark.seq:
        return f"the log ends with number {seq}, and number {mark.seq} was given: it was shortened"
    if crc and crc != mark.crc:
        return f"the log holds another record with number {mark.seq}: it was replaced"
    return ""
