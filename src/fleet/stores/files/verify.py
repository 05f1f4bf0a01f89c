"""Reading everything that is stored and naming what is damaged, by file and line; it mends nothing.

What stands in quarantine was dealt with already: it is reported as a note.
"""

import json
import os
import zlib
from collections.abc import Iterator

from fleet.errors import Finding, FleetError
from fleet.records import MAX_DOCUMENT
from fleet.stores import codec, names
from fleet.stores.files import (
    archive,
    disk,
    documents,
    lasting,
    marks,
    quarantine,
    reading,
    segments,
)
from fleet.stores.files.layout import LOG_LOCK, Layout, subfolders
from fleet.stores.files.locks import Lock

_MEND = "the lines around it are read; restore the line from a backup if it is needed"


def verify(layout: Layout, *, timeout: float) -> Iterator[Finding]:
    """Findings about every log, archived segment, document and piece in quarantine."""
    for folder in log_folders(layout.root, skip=names.NOT_STORED):
        yield from _log(layout, folder, timeout=timeout)
    for folder in _folders(layout.archive):
        yield from _archived(layout, folder)
    for folder in [layout.root, *(folder for _, folder in layout.kinds(""))]:
        for path, before in documents.files(folder):
            yield from _document(layout, path, before)
    yield from _shortened(layout, timeout)
    yield from _set_aside(layout)


def log_folders(root: str, *, skip: frozenset[str] = frozenset()) -> Iterator[str]:
    """Folders below `root` that hold segments: logs lie one or two levels deep."""
    return (path for path in _folders(root, skip) if segments.list_firsts(path))


def _folders(root: str, skip: frozenset[str] = frozenset()) -> Iterator[str]:
    """Folders below `root` that may belong to a log, one or two levels deep."""
    for outer in subfolders(root):
        if names.decode(outer) not in skip:
            yield f"{root}/{outer}"
            yield from (f"{root}/{outer}/{inner}" for inner in subfolders(f"{root}/{outer}"))


def _archived(layout: Layout, folder: str) -> Iterator[Finding]:
    """What was trimmed: segments, packed or not, and the values that outlast them."""
    check = _Numbers()
    for one in archive.archived(folder):
        path = archive.path_of(folder, one.first)
        path = path if one.packed else path.removesuffix(".gz")
        check.begin(layout.relative(path), one.first)
        try:
            if one.packed:
                yield from check.lines(archive.lines(folder, one.first))
            else:
                yield from _whole(check, folder, one.first)
        except (OSError, EOFError, zlib.error, FleetError) as fault:
            yield Finding("error", check.file, 0, f"cannot be read ({fault})")
    for name in sorted(os.listdir(folder)):
        if name.endswith(lasting.SUFFIX):
            try:
                lasting.read(f"{folder}/{name}")
            except (OSError, ValueError, FleetError) as fault:
                file = layout.relative(f"{folder}/{name}")
                fix = "restore it from a backup; without it the value begins anew"
                yield Finding("error", file, 0, f"cannot be read ({fault})", fix)


def _whole(check: "_Numbers", folder: str, first: int) -> Iterator[Finding]:
    fd = segments.open_segment(folder, first)
    try:
        yield from check.segment(fd)
        if check.end < os.fstat(fd).st_size:
            yield Finding("error", check.file, 0, "ends in the middle of a line", _MEND)
    finally:
        os.close(fd)


def _log(layout: Layout, folder: str, *, timeout: float) -> Iterator[Finding]:
    check = _Numbers()
    firsts = segments.list_firsts(folder)
    for first in firsts:
        path = f"{folder}/{segments.name_of(first)}"
        check.begin(layout.relative(path), first)
        try:
            fd = segments.open_segment(folder, first)
        except (OSError, FleetError) as fault:
            yield Finding("error", check.file, 0, f"cannot be read ({fault})")
            continue
        try:
            yield from check.segment(fd)
            if check.end < os.fstat(fd).st_size:
                yield from _stub(layout, folder, check, fd, last=first == firsts[-1], wait=timeout)
        finally:
            os.close(fd)


