"""What every store does with secrets: none is kept, and none becomes a name."""

from pathlib import Path
from typing import Any

import pytest

from clocks import FakeClock
from fleet.errors import Rejected
from fleet.ports import Store
from fleet.records import Body, Draft, HeldBy, NotHeldByOther
from fleet.stores.files import FilesStore
from fleet.stores.ram import RamStore

KEY = "sk-ant-api03-abcDEF1234567890"
MASK = "[masked:anthropic-key]"
SAID: Body = {
    "text": f"use {KEY}",
    "payload": {"config": {"API_KEY": "plainwords", "maxTokens": 4096}, "list": [KEY]},
}
KEPT: Body = {
    "text": f"use {MASK}",
    "payload": {"config": {"API_KEY": "[masked:api-key]", "maxTokens": 4096}, "list": [MASK]},
}


def test_a_record_is_kept_masked(store: Store) -> None:
    """What append answers, what read gives and what is compared is the masked body."""
    (record,) = store.append("events", [Draft(SAID)])

    assert record.body == KEPT
    assert store.read("events", 0, 9).records == (record,)
    assert "API_KEY" in str(SAID)
    assert KEY in str(SAID)


def test_a_document_is_kept_masked(store: Store) -> None:
    """What get gives is the masked body."""
    store.put("memory/a", SAID, expect=0)

    assert store.get("memory/a") == (KEPT, 1)


def test_a_repetition_is_compared_masked(store: Store) -> None:
    """The same id with the same secret, or with its mask, is one record; with another text not."""
    (first,) = store.append("events", [Draft(SAID, key="K")])

    assert store.append("events", [Draft(SAID, key="K"), Draft(KEPT, key="K")]) == [first, first]
    assert store.append("events", [Draft(SAID, key="K", same=("payload",))]) == [first]
    with pytest.raises(Rejected):
        store.append("events", [Draft({**SAID, "text": "other"}, key="K")])


@pytest.mark.parametrize("name", [KEY, f"lead:{KEY}", "login:https://me:hunter2@example.com"])
def test_a_name_that_holds_a_secret_is_refused(store: Store, name: str) -> None:
    """An id, a log's and a document's name must be found by their bytes: they are not masked."""
    refused = [
        lambda: store.append("events", [Draft({"n": 1}), Draft({"n": 2}, key=name)]),
        lambda: store.append(f"channels/{name}", [Draft({"n": 1})]),
        lambda: store.put(f"claims/{name}", {"n": 1}, expect=0),
    ]

    for write in refused:
        with pytest.raises(Rejected, match="holds a secret") as error:
            write()
        assert KEY not in str(error.value)
        assert "hunter2" not in str(error.value)
    assert (store.head("events"), store.streams("", "", 9), store.keys("", "", 9)) == (0, [], [])


def test_what_a_guard_decides_stays_as_it_is(store: Store, clock: FakeClock) -> None:
    """Fencing tokens are numbers, holders are names: a claim's document is kept unchanged."""
    claim: Body = {"holder": "a", "token": 2, "boot": clock.boot, "until_uptime": clock.uptime + 60}
    store.put("claims/api_key:rotate", claim, expect=0)

    assert store.get("claims/api_key:rotate")[0] == claim
    guards = HeldBy("api_key:rotate", 2), NotHeldByOther("api_key:rotate", "a")
    assert [store.append("events", [Draft({})], guard=guard)[0].seq for guard in guards] == [1, 2]


@pytest.mark.parametrize("kind", ["ram", "files"])
def test_a_store_masks_the_values_it_was_told(tmp_path: Path, kind: str) -> None:
    """Values of the caller's own secret variables are masked whatever they look like."""
    told: dict[str, Any] = {"secrets": ("horse battery",)}
    store: Store = RamStore(**told) if kind == "ram" else FilesStore(tmp_path / "state", **told)

    (record,) = store.append("events", [Draft({"text": "my horse battery staple"})])

    assert record.body == {"text": "my [masked:environment] staple"}
    with pytest.raises(Rejected, match="holds a secret"):
        store.append("events", [Draft({}, key="horse battery")])
