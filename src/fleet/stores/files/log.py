"""Writing a log: one write per append under the stream's lock, and a sync after it.

It reads nothing for others (see `reading`), and of claims it knows only that its caller locks one.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import pairwise

from fleet.errors import Unavailable, Unsettled
from fleet.records import Draft, Instant, Record, new_id, rfc3339
from fleet.stores import codec
from fleet.stores.files import disk, quarantine, segments
from fleet.stores.files.given import KEYS_FILE, Search, keep_keys
from fleet.stores.files.layout import Layout
from fleet.stores.files.locks import Lock

_KEPT_OPEN = 32  # descriptors of segments that a long-lived process keeps


class _Segment:
    """An open segment; its descriptor is closed with the last reference.

    A thread may still sync what another thread has already replaced in the cache.
    """

    __slots__ = ("fd", "first", "path")

    def __init__(self, fd: int, first: int, path: str) -> None:
        self.fd = fd
        self.first = first
        self.path = path

    def __del__(self) -> None:
        os.close(self.fd)

    def stands_at(self, path: str) -> bool:
        """Whether this is still the file at `path`: a restored log is another one."""
        try:
            there, here = os.lstat(path), os.fstat(self.fd)
        except FileNotFoundError:
            return False
        return (there.st_ino, there.st_dev, there.st_nlink) == (here.st_ino, here.st_dev, 1)


@dataclass(slots=True)
class _End:
    """Where the next record goes: behind `end` of `segment`, with the number after `seq`."""

    segment: _Segment
    seq: int
    end: int


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
        self._layout.make_log_folder(stream)
        search = Search(
            stream, self._layout.log_folder(stream), self._layout.archive_folder(stream), drafts
        )
        search.run()
        with permitted, self._lock(stream):
            if search:
                search.confirm()
            end = self._end(stream)
            records, lines = self._number(stream, end.seq, drafts, bodies, search)
            self._write(stream, end, lines)
        name = next((d.key or r.id for d, r in zip(drafts, records, strict=True)), "")
        with _settled_by(name, stream):
            self._settle(stream, search)
            if lines:
                disk.sync_file(end.segment.fd)
        return records

    def append_gap(self, stream: str, above: int) -> Record | None:
        """Continue `stream` above number `above`; None when it has come that far already."""
        draft = Draft({"op": "gap", "above": above})
        self._layout.make_log_folder(stream)
        with self._lock(stream):
            end = self._end(stream)
            if end.seq >= above:
                return None
            line = self._line(above + 1, draft, codec.encode_body(draft))
            self._write(stream, end, [line])
        record = codec.decode_line(stream, line[:-1])
        with _settled_by(record.id, stream):
            disk.sync_file(end.segment.fd)
        return record

    def sync(self, stream: str) -> None:
        """Make the newest segment durable: those before it were synced when it was made."""
        folder = self._layout.log_folder(stream)
        firsts = segments.list_firsts(folder)
        if not firsts:
            return
        with _settled_by("", stream):
            disk.sync_file(self._open(stream, folder, firsts[-1], os.O_RDONLY).fd)

    def trim(self, stream: str, below: int) -> int:
        """What `Store.trim` promises; the newest segment always stays."""
        folder = self._layout.log_folder(stream)
        if not segments.list_firsts(folder):
            return 1
        with self._lock(stream):
            firsts = segments.list_firsts(folder)
            for first, following in pairwise(firsts):
                if following > below:
                    return first
                self._archive(stream, folder, first)
            return firsts[-1]

    # Under the stream's lock -------------------------------------------------------------------

    def _lock(self, stream: str) -> Lock:
        return Lock(self._layout.log_lock(stream), f"the log {stream}", timeout=self._timeout)

    def _end(self, stream: str) -> _End:
        """The end to write at: what a killed writer left is set aside, a full segment followed."""
        folder = self._layout.log_folder(stream)
        firsts = segments.list_firsts(folder)
        if not firsts:
            return self._begin(stream, folder, 1)
        segment = self._open(stream, folder, firsts[-1], os.O_RDWR | os.O_APPEND)
        size = os.fstat(segment.fd).st_size
        tail = segments.tail(segment.fd, size, segment.first)
        if tail.end < size:
            self._set_aside(segment, tail.end, size)
        if tail.end >= self._segment_bytes:
            disk.sync_file(segment.fd)
            return self._begin(stream, folder, tail.seq + 1)
        if not tail.end:
            self._sync_folders(stream)
        return _End(segment, tail.seq, tail.end)

    def _begin(self, stream: str, folder: str, first: int) -> _End:
        path = f"{folder}/{segments.name_of(first)}"
        os.close(disk.open_file(path, os.O_RDWR | os.O_APPEND, create=True))
        self._sync_folders(stream)
        return _End(self._open(stream, folder, first, os.O_RDWR | os.O_APPEND), first - 1, 0)

    def _sync_folders(self, stream: str) -> None:
        """Before the first record of a segment: whoever made it may have died before its sync."""
        for folder in self._layout.log_chain(stream):
            disk.sync_folder(folder)

    def _open(self, stream: str, folder: str, first: int, flags: int) -> _Segment:
        path = f"{folder}/{segments.name_of(first)}"
        kept = self._kept.get(stream)
        if kept is not None and kept.path == path and kept.stands_at(path):
            return kept
        segment = _Segment(disk.open_file(path, flags), first, path)
        if flags & os.O_APPEND:
            if len(self._kept) >= _KEPT_OPEN:
                self._kept.clear()
            self._kept[stream] = segment
        return segment

    def _set_aside(self, segment: _Segment, start: int, stop: int) -> None:
        quarantine.set_aside(
            self._layout,
            segment.path,
            start,
            stop,
            "an append that was cut off: no line feed at its end",
            wall=self._clock().wall,
        )
        os.ftruncate(segment.fd, start)

    def _number(
        self, stream: str, seq: int, drafts: Sequence[Draft], bodies: list[bytes], search: Search
    ) -> tuple[list[Record], list[bytes]]:
        """The answer, in the order of `drafts`, and the lines of it that are new."""
        records: list[Record] = []
        lines: list[bytes] = []
        new: dict[str, Record] = {}
        for index, (draft, body) in enumerate(zip(drafts, bodies, strict=True)):
            first = search.found.get(index) or new.get(f"k{draft.key}") or new.get(f"i{draft.id}")
            if first is None:
                seq += 1
                line = self._line(seq, draft, body)
                first = codec.decode_line(stream, line[:-1])
                lines.append(line)
                if draft.key is not None:
                    new[f"k{draft.key}"] = first
                new[f"i{first.id}"] = first
            elif not codec.same_record(first, draft):
                raise codec.refuse_reuse(first, draft)
            records.append(first)
        return records, lines

    def _line(self, seq: int, draft: Draft, body: bytes) -> bytes:
        wall = self._clock().wall
        return codec.encode_line(seq, draft.id or new_id(wall), rfc3339(wall), draft.key, body)

    def _write(self, stream: str, end: _End, lines: list[bytes]) -> None:
        """One write; what did not fit as a whole is taken back."""
        data = b"".join(lines)
        if not data:
            return
        count = disk.write(end.segment.fd, data)
        if count != len(data):
            os.ftruncate(end.segment.fd, end.end)
            raise Unavailable(
                f"only {count} of {len(data)} bytes fitted into {stream}, nothing was kept",
                "free disk space or raise the file size limit (ulimit -f), then repeat",
            )

    def _archive(self, stream: str, folder: str, first: int) -> None:
        self._layout.make_archive_folder(stream)
        target = self._layout.archive_folder(stream)
        fd = segments.open_segment(folder, first)
        try:
            keep_keys(fd, os.fstat(fd).st_size, stream, f"{target}/{KEYS_FILE}")
        finally:
            os.close(fd)
        name = segments.name_of(first)
        disk.sync_folder(target)
        disk.rename(f"{folder}/{name}", f"{target}/{name}")
        disk.sync_folder(target)
        disk.sync_folder(folder)

    # After it ----------------------------------------------------------------------------------

    def _settle(self, stream: str, search: Search) -> None:
        """Make the records that stood there already durable.

        Their own sync may have failed, after which the system takes their bytes for written: so
        they are written once more, where they stand.
        """
        folder = self._layout.log_folder(stream)
        for place in search.places.values():
            try:
                fd = segments.open_segment(folder, place.first, os.O_WRONLY)
            except FileNotFoundError:
                continue  # trimmed, and synced when its segment was followed by another
            try:
                disk.write_at(fd, place.line, place.offset)
                disk.sync_file(fd)
            finally:
                os.close(fd)


@contextmanager
def _settled_by(name: str, stream: str) -> Iterator[None]:
    """Turn a failed sync inside into `Unsettled`, which `name` settles."""
    try:
        yield
    except OSError as error:
        raise Unsettled(
            f"the sync of {stream} failed ({error.strerror}), the record may be written",
            f"repeat it with the id {name}" if name else "read it again",
            id=name,
        ) from error
