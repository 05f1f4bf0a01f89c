"""Ranges and places in a log, read through the storage port; nothing here writes or caches."""

from collections.abc import Callable, Iterator

from fleet.errors import Trimmed
from fleet.ports import Store, first_kept, read_kept
from fleet.records import Place, Record, Sieve, wall_of

_CHUNK = 500  # records held in memory at once
_RETRIED = 200  # records in which a repeated key is looked for
_WINDOW = 256  # numbers looked at first when going back from the head; four times as many each time


def record_at(store: Store, stream: str, seq: int) -> Record | None:
    """Record `seq` of `stream`; None when there is none, or it is damaged or trimmed."""
    found = read_kept(store, stream, max(0, seq - 1), 1).records if seq > 0 else ()
    return found[0] if found and found[0].seq == seq else None


def has_key(store: Store, stream: str, key: str | None) -> bool:
    """Whether one of the newest 200 records was given `key`: who repeats himself does so soon."""
    return key is not None and with_key(store, stream, key) is not None


def with_key(store: Store, stream: str, key: str) -> Record | None:
    """The record that was given `key`, if it is one of the newest 200."""
    after = max(0, store.head(stream) - _RETRIED)
    found = read_kept(store, stream, after, _RETRIED).records
    return next((record for record in found if record.key == key), None)


def place_at(store: Store, stream: str, seq: int) -> Place:
    """The place of a lane that passed number `seq`; without crc where that line is unreadable."""
    record = record_at(store, stream, seq)
    return Place(seq, record.crc if record else "")


def holds(store: Store, stream: str, place: Place) -> bool:
    """Whether `stream` is still the log in which `place` was noted.

    False means that it was replaced or restored. A place whose record was trimmed or damaged
    since, or that has no crc, is judged by the head alone.
    """
    if place.seq == 0:
        return True
    if store.head(stream) < place.seq:
        return False
    try:
        batch = store.read(stream, place.seq - 1, 1)
    except Trimmed:
        return True
    if batch.damage or not place.crc:
        return True
    return bool(batch.records) and _same(batch.records[0], place)


def _same(record: Record, place: Place) -> bool:
    return record.seq == place.seq and record.crc == place.crc


def place_before(store: Store, stream: str, wall: float) -> Place:
    """The place before the first record of `stream` stamped at or after `wall` (epoch seconds).

    Found by bisection: for people and for where a lane begins, never for order. Where the clock
    was stepped the answer is one of several right ones.
    """
    low, high = first_kept(store, stream) - 1, store.head(stream)
    while low < high:
        middle = (low + high + 1) // 2
        found = read_kept(store, stream, middle - 1, 1).records
        if found and wall_of(found[0].at) < wall:
            low = middle
        else:
            high = middle - 1
    return place_at(store, stream, low)


def between(
    store: Store, stream: str, lower: int, upper: int, *, sieve: Sieve | None = None
) -> Iterator[Record]:
    """The records with a number above `lower` and up to `upper`, oldest first."""
    while lower < upper:
        batch = read_kept(store, stream, lower, min(_CHUNK, upper - lower), sieve=sieve)
        yield from (record for record in batch.records if record.seq <= upper)
        if batch.upto <= lower:
            return
        lower = batch.upto


def newest(  # noqa: PLR0917 - a range of a log, and what of it is wanted
    store: Store,
    stream: str,
    upper: int,
    limit: int,
    has: Callable[[Record], bool],
    sieve: Sieve | None = None,
) -> list[Record]:
    """The newest `limit` records up to number `upper` for which `has` holds, oldest first.

    Goes back from `upper` in growing windows: costs what it passes on the way.
    """
    found: list[Record] = []
    width, bottom = max(limit, _WINDOW), first_kept(store, stream) - 1
    while upper > bottom and len(found) < limit:
        lower = max(bottom, upper - width)
        window = between(store, stream, lower, upper, sieve=sieve)
        found = [record for record in window if has(record)] + found
        upper, width = lower, width * 4
    return found[max(0, len(found) - limit) :]
