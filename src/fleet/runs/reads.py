"""What a run read by itself after its prompt: the file `reads.jsonl` in its folder.

Noting never fails what was read: a full disk or a folder that is gone costs the note only. The run
itself may write there, so what is read back is bounded and taken for no more than its word.
"""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from fleet.masking import mask

NAME = "reads.jsonl"
MOST = 1 << 20  # bytes of the file; what is read after them is not noted
LINE = 200  # references in one line
COMMAND = 300  # characters of a command
KEPT = 16 << 10  # bytes of references that a run's record keeps
_REF = 160  # characters of one reference, more than any has
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Read(NamedTuple):
    """One reading command of a run.

    Attributes:
        at: RFC 3339.
        command: its words.
        refs: references of what it printed, as many as a line holds.
    """

    at: str
    command: str
    refs: tuple[str, ...]


def note(folder: Path, read: Read) -> None:
    """Add one line to the notes in the run folder `folder`, where there is one and room."""
    refs = list(dict.fromkeys(read.refs))
    said: dict[str, object] = {"at": read.at, "command": mask(read.command)[:COMMAND]}
    said["refs"] = refs[:LINE]
    if len(refs) > LINE:
        said["left_out"] = len(refs) - LINE
    line = json.dumps(said).encode() + b"\n"
    with suppress(OSError):
        handle = os.open(folder / NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _FLAGS, 0o600)
        try:
            found = os.fstat(handle)
            if stat.S_ISREG(found.st_mode) and found.st_size + len(line) <= MOST:
                os.write(handle, line)
        finally:
            os.close(handle)


def reads(folder: Path) -> Iterator[Read]:
    """What is noted in `folder`, in its order; a torn or strange line is passed over."""
    for line in _content(folder).splitlines():
        try:
            said = json.loads(line)
            refs = [ref for ref in said["refs"][:LINE] if _is_ref(ref)]
            yield Read(str(said["at"]), str(said["command"]), tuple(refs))
        except (ValueError, TypeError, KeyError, RecursionError):
            continue


def kept(folder: Path) -> tuple[list[str], int]:
    """The references that a run's record keeps of what it read, and how many it leaves out."""
    refs = list(dict.fromkeys(ref for read in reads(folder) for ref in read.refs))
    room, fitting = KEPT, 0
    for ref in refs:
        room -= len(ref) + 3
        if room < 0:
            break
        fitting += 1
    return refs[:fitting], len(refs) - fitting


def _content(folder: Path) -> bytes:
    with suppress(OSError):
        handle = os.open(folder / NAME, os.O_RDONLY | _FLAGS)
        try:
            return os.read(handle, MOST) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
        finally:
            os.close(handle)
    return b""


def _is_ref(ref: object) -> bool:
    return isinstance(ref, str) and len(ref) <= _REF and ref.isascii() and ref.isprintable()
