"""Values computed from a log and cached with the place they reach; never a source of truth.

A fold costs what is new: the cached state is taken where the log still holds the record it
stands on, and only the records after it are stepped over. Deleting a cache changes no value.
"""

import json
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from fleet.logs import holds
from fleet.ports import Cache, Store, first_kept, read_kept
from fleet.records import Place, Record

S = TypeVar("S")

SAVE_EVERY = 64  # records a fold moves before its cache is written again
_CHUNK = 1000  # records held in memory at once


class Folded(NamedTuple, Generic[S]):
    """A fold's value.

    Attributes:
        state: what the records up to `seq` amount to; the caller may change it freely.
        seq: the number of the newest record in it, 0 for an empty log.
        crc: that record's crc.
    """

    state: S
    seq: int
    crc: str

    @property
    def place(self) -> Place:
        """Where a lane stands that has passed everything in this value."""
        return Place(self.seq, self.crc)


def fold(  # noqa: PLR0917 - a log, then what is made of it
    store: Store,
    cache: Cache,
    stream: str,
    name: str,
    version: str,
    initial: Callable[[], S],
    step: Callable[[S, Record], None],
    *,
    since: Callable[[], int] | None = None,
) -> Folded[S]:
    """The value of `stream` under `step`, brought up to its newest whole record.

    Args:
        store: where the log is.
        cache: where the value is kept between calls, as `fold/<stream>/<name>`.
        stream: the log's name.
        name: the fold's name, unique in the stream.
        version: another version of `step` (or of its parameters) makes another value.
        initial: an empty state: JSON values only, with text as the keys of objects.
        step: changes the state in place; skips operations that it does not know.
        since: asked when there is no cached value: the number up to which records no longer
            matter, so that a long log costs no more than its end. None: all of them do.

    A trimmed log is folded from its first kept record, a replaced one from the start.

    Raises:
        Unsettled: the log could not be synced before its value was saved.
    """
    key = f"fold/{stream}/{name}"
    first = first_kept(store, stream)
    cached: Folded[S] | None = _cached(store, cache.load(key), stream, version, first)
    begin = cached or Folded(initial(), max(first - 1, since() if since else 0), "")
    folded, moved = _run(store, stream, begin, step)
    if (moved and cached is None) or moved >= SAVE_EVERY:
        store.sync(stream)
        saved = {"version": version, "first": first, "seq": folded.seq, "crc": folded.crc}
        cache.save(key, json.dumps(saved | {"state": folded.state}).encode())
    return folded


def damaged(store: Store, cache: Cache, stream: str) -> int:
    """How many lines of `stream` cannot be decoded; costs what is new, like any fold.

    Raises:
        Unsettled: the log could not be synced before the number was saved.
    """
    key, first = f"fold/{stream}/damaged", first_kept(store, stream)
    cached: Folded[dict[str, int]] | None = _cached(store, cache.load(key), stream, "1", first)
    known, seq, crc = cached or Folded({"upto": first - 1, "lines": 0}, first - 1, "")
    upto, lines = known["upto"], known["lines"]
    while (batch := read_kept(store, stream, upto, _CHUNK)).upto > upto:
        upto, lines = batch.upto, lines + len(batch.damage)
        if batch.records:
            seq, crc = batch.records[-1].seq, batch.records[-1].crc
    if upto - known["upto"] >= (SAVE_EVERY if cached else 1):
        store.sync(stream)
        saved = {"version": "1", "first": first, "seq": seq, "crc": crc}
        cache.save(key, json.dumps(saved | {"state": {"upto": upto, "lines": lines}}).encode())
    return lines


def _cached(
    store: Store, data: bytes | None, stream: str, version: str, first: int
) -> Folded[S] | None:
    """The cached value when it is whole, of this version, and of the log that is there now."""
    try:
        saved = json.loads(data or b"null")
        if saved["version"] != version or saved["first"] != first:
            return None
        place = Place(int(saved["seq"]), str(saved["crc"]))
        value: Folded[S] = Folded(saved["state"], place.seq, place.crc)
    except (ValueError, TypeError, KeyError):
        return None
    return value if holds(store, stream, place) else None


def _run(
    store: Store, stream: str, begin: Folded[S], step: Callable[[S, Record], None]
) -> tuple[Folded[S], int]:
    """The value after every record that follows `begin`, and how many there were."""
    upto, seq, crc, moved = begin.seq, begin.seq, begin.crc, 0
    head = store.head(stream)
    while upto < head:
        batch = read_kept(store, stream, upto, _CHUNK)
        for record in batch.records:
            if record.body.get("op") != "gap":
                step(begin.state, record)
            seq, crc = record.seq, record.crc
        moved += len(batch.records)
        if batch.upto <= upto:
            break
        upto = batch.upto
    return Folded(begin.state, seq, crc), moved
