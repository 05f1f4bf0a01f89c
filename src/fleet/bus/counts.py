"""The folds over the event log: newest of each type, counts by hour, counts by run.

They are caches of what the log says and bounded whatever its length; no decision is taken here.
"""

from typing import TYPE_CHECKING, TypedDict

from fleet.bus.events import STREAM, is_event
from fleet.folds import fold
from fleet.logs import record_at
from fleet.ports import Cache, Store
from fleet.records import Record

if TYPE_CHECKING:
    from datetime import datetime

NEWEST = 8  # events kept of each type
HOURS = 8 * 24  # hours counted back from the newest one
RUNS = 64  # runs counted, those that emitted last
_INLINE = 2048  # characters of a payload up to which the fold holds the record itself


class _Newest(TypedDict):
    """By type, oldest first: number, id, instant, crc, and the body unless it is long."""

    types: dict[str, list[list[object]]]


class _Hours(TypedDict):
    """By UTC hour (`2026-11-30T19`), by type."""

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
    from datetime import UTC, datetime

    folded = fold(store, cache, STREAM, "hours", "1", lambda: _Hours(hours={}), _count_hour)
    since = _hour(datetime.fromtimestamp(wall, UTC))
    hours = folded.state["hours"].items()
    return sum(counts.get(type_name, 0) for hour, counts in hours if hour >= since)


def emitted_by(store: Store, cache: Cache, run: str) -> int:
    """How many events `run` has emitted; 0 once `RUNS` other runs emitted after it."""
    folded = fold(store, cache, STREAM, "runs", "1", lambda: _Runs(runs={}), _count_run)
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
    from datetime import UTC, datetime  # 2 ms that an emit in a run need not pay

    hours, name = state["hours"], str(record.body.get("type"))
    counts = hours.setdefault(_hour(datetime.fromisoformat(record.at).astimezone(UTC)), {})
    counts[name] = counts.get(name, 0) + 1
    while len(hours) > HOURS:
        del hours[min(hours)]


def _hour(moment: "datetime") -> str:
    return f"{moment:%Y-%m-%dT%H}"


def _count_run(state: _Runs, record: Record) -> None:
    run = record.body.get("run")
    if not is_event(record) or not isinstance(run, str):
        return
    runs = state["runs"]
    runs[run] = runs.pop(run, 0) + 1
    while len(runs) > RUNS:
        del runs[next(iter(runs))]
