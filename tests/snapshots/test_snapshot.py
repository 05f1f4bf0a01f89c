"""A snapshot reads the logs as they stood when each was first looked at, now and ever after."""

import json
from typing import Any

import pytest

from clocks import FakeClock
from fleet import folds
from fleet.errors import NotAllowed
from fleet.folds import SAVE_EVERY, Ahead, Values, fold
from fleet.logs import between, holds, newest, place_before
from fleet.ports import Store, first_kept, read_kept
from fleet.records import Batch, Draft, Instant, Place, Record, Sieve
from fleet.snapshots import Snapshot
from fleet.stores.ram import RamCache, RamStore

Totals = dict[str, int]


@pytest.fixture
def store() -> RamStore:
    """An empty store."""
    return RamStore(FakeClock())


def fill(store: RamStore, count: int, stream: str = "log", kind: str = "a") -> None:
    """More records."""
    store.append(stream, [Draft({"op": "x", "kind": kind}) for _ in range(count)])


def said(store: Store) -> list[object]:
    """Everything that one may learn of a log."""
    evens, all_of_it = Sieve({"kind": frozenset({"b"})}), read_kept(store, "log", 0, 999)
    return [
        store.head("log"), all_of_it, first_kept(store, "log"),
        *(store.read("log", after, limit) for after in (3, 8, 9, 10, 40) for limit in (0, 1, 5)),
        *(read_kept(store, "log", after, 4, sieve=evens) for after in (0, 5, 9, 10, 40)),
        list(between(store, "log", 2, 30)), place_before(store, "log", 9e12),
        newest(store, "log", store.head("log"), 3, lambda _: True),
        store.streams("", "", 99), store.streams("l", "", 99), store.head("other"),
        store.read("other", 0, 9),
    ]  # fmt: skip


def test_what_comes_later_is_not_seen(store: RamStore) -> None:
    """Each way to read says the same after more was written, logs that were made later included."""
    fill(store, 7)
    fill(store, 3, kind="b")
    snapshot = Snapshot(store)
    before = said(snapshot)
    assert before == said(store)

    fill(store, 30, kind="b")
    fill(store, 2, "other")
    fill(store, 2, "later")

    assert said(snapshot) == before
    assert said(Snapshot(store, snapshot.pins)) == before
    assert snapshot.pins == {
        "log": Place(10, store.read("log", 9, 1).records[0].crc),
        "other": Place(0),
    }


def test_a_log_is_pinned_when_it_is_first_touched(store: RamStore) -> None:
    """What comes between the touches of two logs is seen in the second one only."""
    fill(store, 1)
    snapshot = Snapshot(store)
    snapshot.head("log")
    fill(store, 1)
    fill(store, 1, "other")

    assert (snapshot.head("log"), snapshot.head("other")) == (1, 1)


def test_a_snapshot_writes_nothing(store: RamStore) -> None:
    """Every write of the port, waiting and verifying are refused."""
    snapshot = Snapshot(store)
    refused: list[Any] = [
        lambda: snapshot.append("log", [Draft({"op": "x"})]),
        lambda: snapshot.append_gap("log", 9),
        lambda: snapshot.put("memory/a", {}, expect=0),
        lambda: snapshot.trim("log", 1),
        lambda: snapshot.wait({"log": 1}, 0.0),
        snapshot.verify,
    ]

    for write in refused:
        with pytest.raises(NotAllowed, match="a snapshot of the past cannot"):
            write()
    assert store.streams("", "", 9) == store.keys("", "", 9) == []


def test_of_documents_it_has_what_it_was_given(store: RamStore) -> None:
    """A document of the store is not there, one that was given is; the clock stands."""
    store.put("memory/a", {"x": 1}, expect=0)
    given = Snapshot(store, {}, documents={"cursors/a": {"lanes": {}}}, now=Instant(5.0, "", 0.0))

    assert given.get("memory/a") == (None, 0)
    assert given.get("cursors/a") == ({"lanes": {}}, 1)
    assert given.keys("", "", 9) == ["cursors/a"]
    assert given.now().wall == 5.0
    live = Snapshot(store)
    assert live.now() == live.now() == store.now()


