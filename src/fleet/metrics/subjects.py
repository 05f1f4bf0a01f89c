"""Which event announced a subject, by whom and when: a fold over the events; it knows no values.

An event announces what its body calls `subject` (see `x-subject` in schemas/README.md). The first
announcement of a subject that was not retracted counts. Of each agent the newest `KEPT` subjects
are at hand: older ones are as if nobody had announced them.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple, TypedDict

from fleet.folds import fold
from fleet.ports import Cache, Store
from fleet.records import Record, ref_of

EVENTS = "events"
KEPT = 40  # subjects of each agent
AGAIN = 3  # announcements of one subject that are kept, should the first be retracted
FIELDS = 12  # fields of a payload that are kept: its scalars, in their order
LONGEST = 120  # characters of a field that is kept

Value = str | int | float | bool


class Announced(NamedTuple):
    """A subject as it was announced.

    Attributes:
        subject: what numbers are recorded of.
        ref: the event, `events#97`.
        agent: who emitted it.
        at: when, RFC 3339.
        type: the event's type.
        fields: the payload's scalars, long texts cut.
    """

    subject: str
    ref: str
    agent: str
    at: str
    type: str
    fields: Mapping[str, Value]


class _State(TypedDict):
    """By subject its announcements (seq, agent, at, type, fields); by who was first, subjects."""

    rows: dict[str, list[list[object]]]
    order: dict[str, list[str]]


def announced(store: Store, cache: Cache, retracted: Collection[int]) -> dict[str, Announced]:
    """By subject who announced it, the oldest first; `retracted` are numbers of events."""
    folded = fold(store, cache, EVENTS, "subjects", "1", lambda: _State(rows={}, order={}), _step)
    firsts = [
        (int(str(row[0])), subject, row)
        for subject, rows in folded.state["rows"].items()
        for row in [row for row in rows if row[0] not in retracted][:1]
    ]
    return {subject: _announced(subject, row) for _, subject, row in sorted(firsts)}


def _step(state: _State, record: Record) -> None:
    body = record.body
    subject = body.get("subject")
    if not isinstance(subject, str) or body.get("op") != "event" or body.get("again"):
        return  # what was given to an agent again was announced before
    agent, kind = str(body.get("from_agent")), str(body.get("type"))
    rows = state["rows"].setdefault(subject, [])
    if len(rows) < AGAIN:
        rows.append([record.seq, agent, record.at, kind, _scalars(body.get("payload"))])
    if len(rows) > 1:
        return
    names = state["order"].setdefault(agent, [])
    names.append(subject)
    for old in names[:-KEPT]:
        del state["rows"][old]
    del names[:-KEPT]


def _scalars(payload: object) -> dict[str, Value]:
    pairs = payload.items() if isinstance(payload, dict) else ()
    kept = [(name, value) for name, value in pairs if isinstance(value, Value)]
    return {name: _cut(value) for name, value in kept[:FIELDS] if len(name) <= LONGEST}


def _cut(value: Value) -> Value:
    return value[:LONGEST] if isinstance(value, str) else value


def _announced(subject: str, row: list[object]) -> Announced:
    seq, agent, at, kind, fields = row
    known = fields if isinstance(fields, dict) else {}
    return Announced(subject, ref_of(EVENTS, int(str(seq))), str(agent), str(at), str(kind), known)
