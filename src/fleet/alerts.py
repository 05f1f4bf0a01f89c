"""What needs a person: the log `alerts`; this module keeps alerts, it does not deliver them."""

from collections.abc import Iterable

from fleet.ports import Store, read_kept
from fleet.records import Body, Draft, Record

STREAM = "alerts"


def raise_alert(
    store: Store, *, kind: str, subject: str, what: str, done: str, fix: str, key: str | None = None
) -> Record:
    """Add an alert and return it as stored.

    Args:
        store: where the log is.
        kind: one word for its sort, such as `replaced-log`, `dead-letter` or `loop`.
        subject: the name or reference it is about.
        what: one sentence, what happened.
        done: what fleet did about it by itself.
        fix: what a person should do, "" when nothing.
        key: makes it one alert however often it is raised; at most `MAX_KEY` bytes.
    """
    body: Body = {
        "op": "alert",
        "kind": kind,
        "subject": subject,
        "what": what,
        "done": done,
        "fix": fix,
    }
    return store.append(STREAM, [Draft(body, key=key, same=("op", "kind", "subject"))])[0]


def recent(store: Store, limit: int) -> list[Record]:
    """The newest `limit` alerts, oldest first."""
    after = max(0, store.head(STREAM) - limit)
    return list(_alerts(read_kept(store, STREAM, after, limit).records))


def _alerts(records: Iterable[Record]) -> Iterable[Record]:
    return (record for record in records if record.body.get("op") == "alert")
