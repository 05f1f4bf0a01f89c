"""Writing a log: one write per append under the stream's lock, and a sync after it.

It reads nothing for others (see `reading`), and of claims it knows only that its caller locks one.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fleet.errors import Unavailable, Unsettled
from fleet.records import Draft, Instant, Record, new_id, rfc3339
from fleet.stores import codec
from fleet.stores.files import disk, marks, segments
from fleet.stores.files.layout import Layout, LogPlaces
from fleet.stores.files.locks import Lock

if TYPE_CHECKING:
    from fleet.stores.files.given import Search

_KEPT_OPEN = 32  # descriptors of segments that a long-lived process keeps
_WRITE = os.O_RDWR | os.O_APPEND
_SETTLED = 1.0  # seconds after which a folder's time of change tells every later change

_Look: TypeAlias = tuple[int, int, int]
"""Inode, device and time of change of a folder: a segment that is new or replaced alters it."""


class _Segment:
    """The newest segment of a log, open; its descriptor is closed with the last reference.

    A thread may still sync what another thread has already replaced in the cache.

    Attributes:
        fd: its descriptor, for appending.
        first: the number it begins with.
        path: its file.
        folder: what its folder looked like when it was the newest there, None when that is too
            young to tell a later change.
        tail: where our own last append left it.
    """

    __slots__ = ("fd", "first", "folder", "path", "tail")

    def __init__(self, fd: int, first: int, path: str, folder: _Look | None) -> None:
        self.fd = fd
        self.first = first
        self.path = path
        self.folder = folder
        self.tail = segments.Tail(0, -1)

    def __del__(self) -> None:
        os.close(self.fd)


class _End(NamedTuple):
    """Where the next record goes: behind `end` of `segment`, with the number after `seq`.

    `crc` is the checksum of the record that has `seq`, "" when there is none to be read.
    """

    segment: _Segment
    seq: int
    end: int
    crc: str = ""


class LogWriter:
    """Appends to the logs below one state folder.

    Args:
        layout: where they are.
        clock: stamps records.
        timeout: seconds to wait for a stream's lock at most.
        segment_bytes: a segment of this size is followed by a new one.
    """

    def __init__(
        self, layout: Layout, clock: Callable[[], Instant], timeout: float, segment_bytes: int
    ) -> None:
        self._layout = layout
        self._clock = clock
        self._timeout = timeout
        self._segment_bytes = segment_bytes
        self._kept: dict[str, _Segment] = {}

    def append(
        self, stream: str, drafts: Sequence[Draft], permitted: AbstractContextManager[None]
    ) -> list[Record]:
        """What `Store.append` promises; `permitted` holds the guard's lock while it writes."""
        bodies = [codec.encode_body(draft) for draft in drafts]
        places = self._layout.log(stream)
        self._layout.make()
        search = None
        if any(draft.key or draft.id for draft in drafts):
            from fleet.stores.files.given import Search

            search = Search(stream, places.folder, places.archive, drafts)
            search.run()
        with permitted, self._lock(places) as lock:
            if search:
                search.confirm()
            end = self._end(places, lock)
            records, lines = self._number(stream, end.seq, drafts, bodies, search)
            if lines:
                _write(stream, lock, end, lines)
        try:
            if search:
                _settle(places, search)
            if lines:
                disk.sync_file(end.segment.fd)
        except OSError as error:
            raise _unsettled(stream, drafts[0].key or records[0].id, error) from error
        return records

    def append_gap(self, stream: str, above: int) -> Record | None:
        """Continue `stream` above number `above`; None when it has come that far already."""
        places = self._layout.log(stream)
        self._layout.make()
        with self._lock(places) as lock:
            end = self._end(places, lock)
            if end.seq >= above:
                return None
            record = self._write_gap(stream, lock, end, above)
        try:
            disk.sync_file(end.segment.fd)
        except OSError as error:
            raise _unsettled(stream, record.id, error) from error
        return record

    def sync(self, stream: str) -> None:
        """Make the newest segment durable: those before it were synced when it was made."""
        folder = self._layout.log(stream).folder
        firsts = segments.list_firsts(folder)
        if not firsts:
            return
        fd = segments.open_segment(folder, firsts[-1])
        try:
            disk.sync_file(fd)
        except OSError as error:
            raise _unsettled(stream, "", error) from error
        finally:
            os.close(fd)

    def trim(self, stream: str, below: int) -> int:
        """What `Store.trim` promises; the newest segment always stays."""
        places = self._layout.log(stream)
        if not segments.list_firsts(places.folder):
            return 1
        with self._lock(places):
            firsts = segments.list_firsts(places.folder)
            for first, following in pairwise(firsts):
                if following > below:
                    return first
                self._archive(places, first)
            return firsts[-1]

    # Under the stream's lock -------------------------------------------------------------------

    def _lock(self, places: LogPlaces) -> Lock:
        return Lock(places.lock, f"the log {places.stream}", timeout=self._timeout)

    def _end(self, places: LogPlaces, lock: Lock) -> _End:
        """The end to write at, above every number that was ever given.

        A log that is not the one its mark was made in is gone on with behind a gap, also if the
        gap leaves no number out: it says where the other log begins.
        """
        end = self._last(places)
        mark = marks.load(lock)
        if mark is None or (mark.seq, mark.crc) == (end.seq, end.crc):
            return end
        fault = marks.fault(mark, end.seq, self._crc_at(places, mark.seq, end))
        if not fault:
            return end
        self._report(places, mark, fault)
        self._write_gap(places.stream, lock, end, max(mark.seq, end.seq))
        return self._last(places)

    def _last(self, places: LogPlaces) -> _End:
        """The end as it is: what a killed writer left is set aside, a full segment followed."""
        segment = self._newest(places)
        if segment is None:
            return self._begin(places, 1)
        size = os.fstat(segment.fd).st_size
        seq, end, crc = segment.tail
        if size != end:
            seq, end, crc = segments.tail(segment.fd, size, segment.first)
        if end < size:
            self._set_aside(segment, end)
        if end >= self._segment_bytes:
            disk.sync_file(segment.fd)
            return self._begin(places, seq + 1)._replace(crc=crc)
        if not end:
            _sync_chain(places)
        return _End(segment, seq, end, crc)

    def _newest(self, places: LogPlaces) -> _Segment | None:
        """The newest segment, kept open as long as nothing in its folder changes."""
        look = _look(places.folder)
        kept = self._kept.get(places.stream)
        if kept is not None and look is not None and kept.folder == look:
            return kept
        self._layout.make_log_folder(places)
        firsts = segments.list_firsts(places.folder)
        return self._open(places, firsts[-1], look) if firsts else None

    def _begin(self, places: LogPlaces, first: int) -> _End:
        path = f"{places.folder}/{segments.name_of(first)}"
        os.close(disk.open_file(path, _WRITE, create=True))
        _sync_chain(places)
        return _End(self._open(places, first, None), first - 1, 0)

    def _open(self, places: LogPlaces, first: int, look: _Look | None) -> _Segment:
        path = f"{places.folder}/{segments.name_of(first)}"
        segment = _Segment(disk.open_file(path, _WRITE), first, path, look)
        if len(self._kept) >= _KEPT_OPEN:
            self._kept.clear()
        self._kept[places.stream] = segment
        return segment

    def _crc_at(self, places: LogPlaces, seq: int, end: _End) -> str:
        if seq == end.seq:
            return end.crc
        from fleet.stores.files.reading import crc_at

        return crc_at(self._layout, places.stream, seq)

    def _report(self, places: LogPlaces, mark: marks.Mark, fault: str) -> None:
        from fleet.stores.files import quarantine

        wall = self._clock().wall
        quarantine.report(self._layout, places.folder, mark.seq, fault, wall=wall)

    def _write_gap(self, stream: str, lock: Lock, end: _End, above: int) -> Record:
        draft = Draft({"op": "gap", "above": above})
        line, record = self._encode(stream, above + 1, draft, codec.encode_body(draft))
        _write(stream, lock, end._replace(seq=above), [line])
        return record

    def _set_aside(self, segment: _Segment, start: int) -> None:
        from fleet.stores.files import quarantine

        quarantine.set_aside(
            self._layout,
            segment.path,
            start,
            None,
            "an append that was cut off: no line feed at its end",
            wall=self._clock().wall,
        )
        os.ftruncate(segment.fd, start)

    def _number(
        self,
        stream: str,
        seq: int,
        drafts: Sequence[Draft],
        bodies: list[bytes],
        search: "Search | None",
    ) -> tuple[list[Record], list[bytes]]:
        """The answer, in the order of `drafts`, and the lines of it that are new."""
        records: list[Record] = []
        lines: list[bytes] = []
        new: dict[tuple[str, str], Record] = {}
        for index, (draft, body) in enumerate(zip(drafts, bodies, strict=True)):
            given = _given(draft) if search else ()
            first = search.found.get(index) if search else None
            first = first or next((new[name] for name in given if name in new), None)
            if first is None:
                seq += 1
                line, first = self._encode(stream, seq, draft, body)
                lines.append(line)
                new.update(dict.fromkeys(given, first))
            elif not codec.same_record(first, draft):
                raise codec.refuse_reuse(first, draft)
            records.append(first)
        return records, lines

    def _encode(self, stream: str, seq: int, draft: Draft, body: bytes) -> tuple[bytes, Record]:
        wall = self._clock().wall
        return codec.encode_record(
            stream, seq, body, record_id=draft.id or new_id(wall), at=rfc3339(wall), key=draft.key
        )

    def _archive(self, places: LogPlaces, first: int) -> None:
        from fleet.stores.files.given import KEYS_FILE, keep_keys

        self._layout.make_archive_folder(places)
        fd = segments.open_segment(places.folder, first)
        try:
            size = os.fstat(fd).st_size
            keep_keys(fd, size, places.stream, f"{places.archive}/{KEYS_FILE}")
        finally:
            os.close(fd)
        name = segments.name_of(first)
        disk.sync_folder(places.archive)
        disk.rename(f"{places.folder}/{name}", f"{places.archive}/{name}")
        disk.sync_folder(places.archive)
        disk.sync_folder(places.folder)


