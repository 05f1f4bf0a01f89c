"""The logs of a home as they stood at one moment: the half of a store that reads.

Each log is pinned where it stands when it is first looked at, and nothing behind that is ever
read. What is built over a snapshot can be built again later from its pins, byte for byte. It is no
copy: the records stay where they are.
"""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from fleet.errors import Finding, NotAllowed
from fleet.ports import Store, first_kept, read_kept
from fleet.records import Batch, Body, Draft, Guard, Instant, Place, Record, Sieve

_PAGE = 500  # names of logs listed at once


class Snapshot:
    """The `Store` port without its writes, which raise `NotAllowed`.

    It has no documents but those it is given: what they say at another moment cannot be read again.

    Args:
        store: where the logs are.
        pins: the newest record of each log that may be read; a log without one is empty. None
            pins each log at its first touch.
        documents: what `get` answers with.
        now: the moment that `now` says; None asks the store at the first time.
    """

    def __init__(
        self,
        store: Store,
        pins: Mapping[str, Place] | None = None,
        *,
        documents: Mapping[str, Body] | None = None,
        now: Instant | None = None,
    ) -> None:
        self._store = store
        self._past = pins is not None
        self._pins = dict(pins or {})
        self._documents = dict(documents or {})
        self._now = now
        self._newest: dict[str, Record] = {}
        self._firsts: dict[str, int] = {}
        self._listed: set[str] = set()
        self._synced: set[str] = set()

    @property
    def pins(self) -> dict[str, Place]:
        """The newest record of each log that was looked at, number 0 for an empty one; by name."""
        return dict(sorted(self._pins.items()))

    def _pin(self, stream: str) -> int:
        if stream not in self._pins:
            self._pins[stream] = self._place(stream)
        return self._pins[stream].seq

    def _place(self, stream: str) -> Place:
        """Where a log stands now; one that a listing did not show is empty for good."""
        if self._past or any(stream.startswith(prefix) for prefix in self._listed):
            return Place(0)
        seq = self._store.head(stream)
        found = read_kept(self._store, stream, seq - 1, 1).records if seq else ()
        if not found or found[0].seq != seq:
            return Place(seq)
        self._newest[stream] = found[0]
        return Place(seq, found[0].crc)

    # What reads ------------------------------------------------------------------------------

    def read(self, stream: str, after: int, limit: int, *, sieve: Sieve | None = None) -> Batch:
        """See `Store.read`; never past the pin."""
        pin = self._pin(stream)
        if pin and after + 1 < self._first(stream):
            return self._store.read(stream, after, 0)  # raises `Trimmed`
        room = pin - after
        if room <= 0 or limit <= 0:
            return Batch((), after)
        newest = self._newest.get(stream)
        if room == 1 and newest:
            return Batch((newest,) if not sieve or sieve.passes(newest.body) else (), pin)
        batch = self._store.read(stream, after, min(limit, room), sieve=sieve)
        if batch.upto <= pin:
            return batch
        inside = tuple(record for record in batch.records if record.seq <= pin)
        return Batch(inside, pin, batch.damage)

    def _first(self, stream: str) -> int:
        """The first number kept, asked once: trimming meanwhile changes no value halfway."""
        if stream not in self._firsts:
            self._firsts[stream] = first_kept(self._store, stream)
        return self._firsts[stream]

    def head(self, stream: str) -> int:
        """The number that the log is pinned at."""
        return self._pin(stream)

    def streams(self, prefix: str, after: str, limit: int, *, having: str = "") -> list[str]:
        """See `Store.streams`; every log that is listed is pinned."""
        if not self._past and not any(prefix.startswith(listed) for listed in self._listed):
            self._list(prefix)
        pins = self._pins.items()
        names = (name for name, place in pins if place.seq and name.startswith(prefix))
        return sorted(name for name in names if name > after and having in name)[:limit]

    def _list(self, prefix: str) -> None:
        last = ""
        while page := self._store.streams(prefix, last, _PAGE):
            for name in page:
                self._pin(name)
            last = page[-1]
        self._listed.add(prefix)

    def lasting(self, stream: str, name: str) -> bytes | None:
        """See `Store.lasting`; who goes on from it looks whether the log reaches so far."""
        return self._store.lasting(stream, name)

    def get(self, key: str) -> tuple[Body | None, int]:
        """The document that was given; (None, 0) for every other."""
        body = self._documents.get(key)
        return body, int(body is not None)

    def keys(self, prefix: str, after: str, limit: int) -> list[str]:
        """Keys of the documents that were given."""
        found = (key for key in self._documents if key.startswith(prefix) and key > after)
        return sorted(found)[:limit]

    def now(self) -> Instant:
        """One moment, however often it is asked."""
        if self._now is None:
            self._now = self._store.now()
        return self._now

    # Durability ------------------------------------------------------------------------------

    def sync(self, stream: str) -> None:
        """See `Store.sync`; once is enough for what was pinned, and a past moment is durable."""
        if self._pin(stream) and not self._past and stream not in self._synced:
            self._store.sync(stream)
            self._synced.add(stream)

    def sync_all(self) -> None:
        """Make everything that was looked at durable: before a run acts on it.

        Raises:
            Unsettled: a sync failed.
        """
        for stream in self._pins:
            self.sync(stream)

    # What a snapshot cannot do ---------------------------------------------------------------

    def append(
        self, stream: str, records: Sequence[Draft], *, guard: Guard | None = None
    ) -> NoReturn:
        """Raises `NotAllowed`."""
        del records, guard
        raise _refused(f"append to {stream}")

    def append_gap(self, stream: str, above: int) -> NoReturn:
        """Raises `NotAllowed`."""
        raise _refused(f"append to {stream} above {above}")

    def put(
        self, key: str, body: Body, *, expect: int | None, guard: Guard | None = None
    ) -> NoReturn:
        """Raises `NotAllowed`."""
        del body, expect, guard
        raise _refused(f"save {key}")

    def trim(self, stream: str, below: int) -> NoReturn:
        """Raises `NotAllowed`."""
        raise _refused(f"trim {stream} below {below}")

    def make_last(self, stream: str, name: str, data: bytes) -> NoReturn:
        """Raises `NotAllowed`."""
        del data
        raise _refused(f"keep {name} of {stream}")

    def wait(self, places: dict[str, int], timeout: float) -> NoReturn:
        """Raises `NotAllowed`: nothing will ever come."""
        del timeout
        raise _refused(f"wait for {', '.join(places)}")

    def verify(self) -> list[Finding]:
        """Raises `NotAllowed`."""
        raise _refused("verify")


def _refused(what: str) -> NotAllowed:
    return NotAllowed(f"a snapshot of the past cannot {what}", "call the home's own store")
