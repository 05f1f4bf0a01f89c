"""The bus on real files: damage, restored backups, lost caches, long logs."""

import shutil
import time
from pathlib import Path

import pytest

from fleet.bus import Bus
from fleet.cursors import BROADCAST, Cursors
from fleet.records import Draft
from fleet.schemas import Registry
from fleet.stores.files.cache import FilesCache
from fleet.stores.files.store import FilesStore
from people import CONFIG, OPERATOR


class Files:
    """A bus on a home's state folder, opened anew for each command as a process would."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.state = home / "state"

    @property
    def store(self) -> FilesStore:
        """The store as the next process opens it."""
        return FilesStore(self.state)

    @property
    def bus(self) -> Bus:
        """The bus as the next process opens it."""
        cache = FilesCache(self.state / "cache")
        config = CONFIG._replace(root=self.home)
        store = self.store
        return Bus(store, cache, config, Registry(self.home, cache), Cursors(store))

    def price(self, number: int, to: str | None = None) -> int:
        """Emit one event; its number."""
        payload: dict[str, object] = {"competitor": f"c{number}", "newPrice": "1"}
        return self.bus.emit(OPERATOR, "pricing-change", payload, to=to).seq

    def succeed(self, limit: int = 50) -> list[int]:
        """A run of outreach that is shown what waits and succeeds; what it was shown."""
        bus = self.bus
        waiting = bus.pending("outreach", floor={}, limit=limit, attempts={})
        places = bus.advance_for("outreach", waiting, {record.ref for record in waiting.shown})
        bus.apply_advance("outreach", places)
        return [record.seq for record in waiting.shown]

    @property
    def log(self) -> Path:
        """The event log's only segment."""
        [segment] = (self.state / "events").glob("*.jsonl")
        return segment


@pytest.fixture
def files(home: Path) -> Files:
    """A home with an empty state."""
    return Files(home)


def test_a_damaged_line_hides_no_neighbour(files: Files) -> None:
    """A flipped byte costs its own event only; lanes stop beside it and pass it."""
    for number in range(6):
        files.price(number)
    lines = files.log.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b'"c2"', b'"cX"')
    files.log.write_bytes(b"".join(lines))

    assert files.succeed(limit=2) == [1, 2]
    assert files.bus.lane_check("outreach") == []
    assert files.succeed() == [4, 5, 6]
    assert files.price(7) == 7
    assert files.succeed() == [7]


def test_a_damaged_place_is_no_replaced_log(files: Files) -> None:
    """When the very record that a lane stands on is damaged, the lane stays where it is."""
    for number in range(3):
        files.price(number)
    files.succeed()
    files.log.write_bytes(files.log.read_bytes().replace(b'"c2"', b'"cX"'))

    assert files.bus.repair_lanes("outreach") == []
    files.price(4)
    assert files.succeed() == [4]


def test_conflict_marks_in_the_log_are_skipped(files: Files) -> None:
    """Lines that a merge left in the log are passed over, good ones on both sides are read."""
    for number in range(2):
        files.price(number)
    with files.log.open("ab") as file:
        file.write(b"<<<<<<< HEAD\n=======\n>>>>>>> other\n")
    last = files.price(2)

    assert files.succeed() == [1, 2, last]


def test_a_restored_backup_loses_and_reuses_nothing(files: Files, tmp_path: Path) -> None:
    """After an older copy of the log is put back, numbers go on above it and only news is shown."""
    for number in range(5):
        files.price(number)
    files.succeed(limit=3)
    shutil.copy(files.log, tmp_path / "backup.jsonl")
    for number in range(5, 10):
        files.price(number)
    files.succeed()
    shutil.copy(tmp_path / "backup.jsonl", files.log)

    files.bus.repair_lanes("outreach")

    new = files.price(10)
    assert new > 11
    assert files.succeed() == [new]
    assert [record.body["kind"] for record in files.store.read("alerts", 0, 9).records] == [
        "replaced-log",
        "replaced-log",
    ]


def test_deleted_caches_come_back_equal(files: Files) -> None:
    """Removing the cache folder changes no fold."""
    for number in range(70):
        files.price(number)
    before = files.bus.latest(["pricing-change"]), files.bus.count_since("pricing-change", 0)
    assert list((files.state / "cache").iterdir())
    shutil.rmtree(files.state / "cache")

    assert (files.bus.latest(["pricing-change"]), files.bus.count_since("pricing-change", 0)) == (
        before
    )


def test_a_sparse_event_behind_10000_foreign_ones_is_found_fast(files: Files) -> None:
    """10,000 foreign lines then one for the agent: delivered within a second, then passed."""
    files.price(0, to="competitor-watch")
    body = dict(files.bus.get(1).body)
    files.store.append("events", [Draft(dict(body)) for _ in range(10_000)])
    mine = files.price(1)

    begun = time.process_time()
    assert files.succeed() == [mine]
    assert time.process_time() - begun < 1.0
    assert Cursors(files.store).get("outreach")[BROADCAST].seq == mine
