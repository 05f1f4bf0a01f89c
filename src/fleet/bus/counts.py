"""The folds over the event log: newest of each type, counts by hour, counts by run.

They are caches of what the log says and bounded whatever its length; no decision is taken here.
"""

from typing import TypedDict

from fleet.bus.events import STREAM, is_event
from fleet.folds import fold
from fleet.logs import place_before, record_at
from fleet.ports import Cache, Store
from fleet.records import Record, wall_of

NEWEST = 8  # events kept of each type
HOURS = 8 * 24  # hours that are counted, the newest event's among them
RUNS = 64  # runs counted, those that emitted last
RECENT = 20_000  # events among which those of a run are counted when the count was lost
_HOUR = 3600  # seconds
_INLINE = 2048  # characters of a payload up to which the fold holds the record itself


class _Newest(TypedDict):
    """By type, oldest first: number, id, instant, crc, and the body unless it is long."""

    types: dict[str, list[list[object]]]


class _Hours(TypedDict):
    """By hour since the epoch, by type."""

    hours: dict[str, dict[str, int]]


class _Runs(TypedDict):
    """By run, the one that emitted last at the end."""

    runs: dict[str, int]


def latest(store: Store, cache: Cache, types: tuple[str, ...]) -> list[Record]:
    """The newest `NEWEST` events of each of `types`, in the order of the log."""
    folded = fold(store, cache, STREAM, "latest", "1", lambda: _Newest(types={}), _keep_newest)
    kept = [row for name in dict.fromkeys(types) for row in folded.state["types"].get(name, [])]
    records = (_restored(store, row) for row in kept)
    return sorted((record for record in records if record), key=lambda record: record.seq)


def count_since(store: Store, cache: Cache, type_name: str, wall: float) -> int:
    """How many events of a type there are since `wall` (epoch seconds), by whole UTC hours.

    The hour that `wall` falls into is counted whole; nothing older than `HOURS` is known.
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
    since, hours = _hour_of(wall), folded.state["hours"].items()
    return sum(counts.get(type_name, 0) for hour, counts in hours if int(hour) >= since)


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
    if not is_event(record):
        return
    body = record.body if len(str(record.body.get("payload"))) <= _INLINE else None
    rows = state["types"].setdefault(str(record.body.get("type")), [])
    rows.append([record.seq, record.id, record.at, record.crc, body])
    del rows[:-NEWEST]


def _restored(store: Store, row: list[object]) -> Record | None:
    seq, ident, at, crc, body = row
    if not isinstance(body, dict):
        return record_at(store, STREAM, int(str(seq)))
    return Record(STREAM, int(str(seq)), str(ident), str(at), body, crc=str(crc))


def _count_hour(state: _Hours, record: Record) -> None:
    if not is_event(record):
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
    if not is_event(record) or not isinstance(run, str):
        return
    runs = state["runs"]
    runs[run] = runs.pop(run, 0) + 1
    while len(runs) > RUNS:
        del runs[next(iter(runs))]
