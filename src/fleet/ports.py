"""The ports: a store of logs and documents, a cache of derived files, and what trimming needs.

A *log* is an append-only stream of records with gapless, commit-ordered numbers. A *document* is
one JSON object with a version. Nothing here knows an engine; `fleet.stores` has one module or
package for each, and `tests/contract` runs one suite over all of them.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from fleet.errors import Finding, Trimmed
from fleet.records import Batch, Body, Draft, Guard, Instant, Record, Sieve


class Store(Protocol):
    """Logs and documents on one engine. Every method is synchronous and bounded in time.

    Any method may raise `LockTimeout` (a lock's deadline passed, nothing was written),
    `Unavailable` (nothing was written) or `NotAllowed` (a symlink or device in the store's place).
    """

    def append(
        self, stream: str, records: Sequence[Draft], *, guard: Guard | None = None
    ) -> list[Record]:
        """Add `records` in order and return them as stored, durable when it returns.

        A draft whose `key` (or `id`) is in the stream already is not written again: the first
        record stands in its place in the answer, synced. A batch may survive a crash as a prefix,
        its ids complete it.

        Raises:
            Rejected: a record over `MAX_RECORD`, a reserved name, an unencodable value, or a key
                that stands for another body.
            Stale: `guard` does not permit it; nothing was written.
            Unsettled: a sync failed, the record may be there; the same id settles it.
        """
        ...

    def read(self, stream: str, after: int, limit: int, *, sieve: Sieve | None = None) -> Batch:
        """Records with a number above `after`, oldest first, at most `limit` of them.

        Costs what it returns, wherever in the stream it stands. Stops at the last whole line; may
        see records that are not durable yet (see `sync`). An unknown stream is an empty one. With
        a `sieve` only what passes counts toward `limit`, and `upto` is the last number scanned
        before the first passing record that was left out.

        Raises:
            Trimmed: records above `after` were trimmed; `first` is the lowest number kept.
        """
        ...

    def head(self, stream: str) -> int:
        """The number of the newest whole record, 0 for an empty stream."""
        ...

    def sync(self, stream: str) -> None:
        """Make everything that `read` has shown durable: call it before acting on what was read.

        Raises:
            Unsettled: the sync failed.
        """
        ...

    def wait(self, places: dict[str, int], timeout: float) -> set[str]:
        """The streams whose head is above the number given, as soon as there is one.

        `timeout` in seconds; the empty set when it passes.
        """
        ...

    def streams(self, prefix: str, after: str, limit: int, *, having: str = "") -> list[str]:
        """Names of streams that begin with `prefix`, sorted, above `after`, at most `limit`.

        With `having` only those that hold this text; then the others cost nothing but their names.
        """
        ...

    def trim(self, stream: str, below: int) -> int:
        """Move whole segments below number `below` to the archive; return the first number kept.

        The hashes of the keys that leave stay, so that an old key is still the same record. The
        caller has made sure that no lane needs what goes.
        """
        ...

    def make_last(self, stream: str, name: str, data: bytes) -> None:
        """Keep `data`, the value of the fold `name` of a log, durable: its records are to go.

        Raises:
            Unavailable: it could not be written.
        """
        ...

    def lasting(self, stream: str, name: str) -> bytes | None:
        """What `make_last` kept; None when there is nothing, or nothing whole."""
        ...

    def append_gap(self, stream: str, above: int) -> Record | None:
        """Continue a restored log above number `above`, so that no number is given twice.

        Returns the `gap` record, numbered `above + 1`; None when the log has come that far already.
        """
        ...

    def get(self, key: str) -> tuple[Body | None, int]:
        """The document and its version; (None, 0) when there is none."""
        ...

    def put(self, key: str, body: Body, *, expect: int | None, guard: Guard | None = None) -> int:
        """Replace the document if its version is `expect` (0: it must not exist); the new version.

        Durable when it returns; the copy before it is kept. At most one writer wins a version.
        `expect` None replaces whatever stands there, read or not: for a document whose truth is
        a log, when no copy of it can be read. What cannot be read is set aside first.

        Raises:
            Conflict: another version stands there.
            Stale: `guard` does not permit it.
            Rejected: over `MAX_DOCUMENT` or not encodable.
        """
        ...

    def keys(self, prefix: str, after: str, limit: int) -> list[str]:
        """Keys of documents that begin with `prefix`, sorted, above `after`, at most `limit`."""
        ...

    def now(self) -> Instant:
        """The store's clock; claims expire by it, and it stamps `at`."""
        ...

    def verify(self) -> list[Finding]:
        """Read everything and name each damaged record or document by file and line."""
        ...


class Pulse(Protocol):
    """A store that says cheaply whether anything was written, for whoever shows it for hours."""

    def stamps(self) -> dict[str, int]:
        """By kind, the first part of a log's or document's name, a number of no other meaning.

        It is another one after something of that kind was written, by anybody; it may be so
        without. Costs no more than a look at every log's newest file.
        """
        ...


class Cache(Protocol):
    """Derived files: each may be deleted at any time and is computed again, equal."""

    def load(self, name: str) -> bytes | None:
        """The bytes saved under `name`; None when absent, damaged or not this user's own (0600)."""
        ...

    def save(self, name: str, data: bytes) -> None:
        """Replace `name` by temporary file, hash and rename. Never raises for a full disk."""
        ...


class Segment(NamedTuple):
    """A part of a log that is trimmed as a whole.

    Attributes:
        first: the number that it begins with.
        size: its bytes on the disk.
        archived: whether it was trimmed.
        packed: whether it is compressed, as only an archived one may be.
    """

    first: int
    size: int
    archived: bool
    packed: bool = False


class Shelf(Protocol):
    """A store whose logs are made of segments, as care of them needs it."""

    def segments(self, stream: str) -> list[Segment]:
        """The segments of a log, archived and live, oldest first."""
        ...

    def pack(self, stream: str, first: int) -> int:
        """Compress an archived segment; the bytes that are free now, perhaps none.

        Raises:
            Unavailable: it could not be written or read back; the segment is as it was.
        """
        ...


def last_record(store: Store, stream: str) -> Record | None:
    """The newest decodable record of `stream`, or None."""
    head = store.head(stream)
    found = store.read(stream, max(0, head - 1), 1).records if head else ()
    return found[-1] if found else None


def first_kept(store: Store, stream: str) -> int:
    """The lowest number that `stream` still holds: 1 until something was trimmed."""
    try:
        store.read(stream, 0, 0)
    except Trimmed as trimmed:
        return trimmed.first
    return 1


def read_kept(
    store: Store, stream: str, after: int, limit: int, *, sieve: Sieve | None = None
) -> Batch:
    """`store.read` that goes on at the first kept number where records after `after` are gone."""
    try:
        return store.read(stream, after, limit, sieve=sieve)
    except Trimmed as trimmed:
        return store.read(stream, trimmed.first - 1, limit, sieve=sieve)
