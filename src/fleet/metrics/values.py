"""The newest value of each metric of each subject, and the newest one up to its horizon: a fold.

The log keeps every value; here stands which of them count. Nothing is compared or averaged.
"""

import math
from collections.abc import Collection
from typing import NamedTuple, TypedDict
from zlib import crc32

from fleet.folds import fold
from fleet.ports import Cache, Store
from fleet.records import Record, ref_of, wall_of

STREAM = "metrics"
KEPT = 800  # subjects, those that were recorded last
NAMES = 12  # metrics of one subject, those that were recorded first


class Measured(NamedTuple):
    """One recorded value.

    Attributes:
        wall: when it was measured, epoch seconds.
        seq: its record's number.
        value: a finite number.
    """

    wall: float
    seq: int
    value: float

    @property
    def ref(self) -> str:
        """`metrics#5`."""
        return ref_of(STREAM, self.seq)


class Row(NamedTuple):
    """One metric of one subject: its newest value, and its newest one up to the horizon."""

    newest: Measured
    then: Measured | None


_Triple = list[float]  # wall, seq, value


class _Kept(TypedDict):
    """A `Row` as JSON."""

    newest: _Triple
    then: _Triple | None


class _State(TypedDict):
    """By subject, the one recorded last at the end, by metric."""

    rows: dict[str, dict[str, _Kept]]


def values(
    store: Store, cache: Cache, horizon: float, retracted: Collection[int]
) -> dict[str, dict[str, Row]]:
    """By subject and metric what counts, the subject that was recorded last at the end.

    Args:
        store: where the log is.
        cache: where the fold is kept, one for each horizon.
        horizon: seconds after the announcement up to which a value may be `then`; a value
            from before the announcement may be it, too.
        retracted: numbers of records that do not count.
    """

    def step(state: _State, record: Record) -> None:
        if record.seq not in retracted:
            _step(state, record, horizon)

    version = f"1/{crc32(repr(sorted(retracted)).encode()):08x}"  # another set, another value
    fold_name = f"values-{horizon:g}"
    folded = fold(store, cache, STREAM, fold_name, version, lambda: _State(rows={}), step)
    return {
        subject: {name: _row(kept) for name, kept in metrics.items()}
        for subject, metrics in folded.state["rows"].items()
    }


def is_metric(record: Record) -> bool:
    """Whether the record is a number, and not a mark of fleet's own or a newer operation."""
    return record.body.get("op") == "metric" and isinstance(record.body.get("value"), (int, float))


def _step(state: _State, record: Record, horizon: float) -> None:
    if not is_metric(record):
        return
    body, rows = record.body, state["rows"]
    subject, name, announced = str(body["subject"]), str(body["name"]), body.get("announced")
    metrics = rows[subject] = rows.pop(subject, {})
    while len(rows) > KEPT:
        del rows[next(iter(rows))]
    if name not in metrics and len(metrics) >= NAMES:
        return
    new = [wall_of(str(body["measured"])), record.seq, float(str(body["value"]))]
    until = wall_of(announced) + horizon if isinstance(announced, str) else math.inf
    kept = metrics.setdefault(name, {"newest": new, "then": None})
    kept["newest"] = max(kept["newest"], new)
    if new[0] <= until:
        kept["then"] = max(kept["then"] or new, new)


def _row(kept: _Kept) -> Row:
    then = kept["then"]
    return Row(_measured(kept["newest"]), _measured(then) if then else None)


def _measured(row: _Triple) -> Measured:
    return Measured(row[0], int(row[1]), row[2])
