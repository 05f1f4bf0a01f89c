"""P9: no number of a log is given twice, also where no reader had noted how far it came."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.records import Draft
from fleet.stores.files import FilesStore


def emptied(log: Path) -> None:
    """`: > log`."""
    log.write_bytes(b"")


def without_its_last_line(log: Path) -> None:
    """One line is gone."""
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))


def removed(log: Path) -> None:
    """The file is gone."""
    log.unlink()


def removed_with_its_folder(log: Path) -> None:
    """The whole log is gone."""
    shutil.rmtree(log.parent)


def replaced(log: Path) -> None:
    """Another log stands there, as long as it was."""
    other(log, 3)


def replaced_by_a_longer_one(log: Path) -> None:
    """Another log stands there, longer than it was."""
    other(log, 5)


def other(log: Path, records: int) -> None:
    """Put another home's log of so many records there."""
    state = log.parents[3] / "other"
    FilesStore(state).append("channels/desk", [Draft({"n": -n}) for n in range(records)])
    shutil.copy(state / "channels" / "desk" / log.name, log)


WAYS = [
    emptied,
    without_its_last_line,
    removed,
    removed_with_its_folder,
    replaced,
    replaced_by_a_longer_one,
]


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("fresh", [True, False], ids=["command", "long-lived"])
def test_what_is_lost_is_named_and_gone_on_above(
    tmp_path: Path, how: Callable[[Path], None], *, fresh: bool
) -> None:
    """`verify` names the log; the next append goes on behind a gap and leaves a note instead."""
    state = tmp_path / "home" / "state"
    writer = FilesStore(state)
    given = [r.seq for r in writer.append("channels/desk", [Draft({"n": n}) for n in range(3)])]
    how(next((state / "channels" / "desk").glob("*.jsonl")))
    end = writer.head("channels/desk")

    before = FilesStore(state).verify()
    new = (FilesStore(state) if fresh else writer).append("channels/desk", [Draft({"n": 9})])
    after = FilesStore(state).verify()
    then = FilesStore(state).append("channels/desk", [Draft({"n": 10})])

    assert [(f.severity, f.file) for f in before] == [("error", "state/channels/desk")]
    above = max(*given, end)
    assert [r.seq for r in (*new, *then)] == [above + 2, above + 3]
    kept = FilesStore(state).read("channels/desk", 0, 99).records
    assert [r.seq for r in kept if r.body == {"op": "gap", "above": above}] == [above + 1]
    assert [f.severity for f in after] == ["note"]
    assert "was given" in after[0].what or "was replaced" in after[0].what


def test_a_log_that_nobody_touched_has_no_gap(tmp_path: Path) -> None:
    """An older mark, as a power cut or a killed writer leaves it, is no fault; nor is none."""
    state = tmp_path / "state"
    store = FilesStore(state)
    lock = state / "locks" / "log.events"
    store.append("events", [Draft({"n": 1})])
    older = lock.read_bytes()
    store.append("events", [Draft({"n": 2})])

    for mark in (older, b"", b"torn"):
        lock.write_bytes(mark)
        assert store.verify() == []
        store.append("events", [Draft({"n": 3})])

    assert [r.seq for r in store.read("events", 0, 99).records] == [1, 2, 3, 4, 5]


def test_the_mark_names_the_newest_record(tmp_path: Path) -> None:
    """A lock file holds, at byte 16, the number and the checksum of the newest line."""
    state = tmp_path / "state"
    FilesStore(state).append("events", [Draft({"n": 1}), Draft({"n": 2})])

    mark = (state / "locks" / "log.events").read_bytes()[16:]
    line = next((state / "events").glob("*.jsonl")).read_bytes().splitlines()[-1]

    assert mark == f"{2:020d} {json.loads(line)['crc']}\n".encode()
