from fleet.alerts import raise_alert, recent
from fleet.records import Record
from fleet.stores.ram import RamStore


def _raise(store: RamStore, subject: str, key: str | None = None) -> Record:
    return raise_alert(store, kind="loop", subject=subject, what="w", done="d", fix="f", key=key)


def test_the_same_key_is_one_alert() -> None:
    """An alert with a key exists once however often it is raised, and others beside it."""
    store = RamStore()

    first, again = _raise(store, "a", "k"), _raise(store, "a", "k")
    _raise(store, "a")

    assert first.seq == again.seq
    assert [record.body["subject"] for record in recent(store, 10)] == ["a", "a"]


def test_recent_alerts_are_the_newest() -> None:
    """`recent` gives the last ones, oldest first."""
    store = RamStore()
    for number in range(30):
        _raise(store, str(number))

    assert [record.body["subject"] for record in recent(store, 3)] == ["27", "28", "29"]
