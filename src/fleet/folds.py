"""Values computed from a log and cached with the place they reach; never a source of truth.

A fold costs what is new: the cached state is taken where the log still holds the record it
stands on, and only the records after it are stepped over. Deleting a cache changes no value.
`Values` keeps them in this process too, and serves readers of a log that is pinned.
"""

import json
import marshal
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from fleet.logs import holds
from fleet.ports import Cache, Store, first_kept, read_kept
from fleet.records import Batch, Place, Record

S = TypeVar("S")

STEP = 20_000  # records after which a value is kept besides the newest: a replay begins there
SAVE_EVERY = 64  # records a fold moves before its cache is written again
_CHUNK = 1000  # records held in memory at once
MOST = 1000  # values kept in memory


class Folded(NamedTuple, Generic[S]):
    """A fold's value.

    Attributes:
        state: what the records up to `seq` amount to; others may hold it, so nobody changes it.
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


class Ahead(Exception):
    """A cached value is ahead of the pinned log that it was asked of: others have read on."""


class _Kept(NamedTuple):
    """A value in memory: what it depends on besides the log, and how far its file is behind."""

    version: str
    first: int
    value: Folded[Any]
    unsaved: int


class Values:
    """A `Cache` that keeps the values of folds in this process too; threads may share it.

    Attributes:
        strict: a value that is ahead of its log raises `Ahead` instead of being computed again.
        past: they are of a past moment, and nothing is saved.

    With more than `most` values in memory all of them are dropped.
    """

    def __init__(
        self,
        cache: Cache,
        *,
        kept: dict[str, _Kept] | None = None,
        strict: bool = False,
        past: bool = False,
        most: int = MOST,
    ) -> None:
        self._cache = cache
        self._most = most
        self._kept = {} if kept is None else kept
        self.strict = strict
        self.past = past

    def pinned(self) -> "Values":
        """The same values, strict: for whoever can pin his logs again and look once more."""
        return Values(self._cache, kept=self._kept, strict=True)

    def apart(self) -> "Values":
        """Values of a past moment: what is cached serves where it fits, and nothing is saved."""
        return Values(self._cache, past=True)

    def load(self, name: str) -> bytes | None:
        """See `Cache.load`."""
        return self._cache.load(name)

    def save(self, name: str, data: bytes) -> None:
        """See `Cache.save`."""
        if not self.past:
            self._cache.save(name, data)

    def kept(self, key: str, version: str, first: int) -> tuple[Folded[Any], int] | None:
        """The value in memory, and how many records its file is behind; None without one."""
        kept = self._kept.get(key)
        fits = kept is not None and (kept.version, kept.first) == (version, first)
        return (kept.value, kept.unsaved) if kept and fits else None

    def keep(self, key: str, version: str, first: int, value: Folded[Any], unsaved: int) -> None:
        """Hold `value`, which nobody changes from now on."""
        if len(self._kept) >= self._most:
            self._kept.clear()
        self._kept[key] = _Kept(version, first, value, unsaved)

    def make_last(self, store: Store, stream: str) -> None:
        """Let every value in memory of a fold of `stream` outlast the records it stands on.

        Raises:
            Unavailable: it could not be written.
        """
        begin = f"fold/{stream}/"
        for key, kept in self._kept.items():
            if key.startswith(begin):
                data = _packed(kept.version, kept.first, kept.value)
                store.make_last(stream, key.removeprefix(begin), data)


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

    A trimmed log is folded on from the value that was made to last when it was trimmed (without
    one, as after a change of `version`, from its first kept record), a replaced one from the start.

    Raises:
        Unsettled: the log could not be synced before its value was saved.
        Ahead: see `Values.strict`.
    """
    key, first = f"fold/{stream}/{name}", first_kept(store, stream)
    memory = cache if isinstance(cache, Values) else None
    kept, behind = (memory.kept(key, version, first) if memory else None) or (None, 0)
    files = _files(cache, store, stream, key)
    values: Iterable[Folded[S] | None] = (_saved(cache.load(f), version, first) for f in files)
    saved, batch = _held(store, cache, stream, (kept,) if kept else values)
    if saved is None:
        begin = Folded(initial(), max(first - 1, since() if since else 0), "")
        if first > 1:
            begin = _begin(store, cache, stream, name, version, fresh=begin)
        batch = read_kept(store, stream, begin.seq, _CHUNK)
    else:
        begin = _steppable(saved, batch) if kept else saved
    folded, moved = _run(store, stream, begin, step, batch)
    unsaved = behind + moved
    if (moved and saved is None) or unsaved >= SAVE_EVERY:
        store.sync(stream)
        data = _packed(version, first, folded)
        cache.save(key, data)
        if (folded.seq - unsaved) // STEP < folded.seq // STEP:
            cache.save(_step_of(key, folded.seq), data)
        unsaved = 0
    if memory and (moved or not kept):
        memory.keep(key, version, first, folded, unsaved)
    return folded


def _files(cache: Cache, store: Store, stream: str, key: str) -> Iterator[str]:
    """Where a value may be cached; for a past moment also values on the way to today's."""
    yield key
    if isinstance(cache, Values) and cache.past:
        yield from (_step_of(key, seq) for seq in range(store.head(stream), 0, -STEP))


def _step_of(key: str, seq: int) -> str:
    return f"{key}@{seq // STEP}"


def _held(
    store: Store, cache: Cache, stream: str, candidates: Iterable[Folded[S] | None]
) -> tuple[Folded[S] | None, Batch]:
    """The first value whose record the log still holds, and what one read says after it.

    That read tells both: most folds are asked again before anything has come.
    """
    for saved in candidates:
        if saved is None:
            continue
        batch = read_kept(store, stream, max(0, saved.seq - 1), _CHUNK)
        if _holds(batch, saved.place):
            return saved, batch
        if isinstance(cache, Values) and cache.strict and saved.seq > store.head(stream):
            raise Ahead
    return None, Batch((), 0)


def _packed(version: str, first: int, value: Folded[Any]) -> bytes:
    said = {"version": version, "first": first, "seq": value.seq, "crc": value.crc}
    return json.dumps(said | {"state": value.state}).encode()


def _begin(
    store: Store, cache: Cache, stream: str, name: str, version: str, *, fresh: Folded[S]
) -> Folded[S]:
    """Where a value begins that is not cached: behind what trimming left of it, else at `fresh`."""
    value: Folded[S] | None = _saved(store.lasting(stream, name), version, None)
    if value is None:
        return fresh
    if isinstance(cache, Values) and cache.strict and value.seq > store.head(stream):
        raise Ahead
    return value if value.seq > fresh.seq and holds(store, stream, value.place) else fresh


def _steppable(kept: Folded[S], batch: Batch) -> Folded[S]:
    """A value that may be stepped on: others hold the one in memory."""
    if not batch.records or batch.records[-1].seq <= kept.seq:
        return kept
    return kept._replace(state=own(kept.state))


def own(state: S) -> S:
    """A copy of a fold's state that the caller may change."""
    value: Any = state
    copy: S = marshal.loads(marshal.dumps(value))  # noqa: S302 - our own bytes
    return copy


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
        value = Folded({"upto": upto, "lines": lines}, seq, crc)
        cache.save(key, _packed("1", first, value))
    return lines


def _saved(data: bytes | None, version: str, first: int | None) -> Folded[S] | None:
    """The saved value when it is whole, of this version, and of a log that begins at `first`."""
    try:
        saved = json.loads(data or b"null")
        if saved["version"] != version or first not in {None, saved["first"]}:
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
