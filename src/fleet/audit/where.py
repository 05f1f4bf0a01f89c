"""Events by the values of their payload, asked of the index: what a scan of years would give.

The index narrows, the event's own test decides; where the index is far behind, nothing is answered.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from fleet.audit.index import Index, words
from fleet.bus.listing import Wanted
from fleet.logs import record_at
from fleet.records import Record
from fleet.retractions import Retractions

if TYPE_CHECKING:
    from fleet.wiring import Fleet

STREAM = "events"
FEW = 20_000  # records that are taken in for one question: a second
PAGE = 200


def events(
    fleet: "Fleet",
    index: Index,
    *,
    where: Mapping[str, str],
    after: int | None = None,
    since: float | None = None,
    until: float | None = None,
    before: int | None = None,
    type: str | None = None,  # noqa: A002 - the event's own word
    limit: int = 50,
    retracted: bool = False,
) -> list[Record] | None:
    """As `Bus.events` of everybody; None when the index cannot help, and the log has to be read."""
    parts = [part for pair in where.items() for part in _told_apart(*pair)]
    if not parts or index.behind() > FEW:
        return None
    gone = Retractions(fleet.store, fleet.cache).of(STREAM)
    wanted = Wanted(type, where, since, until, before, frozenset() if retracted else gone)
    text = " ".join(parts)
    asked = words.Wanted(text=text, word=type, streams=(STREAM,), since=since, until=until)
    if after is None and since is None:
        fitting = filter(wanted.has, _newest(fleet, index, asked, before))
        return list(islice(fitting, limit))[::-1]
    fitting = filter(wanted.has, _oldest(fleet, index, asked, after or 0))
    return list(islice(fitting, limit))


def _told_apart(name: str, value: str) -> tuple[str, ...]:
    """The words that an event with such a value holds: of a list or an object, its name."""
    known = (name,) if value[:1] in {"[", "{"} else (name, value)
    return known if any(sign.isalnum() for part in known for sign in part) else ()


def _newest(
    fleet: "Fleet", index: Index, asked: words.Wanted, before: int | None
) -> Iterator[Record]:
    row = _row(fleet, index, before)
    while page := index.candidates(asked, PAGE, before=row):
        yield from _records(fleet, page)
        row = page[-1][0]


def _oldest(fleet: "Fleet", index: Index, asked: words.Wanted, after: int) -> Iterator[Record]:
    row = _row(fleet, index, after) or 0
    while page := index.candidates(asked, PAGE, after=row):
        yield from (record for record in _records(fleet, page) if record.seq > after)
        row = page[-1][0]


def _row(fleet: "Fleet", index: Index, seq: int | None) -> int | None:
    record = record_at(fleet.store, STREAM, seq) if seq else None
    return index.row_of(record) if record else None


def _records(fleet: "Fleet", page: list[tuple[int, str, int]]) -> Iterator[Record]:
    found = (record_at(fleet.store, STREAM, seq) for _, _, seq in page)
    return (record for record in found if record is not None)
