"""The folds over the event log: newest of each type, counts by hour, counts by run.

They are caches of what the log says and bounded whatever its length; no decision is taken here.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import TypedDict

from fleet.bus.events import STREAM, is_fact
from fleet.folds import fold
from fleet.logs import place_before, record_at
from fleet.ports import Cache, Store
from fleet.records import Record, wall_of

NEWEST = 8  # events kept of each type
SPARE = 64  # numbers kept beyond them: what comes up where newer ones were retracted
HOURS = 8 * 24  # hours that are counted, the newest event's among them
RUNS = 64  # runs counted, those that emitted last
RECENT = 20_000  # events among which those of a run are counted when the count was lost
_HOUR = 3600  # seconds
_INLINE = 2048  # characters of a payload up to which the fold holds the record itself


class _Newest(TypedDict):
    """By type, oldest first: number, id, instant, crc, and the body unless it is long.

    Of the `SPARE` before the `NEWEST` of them the number alone.
    """

    types: dict[str, list[list[object]]]


class _Hours(TypedDict):
    """By hour since the epoch, by type."""

    hours: dict[str, dict[str, int]]


class _Runs(TypedDict):
    """By run, the one that emitted last at the end."""

    runs: dict[str, int]


def latest(
    store: Store, cache: Cache, types: tuple[str, ...], without: AbstractSet[int]
) -> list[Record]:
    """The newest `NEWEST` events of each of `types` that are not `without`, in the log's order.

    Fewer where over `SPARE` of the newest ones of a type were retracted.
    """
    kept, found = _newest(store, cache), list[Record]()
    for name in dict.fromkeys(types):
        rows = [row for row in kept.get(name, []) if row[0] not in without]
        records = (_restored(store, row) for row in rows[-NEWEST:])
        found += [record for record in records if record]
    return sorted(found, key=lambda record: record.seq)


def _newest(store: Store, cache: Cache) -> dict[str, list[list[object]]]:
    step = _keep_newest
    return fold(store, cache, STREAM, "latest", "2", _none, step).state["types"]


def _none() -> _Newest:
    return _Newest(types={})


def too_long(store: Store, cache: Cache) -> list[int]:
    """Numbers of the newest events of a type whose payload is too long for the fold to hold."""
    newest = (row for rows in _newest(store, cache).values() for row in rows[-NEWEST:])
    return [int(str(row[0])) for row in newest if not isinstance(row[-1], dict)]


def count_since(
    store: Store, cache: Cache, type_name: str, wall: float, without: Iterable[tuple[str, str]]
) -> int:
    """How many events of a type there are since `wall` (epoch seconds), by whole UTC hours.

    The hour that `wall` falls into is counted whole; nothing older than `HOURS` is known.
    `without` are the types and RFC 3339 instants of events that do not count.
    """
    folded = fold(
        store,
        cache,
        STREAM,
        "hours",
        "2",
        lambda: _Hours(hours={}),
        _count_hour,
        since=lambda: _before_hours(store),
    )
    since, hours = _hour_of(wall), folded.state["hours"]
    counted = {int(hour): counts.get(type_name, 0) for hour, counts in hours.items()}
    gone = (_hour_of(wall_of(at)) for name, at in without if name == type_name)
    return sum(count for hour, count in counted.items() if hour >= since) - sum(
        hour >= since and hour in counted for hour in gone
    )


def _before_hours(store: Store) -> int:
    """The number of the last event that is older than the hours which count."""
    newest = record_at(store, STREAM, store.head(STREAM))
    first = _hour_of(wall_of(newest.at)) - HOURS + 1 if newest else 0
    return place_before(store, STREAM, first * _HOUR).seq


def emitted_by(store: Store, cache: Cache, run: str) -> int:
    """How many events `run` has emitted; 0 once `RUNS` other runs emitted after it."""
    folded = fold(
        store,
        cache,
        STREAM,
        "runs",
        "1",
        lambda: _Runs(runs={}),
        _count_run,
        since=lambda: store.head(STREAM) - RECENT,
    )
    return folded.state["runs"].get(run, 0)


def _keep_newest(state: _Newest, record: Record) -> None:
    if not is_fact(record):
        return
    body = record.body if len(str(record.body.get("payload"))) <= _INLINE else None
    rows = state["types"].setdefault(str(record.body.get("type")), [])
    rows.append([record.seq, record.id, record.at, record.crc, body])
    del rows[: -NEWEST - SPARE]
    if len(rows) > NEWEST:
        del rows[-NEWEST - 1][1:]


def _restored(store: Store, row: list[object]) -> Record | None:
    seq, body = int(str(row[0])), row[-1]
    if not isinstance(body, dict):
        return record_at(store, STREAM, seq)
    _, ident, at, crc, _ = row
    return Record(STREAM, seq, str(ident), str(at), body, crc=str(crc))


def _count_hour(state: _Hours, record: Record) -> None:
    if not is_fact(record):
        return
    hours, name = state["hours"], str(record.body.get("type"))
    hour = _hour_of(wall_of(record.at))
    if str(hour) not in hours:
        for old in [old for old in hours if int(old) <= hour - HOURS]:
            del hours[old]
        hours[str(hour)] = {}
    hours[str(hour)][name] = hours[str(hour)].get(name, 0) + 1


def _hour_of(wall: float) -> int:
    return int(wall // _HOUR)


def _count_run(state: _Runs, record: Record) -> None:
    run = record.body.get("run")
    if not is_fact(record) or not isinstance(run, str):
        return
    runs = state["runs"]
    runs[run] = runs.pop(run, 0) + 1
    while len(runs) > RUNS:
        del runs[next(iter(runs))]
