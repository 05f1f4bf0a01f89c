"""What every store promises to whoever asks again and again whether anything was written."""

import os
from pathlib import Path
from typing import cast

import pytest

from contract.engines import Engine
from fleet.ports import Pulse, Store
from fleet.records import Draft

WRITES = {
    "a record of a log": ("events", lambda store: store.append("events", [Draft({"n": 1})])),
    "a record of a log among others": (
        "channels",
        lambda store: store.append("channels/new", [Draft({"n": 1})]),
    ),
    "a document": ("claims", lambda store: store.put("claims/lead:a", {"n": 1}, expect=None)),
    "a document among others": (
        "control",
        lambda store: store.put("control/outreach", {"n": 2}, expect=None),
    ),
}


@pytest.fixture
def written(store: Store) -> Store:
    """A store that has something of each kind."""
    store.append("events", [Draft({"n": 0})])
    store.append("channels/strategy", [Draft({"n": 0})])
    store.put("claims/lead:b", {"n": 0}, expect=0)
    store.put("control/outreach", {"n": 0}, expect=0)
    return store


@pytest.mark.parametrize("what", WRITES)
def test_a_write_changes_the_stamp_of_its_kind(written: Store, what: str) -> None:
    """A reader that compares stamps hears of every write, of documents and of new logs too."""
    kind, write = WRITES[what]
    pulse = cast("Pulse", written)
    for _ in range(20):  # within one tick of a file system's clock too
        before = pulse.stamps()
        write(written)

        assert pulse.stamps()[kind] != before[kind]


def test_a_quiet_store_keeps_its_stamps(engine: Engine, tmp_path: Path) -> None:
    """Where nothing is written nothing changes, so that nothing is read for nothing."""
    store = engine.open(tmp_path)
    store.append("channels/strategy", [Draft({"n": 0})])
    store.put("claims/lead:b", {"n": 0}, expect=0)
    for path in (tmp_path, *tmp_path.rglob("*")):  # as they are a minute later
        old = path.stat().st_mtime - 60
        os.utime(path, (old, old))
    pulse = cast("Pulse", store)

    first = pulse.stamps()

    assert {"channels", "claims"} <= set(first)
    assert [pulse.stamps() for _ in range(3)] == [first] * 3


def test_another_process_is_heard(shared: Engine, tmp_path: Path) -> None:
    """What another opener of the same store writes changes the stamps here."""
    mine, other = shared.open(tmp_path), shared.open(tmp_path)
    mine.append("events", [Draft({"n": 0})])
    before = cast("Pulse", mine).stamps()

    other.append("runs/outreach", [Draft({"n": 1})])
    other.append("events", [Draft({"n": 1})])

    after = cast("Pulse", mine).stamps()
    assert after["events"] != before["events"]
    assert "runs" in after