class _Numbers:
    """One log's lines in order: each decodes, and their numbers have no hole."""

    def __init__(self) -> None:
        self.file = ""
        self.end = 0  # offset after the last whole line of the segment
        self._number: int | None = None
        self._damaged = 0  # lines since the last good one

    def begin(self, file: str, first: int) -> None:
        self.file = file
        self.end = 0
        if self._number is None:
            self._number = first - 1

    def segment(self, fd: int) -> Iterator[Finding]:
        line = 0
        for offset, data in segments.chunks(fd, 0, os.fstat(fd).st_size):
            if data is None:
                line += 1
                self._damaged += 1
                yield Finding("error", self.file, line, "a line over the limit", _MEND)
                continue
            self.end = offset + len(data)
            for raw in data[:-1].split(b"\n"):
                line += 1
                yield from self._line(line, raw)

    def lines(self, raws: Iterator[bytes | None]) -> Iterator[Finding]:
        """The same for lines that are not read from a descriptor; None is one over the limit."""
        for line, raw in enumerate(raws, 1):
            if raw is None:
                self._damaged += 1
                yield Finding("error", self.file, line, "a line over the limit", _MEND)
            else:
                yield from self._line(line, raw)

    def _line(self, line: int, raw: bytes) -> Iterator[Finding]:
        try:
            record = codec.decode_line(self.file, raw)
        except ValueError as fault:
            self._damaged += 1
            yield Finding("error", self.file, line, str(fault), _MEND)
            return
        except FleetError as fault:
            yield Finding("error", self.file, line, fault.what, fault.fix)
            return
        last = self._number or 0
        jumped = record.seq > last + 1 + self._damaged and record.body.get("op") != "gap"
        if record.seq <= last or jumped:
            yield Finding(
                "error",
                self.file,
                line,
                f"number {record.seq} follows {last}",
                "lines were removed, added or moved; restore the log from a backup",
            )
        self._number = record.seq
        self._damaged = 0


def _stub(
    layout: Layout, folder: str, check: _Numbers, fd: int, *, last: bool, wait: float
) -> Iterator[Finding]:
    """Bytes after the last line feed; in the newest segment they may be an append under way."""
    if last:
        stream = os.path.relpath(folder, layout.root)
        decoded = "/".join(names.decode(part) or part for part in stream.split("/"))
        with Lock(layout.log(decoded).lock, f"the log {decoded}", timeout=wait, shared=True):
            size = os.fstat(fd).st_size
            if segments.tail(fd, size, 1).end == size:
                return
        yield Finding(
            "warning", check.file, 0, "ends in a cut-off append", "the next append sets it aside"
        )
        return
    yield Finding("error", check.file, 0, "ends in the middle of a line", _MEND)


def _shortened(layout: Layout, timeout: float) -> Iterator[Finding]:
    """Logs that end below the newest number that was given, also those whose folder is gone."""
    for name in sorted(os.listdir(layout.locks)) if disk.check_folder(layout.locks) else []:
        stream = names.decode(name.removeprefix(LOG_LOCK)) if name.startswith(LOG_LOCK) else None
        if stream is None:
            continue
        try:
            what = _lost(layout, stream, timeout)
        except FleetError as fault:
            yield Finding("error", layout.relative(f"{layout.locks}/{name}"), 0, str(fault))
            continue
        if what:
            file = layout.relative(layout.log(stream).folder)
            fix = "restore it from a backup; the next append goes on above that number"
            yield Finding("error", file, 0, what, fix)


def _lost(layout: Layout, stream: str, timeout: float) -> str:
    places = layout.log(stream)
    with Lock(places.lock, f"the log {stream}", timeout=timeout, shared=True) as lock:
        mark = marks.load(lock)
        if mark is None:
            return ""
        head = reading.head(layout, stream)
        return marks.fault(mark, head, reading.crc_at(layout, stream, mark.seq))


def _document(layout: Layout, path: str, before: str) -> Iterator[Finding]:
    file = layout.relative(path)
    fault = _fault(path)
    if fault:
        stands = "" if _fault(before) else ", the copy before it stands in"
        fix = "" if stands else "restore it from a backup, or remove it to start without it"
        yield Finding("error", file, 0, f"{fault}{stands}", fix)
    elif os.path.lexists(before) and _fault(before):
        yield Finding(
            "warning", layout.relative(before), 0, _fault(before), "the next change replaces it"
        )


def _fault(path: str) -> str:
    try:
        key, _, _ = codec.decode_document(disk.read_all(path, MAX_DOCUMENT))
    except FileNotFoundError:
        return "the file is missing"
    except (ValueError, FleetError) as fault:
        return str(fault)
    except OSError as fault:
        return f"cannot be read ({fault.strerror})"
    name = names.shorten(names.encode(key.partition("/")[2] or key))
    right = os.path.basename(path).removesuffix(documents.PREVIOUS).removesuffix(documents.SUFFIX)
    return "" if name == right else f"it is the document {key[:80]}"


def _set_aside(layout: Layout) -> Iterator[Finding]:
    try:
        pieces = sorted(os.listdir(layout.quarantine))
    except FileNotFoundError:
        return
    for piece in pieces:
        if not piece.endswith(quarantine.REASON):
            continue
        path = f"{layout.quarantine}/{piece}"
        try:
            note = json.loads(disk.read_all(path, MAX_DOCUMENT))
            bytes_of = f"{note['bytes']} bytes of {note['file']} were set aside"
            what = f"{bytes_of if note['bytes'] else note['file']}: {note['reason']}"
        except (ValueError, KeyError, OSError, FleetError):
            what = "a piece without a readable reason"
        yield Finding("note", layout.relative(path), 0, what)
