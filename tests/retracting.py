"""Takes records back as `fleet retract` does, for tests of those who read."""

from fleet.ports import Cache, Store
from fleet.records import Record
from fleet.retractions import Retractions, Target


def take_back(store: Store, cache: Cache, *records: Record, reason: str = "wrong page") -> None:
    """Retract `records`; nobody is told."""
    targets = [
        Target(
            one.ref,
            one.stream,
            one.seq,
            None,
            str(one.body.get("type") or one.body.get("op")),
            str(one.body.get("from_agent")),
            one.at,
            {},
        )
        for one in records
    ]
    Retractions(store, cache).retract(targets, by="operator", reason=reason)
