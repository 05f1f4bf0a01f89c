"""A store and a cache in this process's memory: for tests and simulations, gone at its end.

It encodes what it is given, so that limits, checksums and equality are those of the files store,
and keeps beside each line what stands in it: nothing here rots, so nothing is decoded.
Threads may share one; processes cannot.
"""

import marshal
import time
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from threading import Condition

from fleet.errors import Conflict, Finding, Rejected, Stale, Trimmed
from fleet.records import (
    Batch,
    Body,
    Draft,
    Guard,
    Instant,
    Record,
    Sieve,
    claim_document,
    new_id,
    rfc3339,
)
from fleet.stores import codec, names
from fleet.stores.clock import system_clock
from fleet.stores.intake import Intake


class _Log:
    """One stream: its lines, their numbers, and what was ever given as a key or id."""

    def __init__(self) -> None:
        self.seqs: list[int] = []
        self.lines: list[bytes] = []
        self.records: list[tuple[Record, bytes]] = []  # each without its body, and that packed
        self.first = 1
        self.head = 0
        self.by_key: dict[str, bytes] = {}
        self.by_id: dict[str, bytes] = {}

    def find(self, draft: Draft) -> bytes | None:
        by_key = self.by_key.get(draft.key) if draft.key is not None else None
        return by_key or self.by_id.get(draft.id)

    def add(self, record: Record, line: bytes) -> None:
        self.seqs.append(record.seq)
        self.lines.append(line)
        stream, seq, name, at, body, key, crc, v = record
        bare = Record(stream, seq, name, at, {}, key, crc, v)
        self.records.append((bare, marshal.dumps(body)))
        self.head = record.seq
        self.by_id[record.id] = line
        if record.key is not None:
            self.by_key[record.key] = line

    def rollback(self, count: int) -> None:
        """Forget the lines from index `count` on: a batch is refused as a whole."""
        for line in self.lines[count:]:
            record = codec.decode_line("", line)
            del self.by_id[record.id]
            if record.key is not None:
                del self.by_key[record.key]
        del self.seqs[count:], self.lines[count:], self.records[count:]
        self.head = self.seqs[-1] if self.seqs else self.first - 1


