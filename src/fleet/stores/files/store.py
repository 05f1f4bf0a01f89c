"""The storage port on plain files: what a person can `cat`, `grep` and `tail -f`.

It composes logs, documents and checks; each of them has its own module. It must lie on a local
file system: flock and rename promise nothing on a network's.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from fleet.errors import Finding
from fleet.ports import Segment
from fleet.records import Batch, Body, Draft, Guard, Instant, Record, Sieve
from fleet.stores import names
from fleet.stores.clock import system_clock
from fleet.stores.files import disk, documents, reading, segments
from fleet.stores.files.layout import Layout, subfolders
from fleet.stores.files.locks import Singleton
from fleet.stores.files.log import LogWriter
from fleet.stores.intake import Intake

if TYPE_CHECKING:
    from pathlib import Path

    from fleet.stores.files.stamps import Stamps

_SEGMENT = 16 << 20  # bytes
_FREE = nullcontext()
_LOOK = 0.02  # seconds between two looks at a log that is waited for


class FilesStore:
    """`Store` in the folder `state`; it is made at the first write.

    Args:
        state: the folder.
        clock: stamps records and decides when claims expire.
        lock_timeout: seconds that any lock is waited for at most.
        segment_bytes: a log's file of this size is followed by a new one.
        secrets: values that are masked in whatever is written (see `stores.intake`).

    Raises:
        BadHome: the folder has another format, or records and no format.
    """

    def __init__(
        self,
        state: "Path",
        *,
        clock: Callable[[], Instant] = system_clock,
        lock_timeout: float = 10.0,
        segment_bytes: int = _SEGMENT,
        secrets: tuple[str, ...] = (),
    ) -> None:
        self._clock = clock
        self._timeout = lock_timeout
        self._intake = Intake(secrets)
        self._layout = Layout(os.path.abspath(os.fspath(state)))
        self._logs = LogWriter(self._layout, clock, lock_timeout, segment_bytes)
        self._documents = documents.Documents(self._layout, clock, lock_timeout)
        self._stamps: Stamps | None = None
        with disk.explained(f"opening {state}"):
            self._layout.check()

    # Logs --------------------------------------------------------------------------------------

    def append(
        self, stream: str, records: Sequence[Draft], *, guard: Guard | None = None
    ) -> list[Record]:
        """See `Store.append`."""
        drafts = self._intake.drafts(stream, records)
        permitted = _FREE if guard is None else self._documents.guarded(guard)
        try:
            return self._logs.append(stream, drafts, permitted)
        except OSError as error:
            raise disk.unavailable(error, f"appending to {stream}") from error

    def append_gap(self, stream: str, above: int) -> Record | None:
        """Continue `stream` above number `above`; None when it has come that far already.

        For a log that was replaced or restored: no number that a cursor knows is given twice.
        """
        with disk.explained(f"appending to {stream}"):
            return self._logs.append_gap(stream, above)

    def read(self, stream: str, after: int, limit: int, *, sieve: Sieve | None = None) -> Batch:
        """See `Store.read`."""
        with disk.explained(f"reading {stream}"):
            return reading.read(self._layout, stream, after, limit, sieve)

    def head(self, stream: str) -> int:
        """See `Store.head`."""
        with disk.explained(f"reading {stream}"):
            return reading.head(self._layout, stream)

    def sync(self, stream: str) -> None:
        """See `Store.sync`."""
        with disk.explained(f"syncing {stream}"):
            self._logs.sync(stream)

    def wait(self, places: dict[str, int], timeout: float) -> set[str]:
        """See `Store.wait`; it looks every 20 ms, and reads only what has grown."""
        until = time.monotonic() + timeout
        sizes: dict[str, tuple[int, int]] = {}
        with disk.explained("waiting for records"):
            while True:
                ahead = {s for s, seq in places.items() if self._grew(s, sizes, seq)}
                left = until - time.monotonic()
                if ahead or left <= 0:
                    return ahead
                time.sleep(min(_LOOK, left))

    def _grew(self, stream: str, sizes: dict[str, tuple[int, int]], seq: int) -> bool:
        size = reading.size(self._layout, stream)
        if sizes.get(stream) == size:
            return False
        sizes[stream] = size
        return reading.head(self._layout, stream) > seq

    def stamps(self) -> dict[str, int]:
        """See `Pulse.stamps`."""
        if self._stamps is None:
            from fleet.stores.files.stamps import Stamps

            self._stamps = Stamps(self._layout)
        with disk.explained("looking for what is new"):
            return self._stamps.look()

    def streams(self, prefix: str, after: str, limit: int, *, having: str = "") -> list[str]:
        """See `Store.streams`."""

        def wanted(name: str) -> bool:
            return name.startswith(prefix) and name > after and having in name

        with disk.explained("listing logs"):
            kinds = self._layout.kinds(prefix)
            found = [name for kind, folder in kinds for name in _logs_in(kind, folder, wanted)]
        return sorted(found)[:limit]

    def trim(self, stream: str, below: int) -> int:
        """See `Store.trim`."""
        with disk.explained(f"trimming {stream}"):
            return self._logs.trim(stream, below)

    def make_last(self, stream: str, name: str, data: bytes) -> None:
        """See `Store.make_last`."""
        from fleet.stores.files import lasting

        with disk.explained(f"keeping what is computed from {stream}"):
            lasting.save(self._layout, stream, name, data)

    def lasting(self, stream: str, name: str) -> bytes | None:
        """See `Store.lasting`."""
        from fleet.stores.files import lasting

        return lasting.load(self._layout, stream, name)

    def segments(self, stream: str) -> list[Segment]:
        """See `Shelf.segments`."""
        from fleet.stores.files import archive

        with disk.explained(f"looking at {stream}"):
            return archive.list_segments(self._layout, stream)

    def pack(self, stream: str, first: int) -> int:
        """See `Shelf.pack`."""
        from fleet.stores.files import archive

        with disk.explained(f"packing what was trimmed of {stream}"):
            return archive.pack(self._layout, stream, first)

    # Documents ---------------------------------------------------------------------------------

    def get(self, key: str) -> tuple[Body | None, int]:
        """See `Store.get`; a damaged file is stood in for by the copy before it."""
        names.check_document(key)
        with disk.explained(f"reading {key}"):
            found = self._documents.load(key)
        return found.body, found.version

    def put(self, key: str, body: Body, *, expect: int | None, guard: Guard | None = None) -> int:
        """See `Store.put`."""
        body = self._intake.body(key, body)
        with disk.explained(f"saving {key}"):
            return self._documents.put(key, body, expect, guard)

    def keys(self, prefix: str, after: str, limit: int) -> list[str]:
        """See `Store.keys`."""
        with disk.explained("listing documents"):
            return documents.keys(self._layout, prefix, after, limit)

    # The rest ----------------------------------------------------------------------------------

    def now(self) -> Instant:
        """The clock it was given."""
        return self._clock()

    def verify(self) -> list[Finding]:
        """See `Store.verify`."""
        from fleet.stores.files.verify import verify

        with disk.explained("verifying"):
            return list(verify(self._layout, timeout=self._timeout))

    def singleton(self, name: str, what: str) -> Singleton:
        """The lock `name` that one process holds for long: `runner`, `maintenance`."""
        with disk.explained(f"preparing the lock of {what}"):
            self._layout.make()
        return Singleton(f"{self._layout.locks}/{names.encode(name)}.lock", what)


def require_format(state: "Path") -> None:
    """Refuse a state folder of another format before anything, a cache too, is written to it.

    Raises:
        BadHome: as for `FilesStore`.
    """
    with disk.explained(f"opening {state}"):
        Layout(os.path.abspath(os.fspath(state))).check()


def _logs_in(kind: str, folder: str, wanted: Callable[[str], bool]) -> list[str]:
    """Names of the wanted logs in the folder of `kind`: itself, and those below it."""
    found = [kind] if wanted(kind) and segments.list_firsts(folder) else []
    for entry in subfolders(folder):
        rest = names.decode(entry)
        if rest is None or not wanted(f"{kind}/{rest}"):
            continue
        if segments.list_firsts(f"{folder}/{entry}"):
            found.append(f"{kind}/{rest}")
    return found
