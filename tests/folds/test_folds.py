import json
from typing import Any

import pytest

from fleet.folds import SAVE_EVERY, Folded, fold
from fleet.records import Draft, Record
from fleet.stores.ram import RamCache, RamStore

Totals = dict[str, int]


def _count(state: Totals, record: Record) -> None:
    state[str(record.body["kind"])] = state.get(str(record.body["kind"]), 0) + 1


class Counted(RamStore):
    """A store that says how many records it handed out."""

    handed = 0
    synced = 0

    def read(self, *args: Any, **named: Any) -> Any:
        """Count what is handed out."""
        batch = super().read(*args, **named)
        self.handed += len(batch.records)
        return batch

    def sync(self, stream: str) -> None:
        """Count the call."""
        self.synced += 1


def _value(store: RamStore, cache: RamCache, version: str = "1") -> Folded[Totals]:
    return fold(store, cache, "log", "totals", version, dict, _count)


def _fill(store: RamStore, count: int, kind: str = "a") -> None:
    store.append("log", [Draft({"op": "x", "kind": kind}) for _ in range(count)])


def test_reading_costs_what_is_new() -> None:
    """A fold over 5,000 records reads a handful when one was added since."""
    store, cache = Counted(), RamCache()
    _fill(store, 5000)
    _value(store, cache)
    store.handed = 0

    _fill(store, 1, "b")

    assert _value(store, cache).state == {"a": 5000, "b": 1}
    assert store.handed < 10


@pytest.mark.parametrize(
    "damage",
    [
        None,
        b"",
        b"\xff\x00",
        b"{",
        b"[]",
        b"null",
        b"7",
        b'{"version":"1","first":1}',
        b'{"version":"1","first":1,"seq":"x","crc":"","state":{}}',
        b'{"version":"0","first":1,"seq":2,"crc":"","state":{"a":99}}',
    ],
)
def test_a_lost_cache_comes_back_equal(damage: bytes | None) -> None:
    """Deleted, damaged or older caches change no value."""
    store, cache = RamStore(), RamCache()
    _fill(store, 200)
    before = _value(store, cache)

    if damage is None:
        cache._saved.clear()
    else:
        cache._saved["fold/log/totals"] = damage

    assert _value(store, cache) == before


def test_a_replaced_log_is_folded_anew() -> None:
    """A log with another record at the fold's place, or none, gives its own value."""
    store, cache = RamStore(), RamCache()
    _fill(store, 100)
    _value(store, cache)

    other, shorter = RamStore(), RamStore()
    _fill(other, 150, "b")
    _fill(shorter, 7, "c")

    assert _value(other, cache).state == {"b": 150}
    assert _value(shorter, cache).state == {"c": 7}


def test_a_trimmed_log_counts_from_its_first_kept_record() -> None:
    """Trimming changes the value the same way with the cache and without it."""
    store, cache = RamStore(), RamCache()
    _fill(store, 100)
    _value(store, cache)

    store.trim("log", 41)

    assert _value(store, cache).state == {"a": 60}
    assert _value(store, RamCache()) == _value(store, cache)


def test_gap_records_are_no_operations() -> None:
    """The mark of a continued log reaches no step, and the numbers go on after it."""
    store, cache = RamStore(), RamCache()
    _fill(store, 2)
    store.append_gap("log", 50)
    _fill(store, 1)

    value = _value(store, cache)

    assert value.state == {"a": 3}
    assert (value.seq, value.crc) == (52, store.read("log", 51, 1).records[0].crc)


def test_a_cache_is_saved_synced_and_rarely() -> None:
    """A cold value is saved once, then only after `SAVE_EVERY` records, each time after a sync."""
    store, cache = Counted(), RamCache()
    _fill(store, 1)
    _value(store, cache)
    assert json.loads(cache._saved["fold/log/totals"])["seq"] == 1
    assert store.synced == 1

    _fill(store, SAVE_EVERY - 1)
    _value(store, cache)
    assert store.synced == 1

    _fill(store, 1)
    _value(store, cache)
    assert json.loads(cache._saved["fold/log/totals"])["seq"] == SAVE_EVERY + 1
    assert store.synced == 2


def test_an_empty_log_is_the_initial_state() -> None:
    """Nothing is read and nothing saved for a log that does not exist."""
    store, cache = RamStore(), RamCache()

    assert _value(store, cache) == Folded({}, 0, "")
    assert not cache._saved


def test_a_lost_value_costs_what_still_matters() -> None:
    """With `since` a fold without a cache begins there, and one with a cache goes on as it was."""
    store, cache = Counted(), RamCache()
    _fill(store, 5000)

    def value(cache: RamCache) -> Totals:
        since = store.head("log") - 100
        return fold(store, cache, "log", "totals", "1", dict, _count, since=lambda: since).state

    assert value(cache) == {"a": 100}
    assert store.handed < 200
    _fill(store, 70, "b")
    assert value(cache) == {"a": 100, "b": 70}, "its cache knows them all"
    assert value(RamCache()) == {"a": 30, "b": 70}
