"""Values computed from a log and cached with the place they reach; never a source of truth.

A fold costs what is new: the cached state is taken where the log still holds the record it
stands on, and only the records after it are stepped over. Deleting a cache changes no value.
"""

import json
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from fleet.logs import holds
from fleet.ports import Cache, Store, first_kept, read_kept
from fleet.records import Batch, Place, Record

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
    key, first = f"fold/{stream}/{name}", first_kept(store, stream)
    saved: Folded[S] | None = _saved(cache.load(key), version, first)
    # One read tells whether the log still holds the record that the value stands on, and what
    # has come since: most folds are asked again before anything has.
    batch = read_kept(store, stream, max(0, saved.seq - 1), _CHUNK) if saved else Batch((), 0)
    if saved and _holds(batch, saved.place):
        folded, moved = _run(store, stream, saved, step, batch)
    else:
        saved = None
        begin = Folded(initial(), max(first - 1, since() if since else 0), "")
        batch = read_kept(store, stream, begin.seq, _CHUNK)
        folded, moved = _run(store, stream, begin, step, batch)
    if (moved and saved is None) or moved >= SAVE_EVERY:
        store.sync(stream)
        said = {"version": version, "first": first, "seq": folded.seq, "crc": folded.crc}
        cache.save(key, json.dumps(said | {"state": folded.state}).encode())
    return folded


def damaged(store: Store, cache: Cache, stream: str) -> int:
    """How many lines of `stream` cannot be decoded; costs what is new, like any fold.

    Raises:
        Unsettled: the log could not be synced before the number was saved.
    """
    key, first = f"fold/{stream}/damaged", first_kept(store, stream)
    cached: Folded[dict[str, int]] | None = _saved(cache.load(key), "1", first)
    if cached and not holds(store, stream, cached.place):
        cached = None
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


def _saved(data: bytes | None, version: str, first: int) -> Folded[S] | None:
    """The cached value when it is whole, of this version, and of a log that begins at `first`."""
    try:
        saved = json.loads(data or b"null")
        if saved["version"] != version or saved["first"] != first:
            return None
        return Folded(saved["state"], int(saved["seq"]), str(saved["crc"]))
    except (ValueError, TypeError, KeyError):
        return None


def _holds(batch: Batch, place: Place) -> bool:
    """Whether `batch`, read from before `place`, is of the log in which it was noted.

    A line that was damaged since then says nothing against it.
    """
    if batch.records and batch.records[0].seq == place.seq:
        return batch.records[0].crc == place.crc
    return bool(batch.damage)


def _run(
    store: Store,
    stream: str,
    begin: Folded[S],
    step: Callable[[S, Record], None],
    batch: Batch,
) -> tuple[Folded[S], int]:
    """The value after every record that follows `begin`, `batch` first, and how many there were."""
    seq, crc, moved = begin.seq, begin.crc, 0
    while True:
        for record in batch.records:
            if record.seq <= seq:
                continue  # the one that `begin` stands on
            if record.body.get("op") != "gap":
                step(begin.state, record)
            seq, crc = record.seq, record.crc
            moved += 1
        if len(batch.records) < _CHUNK:
            return Folded(begin.state, seq, crc), moved
        batch = read_kept(store, stream, batch.upto, _CHUNK)