def _given(draft: Draft) -> list[tuple[str, str]]:
    """What a repetition of `draft` would be known by."""
    return [name for name in (("key", draft.key or ""), ("id", draft.id)) if name[1]]


def _look(folder: str) -> _Look | None:
    """The folder as it is now, None when it is missing or changed a moment ago."""
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        return None
    # Clocks of file systems tick slowly: two changes within a tick look like one.
    if not time.time() - found.st_mtime - _SETTLED > 0:
        return None
    return found.st_ino, found.st_dev, found.st_mtime_ns


def _write(stream: str, lock: Lock, end: _End, lines: list[bytes]) -> None:
    """One write; what did not fit as a whole is taken back."""
    segment, seq, start, _ = end
    data = b"".join(lines)
    count = disk.write(segment.fd, data)
    if count != len(data):
        os.ftruncate(segment.fd, start)
        raise Unavailable(
            f"only {count} of {len(data)} bytes fitted into {stream}, nothing was kept",
            "free disk space or raise the file size limit (ulimit -f), then repeat",
        )
    mark = marks.Mark(seq + len(lines), codec.crc_in(lines[-1][:-1]))
    marks.save(lock, mark)
    segment.tail = segments.Tail(mark.seq, start + count, mark.crc)


def _sync_chain(places: LogPlaces) -> None:
    """Before the first record of a segment: whoever made it may have died before its sync."""
    for folder in reversed(places.chain):
        disk.sync_folder(folder)


def _settle(places: LogPlaces, search: "Search") -> None:
    """Make the records that stood there already durable.

    Their own sync may have failed, after which the system takes their bytes for written: so they
    are written once more, where they stand.
    """
    for place in search.places.values():
        try:
            fd = segments.open_segment(places.folder, place.first, os.O_WRONLY)
        except FileNotFoundError:
            continue  # trimmed, and synced when its segment was followed by another
        try:
            disk.write_at(fd, place.line, place.offset)
            disk.sync_file(fd)
        finally:
            os.close(fd)


def _unsettled(stream: str, name: str, error: OSError) -> Unsettled:
    return Unsettled(
        f"the sync of {stream} failed ({error.strerror}), the record may be written",
        f"repeat it with the id {name}" if name else "read it again",
        id=name,
    )