def test_one_sync_is_enough(store: RamStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every log that was looked at and holds something is synced once, and none of a past one."""
    fill(store, 1)
    fill(store, 1, "unseen")
    synced: list[str] = []
    monkeypatch.setattr(store, "sync", synced.append)
    snapshot = Snapshot(store)
    snapshot.head("log")
    snapshot.head("empty")

    for _ in range(2):
        snapshot.sync("log")
        snapshot.sync_all()
    Snapshot(store, snapshot.pins).sync_all()

    assert synced == ["log"]


# Folds --------------------------------------------------------------------------------------------


def count(state: Totals, record: Record) -> None:
    """One more of its kind."""
    state[str(record.body["kind"])] = state.get(str(record.body["kind"]), 0) + 1


def value(store: Store, cache: Any) -> Totals:
    """The totals by kind."""
    return fold(store, cache, "log", "totals", "1", dict, count).state


def test_a_value_that_is_ahead_is_no_replaced_log(store: RamStore) -> None:
    """Where another reader has read on: pin again, or compute it apart; his value stays."""
    cache = RamCache()
    fill(store, 100)
    snapshot = Snapshot(store)
    snapshot.head("log")
    fill(store, SAVE_EVERY)
    value(store, cache)
    saved = cache.load("fold/log/totals")

    with pytest.raises(Ahead):
        value(snapshot, Values(cache).pinned())
    assert value(snapshot, Values(cache).apart()) == {"a": 100}
    assert value(Snapshot(store), Values(cache).pinned()) == {"a": 100 + SAVE_EVERY}
    assert cache.load("fold/log/totals") == saved


def test_a_value_in_memory_that_is_ahead(store: RamStore) -> None:
    """The same holds for what this process has counted and not saved."""
    values = Values(RamCache())
    fill(store, 100)
    value(store, values)
    snapshot = Snapshot(store)
    snapshot.head("log")
    fill(store, 1)
    value(store, values)

    with pytest.raises(Ahead):
        value(snapshot, values.pinned())
    assert value(snapshot, values.apart()) == {"a": 100}


def test_a_log_that_was_cut_is_counted_again_in_the_end(store: RamStore) -> None:
    """Values that are not strict take a value beyond the log's end for that of another log."""
    cache = RamCache()
    fill(store, 100)
    value(store, cache)
    shorter = RamStore()
    fill(shorter, 7, kind="c")

    with pytest.raises(Ahead):
        value(Snapshot(shorter), Values(cache).pinned())
    assert value(Snapshot(shorter), Values(cache)) == {"c": 7}
    assert json.loads(cache.load("fold/log/totals") or b"")["seq"] == 7


def test_values_stay_in_memory(store: RamStore) -> None:
    """The second time nothing is loaded, and a value that was handed out never changes."""
    cache = RamCache()
    values = Values(cache)
    fill(store, 100)
    first = value(store, values)
    cache._saved.clear()
    fill(store, 1, kind="b")

    second = value(store, values)

    assert (first, second) == ({"a": 100}, {"a": 100, "b": 1})
    assert value(store, values) is second
    assert cache._saved == {}


def test_the_file_follows_the_memory(store: RamStore) -> None:
    """Many small steps are saved together, so that the next process has little to catch up on."""
    cache = RamCache()
    values = Values(cache)
    fill(store, 10)
    value(store, values)
    for _ in range(SAVE_EVERY):
        fill(store, 1)
        value(store, values)

    assert json.loads(cache.load("fold/log/totals") or b"")["seq"] == 10 + SAVE_EVERY


def test_a_past_value_costs_no_whole_log(store: RamStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that were kept on the way serve a past moment: it reads what lies behind one."""
    monkeypatch.setattr(folds, "STEP", 1000)
    cache = RamCache()
    moments: list[Snapshot] = []
    for _ in range(50):
        fill(store, 100)
        value(store, cache)
        moments.append(Snapshot(store))
        moments[-1].head("log")
    handed: list[int] = []
    read = store.read

    def counted(*args: Any, **named: Any) -> Batch:
        batch = read(*args, **named)
        handed.append(len(batch.records))
        return batch

    monkeypatch.setattr(store, "read", counted)
    for number, moment in enumerate(moments, 1):
        handed.clear()
        past = Snapshot(store, moment.pins)
        assert value(past, Values(cache).apart()) == {"a": 100 * number}
        assert sum(handed) <= 1100


def test_a_trimmed_log_has_one_beginning(store: RamStore) -> None:
    """What is trimmed after the first look changes no value halfway."""
    values = Values(RamCache())
    fill(store, 100)
    snapshot = Snapshot(store)
    assert first_kept(snapshot, "log") == 1
    store.trim("log", 41)

    assert first_kept(snapshot, "log") == 1
    assert value(snapshot, values) == {"a": 60}
    assert value(Snapshot(store), values) == {"a": 60}
    assert not holds(snapshot, "log", Place(101, "x"))
