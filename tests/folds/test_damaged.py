from pathlib import Path

from fleet.folds import SAVE_EVERY, damaged
from fleet.records import Draft
from fleet.stores.files import FilesStore
from fleet.stores.files.cache import FilesCache


def test_each_line_that_cannot_be_read_counts_once(tmp_path: Path) -> None:
    """However often it is asked, and wherever the bad lines stand, the count is the truth."""
    store, cache = FilesStore(tmp_path / "state"), FilesCache(tmp_path / "cache")
    (log,) = (tmp_path / "state" / "events" / f"{1:020}.jsonl",)
    bad = 0
    counted = []

    for _ in range(4):
        store.append("events", [Draft({"n": n}) for n in range(SAVE_EVERY)])
        with log.open("ab") as file:
            file.write(b"no record\n" * 3)
        bad += 3
        counted += [damaged(store, cache, "events") - bad for _ in range(2)]

    assert counted == [0] * 8
    store.append("events", [Draft({})])
    assert damaged(store, cache, "events") == damaged(store, FilesCache(tmp_path / "c"), "events")