class RamStore:
    """The whole `Store` port over dictionaries, one lock around all of it.

    `checked` False is for plays, which nobody reads and of which nothing is kept: what fleet itself
    writes there is neither masked nor measured.
    """

    def __init__(
        self,
        clock: Callable[[], Instant] = system_clock,
        *,
        secrets: tuple[str, ...] = (),
        checked: bool = True,
    ) -> None:
        self._checked = checked
        self._clock = clock
        self._intake = Intake(secrets)
        self._logs: dict[str, _Log] = {}
        self._lasting: dict[tuple[str, str], bytes] = {}
        self._documents: dict[str, tuple[int, bytes]] = {}  # version, and the body packed
        self._changed = Condition()

    def append(
        self, stream: str, records: Sequence[Draft], *, guard: Guard | None = None
    ) -> list[Record]:
        """See `Store.append`."""
        names.check_stream(stream)
        records = self._intake.drafts(stream, records) if self._checked else records
        bodies = [codec.encode_body(draft) for draft in records]
        with self._changed:
            self._check(guard)
            log = self._logs.setdefault(stream, _Log())
            before = len(log.lines)
            try:
                stored = [
                    self._add(stream, log, draft, body)
                    for draft, body in zip(records, bodies, strict=True)
                ]
            except Rejected:
                log.rollback(before)
                raise
            self._changed.notify_all()
            return stored

    def _add(self, stream: str, log: _Log, draft: Draft, body: bytes) -> Record:
        found = log.find(draft)
        if found is not None:
            first = codec.decode_line(stream, found)
            if not codec.same_record(first, draft):
                raise codec.refuse_reuse(first, draft)
            return first
        return self._write(stream, log, log.head + 1, draft, body)

    def _write(self, stream: str, log: _Log, seq: int, draft: Draft, body: bytes) -> Record:
        wall = self._clock().wall
        line, record = codec.encode_record(
            stream, seq, body, record_id=draft.id or new_id(wall), at=rfc3339(wall), key=draft.key
        )
        log.add(record, line[:-1])
        return record

    def append_gap(self, stream: str, above: int) -> Record | None:
        """Continue `stream` above number `above`; None when it has come that far already."""
        names.check_stream(stream)
        draft = Draft({"op": "gap", "above": above})
        with self._changed:
            log = self._logs.setdefault(stream, _Log())
            if log.head >= above:
                return None
            record = self._write(stream, log, above + 1, draft, codec.encode_body(draft))
            self._changed.notify_all()
            return record

    def read(self, stream: str, after: int, limit: int, *, sieve: Sieve | None = None) -> Batch:
        """See `Store.read`; nothing here can be damaged."""
        with self._changed:
            log = self._logs.get(stream)
            if log is None:
                return Batch((), after)
            if after + 1 < log.first:
                raise Trimmed(
                    f"{stream} begins at {log.first}, {after + 1} was trimmed",
                    f"read from {log.first}",
                    first=log.first,
                )
            if limit <= 0:
                return Batch((), after)
            start = bisect_right(log.seqs, after)
            if sieve is None:
                some = [_whole(*one) for one in log.records[start : start + limit]]
                return Batch(tuple(some), some[-1].seq if some else after)
            lines, records = log.lines[start:], log.records[start:]
        needles = codec.Needles(sieve)
        found: list[Record] = []
        upto = after
        for line, kept in zip(lines, records, strict=True):
            if needles.may_pass(line) and sieve.passes((record := _whole(*kept)).body):
                if len(found) >= limit:
                    break
                found.append(record)
            upto = kept[0].seq
        return Batch(tuple(found), upto)

    def head(self, stream: str) -> int:
        """See `Store.head`."""
        with self._changed:
            log = self._logs.get(stream)
            return log.head if log else 0

    def sync(self, stream: str) -> None:
        """Nothing here outlives the process, so nothing is left to do."""

    def wait(self, places: dict[str, int], timeout: float) -> set[str]:
        """See `Store.wait`; woken by the append itself."""
        until = time.monotonic() + timeout
        with self._changed:
            while True:
                ahead = {stream for stream, seq in places.items() if self._head(stream) > seq}
                left = until - time.monotonic()
                if ahead or left <= 0:
                    return ahead
                self._changed.wait(left)

    def stamps(self) -> dict[str, int]:
        """See `Pulse.stamps`."""
        found: Counter[str] = Counter()
        with self._changed:
            for stream, log in self._logs.items():
                found[stream.partition("/")[0]] += log.head
            for key, (version, _) in self._documents.items():
                found[key.partition("/")[0]] += version
        return dict(found)

    def _head(self, stream: str) -> int:
        return self._logs[stream].head if stream in self._logs else 0

    def streams(self, prefix: str, after: str, limit: int, *, having: str = "") -> list[str]:
        """See `Store.streams`."""
        with self._changed:
            there = (name for name, log in self._logs.items() if log.head and having in name)
            return _page(there, prefix, after)[:limit]

    def trim(self, stream: str, below: int) -> int:
        """See `Store.trim`; here a segment is one record, and the newest one stays."""
        with self._changed:
            log = self._logs.get(stream)
            if log is None or not log.seqs:
                return 1
            cut = min(bisect_left(log.seqs, below), len(log.seqs) - 1)
            if cut:
                log.first = log.seqs[cut]
            del log.seqs[:cut], log.lines[:cut], log.records[:cut]
            return log.first

    def make_last(self, stream: str, name: str, data: bytes) -> None:
        """See `Store.make_last`."""
        self._lasting[stream, name] = data

    def lasting(self, stream: str, name: str) -> bytes | None:
        """See `Store.lasting`."""
        return self._lasting.get((stream, name))

    def get(self, key: str) -> tuple[Body | None, int]:
        """See `Store.get`."""
        with self._changed:
            version, packed = self._documents.get(key, (0, b""))
        return (marshal.loads(packed) if version else None), version  # noqa: S302 - our own bytes

    def put(self, key: str, body: Body, *, expect: int | None, guard: Guard | None = None) -> int:
        """See `Store.put`."""
        names.check_document(key)
        body = self._intake.body(key, body) if self._checked else body
        with self._changed:
            self._check(guard)
            version, _ = self._documents.get(key, (0, b""))
            if expect not in {version, None}:
                raise Conflict(
                    f"{key} has version {version}, not {expect}", "read it and decide again"
                )
            if self._checked:
                at = rfc3339(self._clock().wall)
                page = codec.encode_document(key, version + 1, at, body)
                body = codec.decode_document(page)[2]
            self._documents[key] = version + 1, marshal.dumps(body)
            return version + 1

    def _check(self, guard: Guard | None) -> None:
        if guard is None:
            return
        claim, _ = self.get(claim_document(guard.key))
        if not guard.permits(claim, self._clock()):
            raise Stale(
                f"the claim on {guard.key} does not permit this write",
                "read the claim and decide again",
            )

    def keys(self, prefix: str, after: str, limit: int) -> list[str]:
        """See `Store.keys`."""
        with self._changed:
            return _page(self._documents, prefix, after)[:limit]

    def now(self) -> Instant:
        """The clock it was given."""
        return self._clock()

    def verify(self) -> list[Finding]:
        """Memory has no lines that could rot."""
        return []


def _whole(record: Record, packed: bytes) -> Record:
    """The record with a body of its own: whoever reads it may change it."""
    stream, seq, name, at, _, key, crc, v = record
    body = marshal.loads(packed)  # noqa: S302 - our own bytes
    return Record(stream, seq, name, at, body, key, crc, v)


def _page(names: Iterable[str], prefix: str, after: str) -> list[str]:
    return sorted(name for name in names if name.startswith(prefix) and name > after)


class RamCache:
    """The `Cache` port over a dictionary."""

    def __init__(self) -> None:
        self._saved: dict[str, bytes] = {}

    def load(self, name: str) -> bytes | None:
        """See `Cache.load`."""
        return self._saved.get(name)

    def save(self, name: str, data: bytes) -> None:
        """See `Cache.save`."""
        self._saved[name] = data
