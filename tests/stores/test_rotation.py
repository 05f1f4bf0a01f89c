"""Rotation and trimming under way: no writer is lost, and no reader loses or repeats a record."""

import os
import random
import threading
import time
from pathlib import Path

import pytest

from fleet.errors import Trimmed
from fleet.records import Draft
from fleet.stores.files import FilesStore
from stores.proofs import Worker, printed


def test_eight_writers_and_three_readers_through_rotations(state: Path, worker: Worker) -> None:
    """Eight processes write across many rotations while three readers follow: each number once."""
    writers = [worker("append", 40, 200, name, 20_000) for name in "abcdefgh"]
    seen: list[list[int]] = [[], [], []]
    stop = time.monotonic() + 60

    def follow(numbers: list[int], limit: int) -> None:
        store = FilesStore(state)
        upto = 0
        while len(numbers) < 320 and time.monotonic() < stop:
            store.wait({"events": upto}, 1)
            batch = store.read("events", upto, limit)
            numbers += [record.seq for record in batch.records]
            upto = batch.upto

    readers = [
        threading.Thread(target=follow, args=(numbers, limit))
        for numbers, limit in zip(seen, (1, 7, 50), strict=True)
    ]
    for reader in readers:
        reader.start()
    said = [int(words[0]) for writer in writers for words in printed(writer)]
    for reader in readers:
        reader.join()

    assert sorted(said) == list(range(1, 321))
    assert seen == [list(range(1, 321))] * 3
    assert len(list((state / "events").iterdir())) > 5
    assert FilesStore(state).verify() == []


def test_a_reader_that_trimming_overtakes_hears_where_to_go_on(state: Path) -> None:
    """While segments are archived a reader gets every number, or is told the first one kept."""
    store = FilesStore(state, segment_bytes=2000)
    for n in range(300):
        store.append("events", [Draft({"n": n, "f": "x" * 50})])
    reader = FilesStore(state)
    trimmer = threading.Thread(target=lambda: [store.trim("events", n) for n in range(0, 280, 9)])
    trimmer.start()

    seen: list[int] = []
    upto = 0
    while upto < 300:
        try:
            batch = reader.read("events", upto, 5)
        except Trimmed as trimmed:
            upto = max(trimmed.first - 1, upto + 1)
            continue
        assert [r.seq for r in batch.records] == list(range(upto + 1, batch.upto + 1))
        seen += [r.seq for r in batch.records]
        upto = batch.upto
    trimmer.join()

    assert seen == sorted(set(seen))
    assert seen[-1] == 300
    first = store.trim("events", 0)
    archived = sorted(p.name for p in (state / "archive" / "events").glob("*.jsonl"))
    kept = sorted(p.name for p in (state / "events").iterdir())
    assert archived[-1] < kept[0] == f"{first:020d}.jsonl"
    assert store.verify() == []


def test_a_long_lived_writer_notices_every_change_of_its_log(state: Path) -> None:
    """Rotated, trimmed, restored or emptied by another process: the next append goes to the end."""
    writer = FilesStore(state, segment_bytes=10_000)
    other = FilesStore(state, segment_bytes=600)
    log = state / "events"
    writer.append("events", [Draft({"n": 1})])
    aged(log, 1)
    writer.append("events", [Draft({"n": 2})])

    for n in range(3, 12):
        other.append("events", [Draft({"n": n, "f": "x" * 200})])
    aged(log, 2)
    assert [r.seq for r in writer.append("events", [Draft({"n": 12})])] == [12]

    saved = {path.name: path.read_bytes() for path in log.iterdir()}
    other.append("events", [Draft({"n": 13})])
    aged(log, 3)
    writer.append("events", [Draft({"n": 14})])
    log.rename(state.parent / "gone")
    log.mkdir(mode=0o700)
    for name, data in saved.items():
        (log / name).write_bytes(data)
        (log / name).chmod(0o600)
    aged(log, 4)
    assert [r.seq for r in writer.append("events", [Draft({"n": 13})])] == [16]

    found = FilesStore(state).read("events", 0, 99).records
    assert [r.seq for r in found] == [*range(1, 13), 15, 16]
    assert found[-2].body == {"op": "gap", "above": 14}


def aged(folder: Path, moment: float) -> None:
    """Make the folder's last change an old one, so that a writer may trust what it has open."""
    os.utime(folder, (moment, moment))


@pytest.mark.parametrize("segment", [300, 5000])
def test_any_place_is_found_in_any_file(state: Path, segment: int) -> None:
    """Records of very different sizes: reading after any number begins with the next one."""
    rng = random.Random(segment)
    store = FilesStore(state, segment_bytes=segment)
    sizes = [rng.choice([1, 30, 900, 20_000]) for _ in range(120)]
    for start in range(0, 120, 6):
        store.append("events", [Draft({"f": "x" * size}) for size in sizes[start : start + 6]])

    for after in range(120):
        (record,) = store.read("events", after, 1).records
        assert (record.seq, len(str(record.body["f"]))) == (after + 1, sizes[after])
