"""What any record says, in one shape: who, which word, which text. It reads and judges nothing.

A log that another part adds gets its line in `SHAPES`, and is then found, timed and explained.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fleet.ports import Store
from fleet.records import Record, wall_of
from fleet.strictjson import dumps

PAGE = 500


class Shape(NamedTuple):
    """Where the records of a log say who and what.

    Attributes:
        author: the names in the body that say whose record it is, the first one given counts.
        texts: the names whose texts people look for and read.
    """

    author: tuple[str, ...]
    texts: tuple[str, ...]


SHAPES = {
    "events": Shape(("from_agent",), ("payload",)),
    "channels": Shape(("from_agent",), ("text", "kind")),
    "runs": Shape(("agent",), ("text", "next", "outcome", "reason")),
    "fires": Shape(("agent",), ("result", "detail")),
    "claims-log": Shape(("holder",), ("claim", "note")),
    "alerts": Shape(("by", "subject"), ("what", "done", "fix", "ref")),
    "deadletters": Shape(("agent",), ("event",)),
    "metrics": Shape(("from_agent",), ("subject", "name", "value")),
    "memory-log": Shape(("from_agent",), ("text", "finding", "source", "target", "reason")),
    "retractions": Shape(("by",), ("target", "reason")),
    "questions": Shape(("from_agent",), ("text", "options", "option", "note", "event")),
    "later": Shape(("from_agent",), ("type", "payload", "due", "event", "why")),
}
"""By the first part of a log's name; a log of another kind is not part of the audit."""

REPORT = "report"
NOBODYS = frozenset({"fires", "retractions"})  # their `run` is not the run that wrote them


class Said(NamedTuple):
    """What a record says.

    Attributes:
        author: whose it is, "" when it does not say.
        word: an event's type, else its operation.
        text: its texts, one after another: data of its author.
        run: the run that wrote it, "" for a person's or fleet's own.
    """

    author: str
    word: str
    text: str
    run: str


def said(record: Record) -> Said:
    """What `record` says; of a body in another shape as much as is there."""
    kind, body = record.stream.partition("/")[0], record.body
    shape = SHAPES[kind]
    word = body.get("type") if kind == "events" else body.get("op")
    text = " ".join(leaf for name in shape.texts for leaf in _leaves(body.get(name)))
    run = body.get("run")
    wrote = isinstance(run, str) and kind not in NOBODYS and _by_run(kind, str(word))
    return Said(author_of(record), str(word or body.get("op")), text, str(run) if wrote else "")


def author_of(record: Record) -> str:
    """Whose record it is, "" when it does not say."""
    shape = SHAPES[record.stream.partition("/")[0]]
    return next((str(record.body[name]) for name in shape.author if record.body.get(name)), "")


def _by_run(kind: str, word: str) -> bool:
    """Of a run's own log only the report is the run's: its beginning and end are fleet's."""
    return kind != "runs" or word == REPORT


def _leaves(value: object, name: str = "") -> Iterator[str]:
    """Every text, number and word in `value`, those of an object as `name=value`."""
    if isinstance(value, str):
        yield f"{name}={value}" if name else value
    elif isinstance(value, Mapping | Sequence):
        if name:
            yield name
        pairs = value.items() if isinstance(value, Mapping) else (("", one) for one in value)
        for key, one in pairs:
            yield from _leaves(one, str(key))
    elif name or value is not None:
        text = dumps(value)
        yield f"{name}={text}" if name else text


def millis(record: Record) -> int:
    """When it was accepted, in milliseconds since the epoch; 0 when it does not say."""
    try:
        return int(wall_of(record.at) * 1000)
    except ValueError:
        return 0


def streams(store: Store) -> list[str]:
    """Every log of the audit that there is, sorted."""
    found: list[str] = []
    while page := store.streams("", found[-1] if found else "", PAGE):
        found += page
    return [name for name in found if name.partition("/")[0] in SHAPES]
