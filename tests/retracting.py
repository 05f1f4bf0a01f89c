"""Takes records back as `fleet retract` does, for tests of those who read."""

from fleet.ports import Cache, Store
from fleet.records import Record
from fleet.retractions import Retractions, Target


def target_of(record: Record, **tell: str) -> Target:
    """The record as something to take back; `tell` is by agent the run that was shown it."""
    word = str(record.body.get("type") or record.body.get("op"))
    return Target(
        record.ref,
        record.stream,
        record.seq,
        None,
        {"post": "message"}.get(word, word),
        str(record.body.get("from_agent")),
        record.at,
        tell,
    )


def take_back(store: Store, cache: Cache, *records: Record, reason: str = "wrong page") -> None:
    """Retract `records`; nobody is told."""
    targets = [target_of(record) for record in records]
    Retractions(store, cache).retract(targets, by="operator", reason=reason)
