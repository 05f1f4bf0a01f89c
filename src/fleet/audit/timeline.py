"""All logs merged in time: what happened, in which order, with the reference of each.

Found by bisection over the times of each log, never by reading what lies before. In one log the
order is by number, whatever its clock said.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

from fleet.audit.said import author_of, streams
from fleet.logs import between, place_before, record_at
from fleet.records import Record, wall_of

if TYPE_CHECKING:
    from fleet.audit.index import Index
    from fleet.ports import Store
    from fleet.runs import Run
    from fleet.wiring import Fleet

FLEETS_OWN = ("agent:", "run:", "cap:")  # claims that stand for a run, which has lines of its own
HOURS = (
    3,
    24,
    4 * 24,
    24 * 24,
    144 * 24,
    864 * 24,
)  # looked back for the newest, one after another
ENOUGH = 8_000  # records looked at, after which it looks no further back
TICK = 0.001  # seconds; instants have milliseconds


class Asked(NamedTuple):
    """Which records a timeline shows.

    Attributes:
        names: what an agent of these names wrote, what was done to it, what it is told by name;
            () for everybody's.
        since: not before (epoch seconds); with it the oldest come first, from there.
        until: not after (epoch seconds).
        after: only what follows this record.
        before: only what precedes this record.
    """

    names: Sequence[str] = ()
    since: float | None = None
    until: float | None = None
    after: Record | None = None
    before: Record | None = None

    @property
    def forward(self) -> bool:
        """Whether it begins at a place in time, and not at the newest."""
        return self.since is not None or self.after is not None


def timeline(fleet: "Fleet", asked: Asked, limit: int) -> list[Record]:
    """At most `limit` records in the order of time: the first ones from a place, else the last."""
    store = fleet.store
    until = asked.until if asked.before is None else wall_of(asked.before.at)
    if asked.forward:
        since = asked.since if asked.after is None else wall_of(asked.after.at)
        records = _past(_between(store, since, until), asked.after)
        return list(islice(_wanted(records, asked), limit))
    return _newest(store, asked, until, limit)


def fresh(
    fleet: "Fleet", places: Mapping[str, int], heads: Mapping[str, int], asked: Asked
) -> Iterator[Record]:
    """What came between `places` and `heads`, a number for each log, in the order of time."""
    logs = (between(fleet.store, name, places.get(name, 0), heads[name]) for name in heads)
    return _wanted(merge(*logs, key=_instant), asked)


def of_run(fleet: "Fleet", index: "Index", run: "Run") -> list[Record]:
    """What the run did and what was recorded of it, in the order of time."""
    wrote = {(stream, seq) for stream, seq, _ in index.written_by(run.id)}
    records = [record_at(fleet.store, stream, seq) for stream, seq in sorted(wrote)]
    log = f"runs/{run.agent}"
    for span in index.runs(run.id, 1):
        around = between(fleet.store, log, span.first - 1, span.last)
        records += [
            record
            for record in around
            if record.body.get("run") == run.id and (log, record.seq) not in wrote
        ]
    return sorted((r for r in records if r and _tells(r)), key=lambda r: (r.at, r.stream, r.seq))


def _newest(store: "Store", asked: Asked, until: float | None, limit: int) -> list[Record]:
    found: list[Record] = []
    end = store.now().wall if until is None else until
    for hours in HOURS:
        seen = _Counted(_between(store, end - hours * 3600, until))
        records = takewhile(lambda record: not _same(record, asked.before), seen)
        found = list(deque(_wanted(records, asked), limit))
        if len(found) == limit or seen.count > ENOUGH:
            break
    return found


class _Counted:
    """An iterator that knows how many it gave."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = iter(records)
        self.count = 0

    def __iter__(self) -> "Iterator[Record]":
        return self

    def __next__(self) -> Record:
        record = next(self._records)
        self.count += 1
        return record


def _between(store: "Store", since: float | None, until: float | None) -> Iterator[Record]:
    """The records of every log stamped in [since, until], merged by time."""
    logs = []
    for name in streams(store):
        lower = place_before(store, name, since).seq if since is not None else 0
        upper = store.head(name)
        if until is not None:
            upper = place_before(store, name, until + TICK).seq
        if upper > lower:
            logs.append(between(store, name, lower, upper))
    return merge(*logs, key=_instant)


def _past(records: Iterable[Record], after: Record | None) -> Iterator[Record]:
    """The records behind `after`; those of a later instant when it is not among them."""
    passed = after is None
    for record in records:
        if passed or (after and record.at > after.at):
            yield record
        else:
            passed = _same(record, after)


def _wanted(records: Iterable[Record], asked: Asked) -> Iterator[Record]:
    return (record for record in records if _tells(record) and _concerns(record, asked.names))


def _tells(record: Record) -> bool:
    """Whether a line about it says more than another one: starts and ends have lines of a run."""
    kind, body = record.stream.partition("/")[0], record.body
    if kind == "claims-log":
        return not str(body.get("claim")).startswith(FLEETS_OWN)
    if kind in {"later", "questions"}:  # that it became an event, the event says
        return body.get("op") not in {"delivered", "told"}
    return kind != "fires" or body.get("result") != "started"


def _concerns(record: Record, names: Sequence[str]) -> bool:
    if not names:
        return True
    name, body = record.stream.partition("/")[2], record.body
    told = body.get("tell")
    whose = (author_of(record), body.get("to_agent"), body.get("author"), body.get("agent"), name)
    about = (*whose, *name.split("+"), *(told if isinstance(told, list) else ()))
    return any(one in about for one in names)


def _same(record: Record, other: Record | None) -> bool:
    return other is not None and (record.stream, record.seq) == (other.stream, other.seq)


def _instant(record: Record) -> str:
    return record.at
