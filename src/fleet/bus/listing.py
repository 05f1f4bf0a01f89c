"""Events for people and for `fleet events`: by number, time, type and content.

Nothing is consumed here, and no lane is looked at.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

from fleet.bus.events import STREAM, is_event, is_gone
from fleet.logs import between, newest, place_before
from fleet.ports import Store
from fleet.records import Record, Sieve, wall_of


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events: of type `type` (None: all), with `where`'s fields, stamped in [since, until].

    Only below number `before`, when it is given, and none of the numbers in `without`. `where`
    compares text: a value that is no text is compared as JSON (`true`, `12`).
    """

    type: str | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    since: float | None = None
    until: float | None = None
    before: int | None = None
    without: frozenset[int] = frozenset()

    def has(self, record: Record) -> bool:
        """Whether the record is such an event."""
        payload = record.body.get("payload")
        fields = payload if isinstance(payload, dict) else {}
        return (
            is_event(record)
            and not is_gone(record, self.without)
            and (self.before is None or record.seq < self.before)
            and self.type in {None, record.body.get("type")}
            and all(k in fields and _text(fields[k]) == v for k, v in self.where.items())
            and self._in_time(record)
        )

    def _in_time(self, record: Record) -> bool:
        if self.since is None and self.until is None:
            return True
        at = wall_of(record.at)
        return (self.since or 0.0) <= at and (self.until is None or at <= self.until)

    @property
    def sieve(self) -> Sieve | None:
        """The part of it that can be tested before a line is parsed."""
        return Sieve({"type": frozenset({self.type})}) if self.type else None


def listed(store: Store, wanted: Wanted, *, after: int | None, limit: int) -> list[Record]:
    """Events in the order of the log, at most `limit`.

    With `after` or `wanted.since` the oldest ones from there, so that one can page on; with
    neither the newest. Times are for people: where the clock was stepped back, an event next to
    the step may be missed.
    """
    upper = store.head(STREAM)
    if wanted.until is not None:
        upper = place_before(store, STREAM, wanted.until + 0.001).seq
    if wanted.before is not None:
        upper = min(upper, wanted.before - 1)
    if after is None and wanted.since is None:
        return newest(store, STREAM, upper, limit, wanted.has, wanted.sieve)
    lower = after or 0
    if wanted.since is not None:
        lower = max(lower, place_before(store, STREAM, wanted.since).seq)
    found = between(store, STREAM, lower, upper, sieve=wanted.sieve)
    return list(islice(filter(wanted.has, found), limit))


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
