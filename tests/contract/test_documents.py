"""What every store promises about documents."""

import math
import threading
from typing import Any

import pytest

from clocks import FakeClock
from fleet.errors import Conflict, Rejected, Stale
from fleet.ports import Store
from fleet.records import MAX_DOCUMENT, HeldBy


def test_a_document_comes_back_equal(store: Store) -> None:
    """What was put is got, with its version; before, there is none."""
    body: dict[str, object] = {"lessons": ["ä", {"b": [None, 1.5, True]}], "empty": [], "o": {}}
    assert store.get("memory/outreach") == (None, 0)

    assert store.put("memory/outreach", body, expect=0) == 1

    assert store.get("memory/outreach") == (body, 1)
    assert store.put("memory/outreach", {}, expect=1) == 2
    assert store.get("memory/outreach") == ({}, 2)


def test_only_the_expected_version_is_replaced(store: Store) -> None:
    """Another version than expected is a conflict, and changes nothing."""
    store.put("memory/a", {"n": 1}, expect=0)

    for wrong in (0, 2, 99):
        with pytest.raises(Conflict):
            store.put("memory/a", {"n": 2}, expect=wrong)
    with pytest.raises(Conflict):
        store.put("memory/b", {"n": 2}, expect=1)

    assert store.get("memory/a") == ({"n": 1}, 1)
    assert store.get("memory/b") == (None, 0)


def test_any_version_is_replaced_when_none_is_expected(store: Store) -> None:
    """Whoever has the truth elsewhere replaces what stands there, and versions go on."""
    assert store.put("memory/a", {"n": 1}, expect=None) == 1
    assert store.put("memory/a", {"n": 2}, expect=None) == 2

    assert store.get("memory/a") == ({"n": 2}, 2)


def test_a_body_is_the_callers_own(store: Store) -> None:
    """Changing what was put, or what was got, changes nothing that is stored."""
    body: dict[str, Any] = {"list": [1]}
    store.put("memory/a", body, expect=0)
    body["list"].append(2)
    got: Any = store.get("memory/a")[0]
    got["list"].append(3)

    assert store.get("memory/a")[0] == {"list": [1]}


def test_a_document_has_a_size_limit(store: Store) -> None:
    """256 KiB encoded is the limit; what is over it is refused and nothing changes."""
    store.put("memory/a", {"text": "x" * (MAX_DOCUMENT - 300)}, expect=0)

    with pytest.raises(Rejected):
        store.put("memory/a", {"text": "x" * MAX_DOCUMENT}, expect=1)

    assert store.get("memory/a")[1] == 1


@pytest.mark.parametrize("value", [math.nan, "\ud800", b"bytes"])
def test_what_json_cannot_say_is_refused(store: Store, value: object) -> None:
    """A document is JSON as RFC 8259 means it."""
    with pytest.raises(Rejected):
        store.put("memory/a", {"deep": [value]}, expect=0)

    assert store.get("memory/a") == (None, 0)


def test_names_are_kept_apart(store: Store) -> None:
    """Twins in case, dots, slashes and very long names are documents of their own."""
    long = "x" * 400
    keys = ["m/a", "m/A", "m/../a", "m/.", "m/a/b", "m/a.json", "m/a.json.prev", "m", f"m/{long}"]
    keys += [f"m/{long}y", "m/a b", "m/ä"]
    for n, key in enumerate(keys):
        store.put(key, {"n": n}, expect=0)

    assert [store.get(key)[0] for key in keys] == [{"n": n} for n in range(len(keys))]
    assert store.keys("", "", 99) == sorted(keys)


@pytest.mark.parametrize("key", ["", "/a", "m/", "locks/a", "x" * 2000])
def test_impossible_names_are_refused(store: Store, key: str) -> None:
    """A document needs a name that is not a folder of another kind."""
    with pytest.raises(Rejected):
        store.put(key, {}, expect=0)


def test_documents_are_listed_by_prefix_and_page(store: Store) -> None:
    """`keys` is sorted, begins after a key, and gives at most `limit`."""
    for key in ("claims/lead:b", "claims/lead:a", "claims/doc:a", "cursors/x"):
        store.put(key, {}, expect=0)

    assert store.keys("claims/lead:", "", 9) == ["claims/lead:a", "claims/lead:b"]
    assert store.keys("claims/", "claims/doc:a", 1) == ["claims/lead:a"]
    assert store.keys("c", "claims/lead:b", 9) == ["cursors/x"]
    assert store.keys("nothing/", "", 9) == []


def test_a_guard_holds_for_documents_too(store: Store, clock: FakeClock) -> None:
    """A document is replaced under a guard only while the claim is held, its own included."""
    held = {"holder": "a", "token": 2, "boot": clock.boot, "until_uptime": clock.uptime + 60}
    store.put("claims/k", {**held}, expect=0)

    store.put("memory/a", {"n": 1}, expect=0, guard=HeldBy("k", 2))
    store.put("claims/k", {**held, "note": "x"}, expect=1, guard=HeldBy("k", 2))

    with pytest.raises(Stale):
        store.put("memory/a", {"n": 2}, expect=1, guard=HeldBy("k", 1))
    assert store.get("memory/a") == ({"n": 1}, 1)


def test_a_version_has_one_winner(store: Store) -> None:
    """Eight threads that count up a document by compare-and-set lose no step."""

    def work() -> None:
        for _ in range(20):
            while True:
                body, version = store.get("memory/n")
                count = body["n"] if body else 0
                assert isinstance(count, int)
                try:
                    store.put("memory/n", {"n": count + 1}, expect=version)
                except Conflict:
                    continue
                break

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert store.get("memory/n") == ({"n": 160}, 160)
