"""`kill -9` at any moment loses nothing that was acknowledged."""

import random
import signal
import time
from pathlib import Path

import pytest

from fleet.stores.files import FilesStore
from stores.proofs import Worker, printed


def kill_writers(worker: Worker, rounds: int, at_once: int) -> list[list[str]]:
    """Rounds of writers that are killed after a random time; what they printed."""
    rng = random.Random(7)
    seen: list[list[str]] = []
    for number in range(rounds):
        writers = [worker("append", 100_000, 150, f"{number}.{n}") for n in range(at_once)]
        for writer in writers:
            assert writer.stdout is not None
            seen.append(writer.stdout.readline().split())
        for writer in writers:
            time.sleep(rng.random() * 0.02)
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            seen += printed(writer)
    return seen


def check_log(state: Path, seen: list[list[str]]) -> None:
    """Each printed record is there once, under its number; numbers have no hole; all is sound."""
    store = FilesStore(state)
    records = store.read("events", 0, 10**9).records

    assert len(seen) == len({number for number, _ in seen})
    by_number = {record.seq: record.id for record in records}
    assert all(by_number[int(number)] == name for number, name in seen)
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert len({record.id for record in records}) == len(records)
    assert [found for found in store.verify() if found.severity != "note"] == []


def test_killed_writers_lose_nothing(state: Path, worker: Worker) -> None:
    """Every number that was printed before `kill -9` is in the log once, 32 kills long."""
    check_log(state, kill_writers(worker, rounds=8, at_once=4))


@pytest.mark.prove
@pytest.mark.timeout(3600)
def test_two_thousand_kills_lose_nothing(state: Path, worker: Worker) -> None:
    """The same, 2,000 kills long."""
    check_log(state, kill_writers(worker, rounds=500, at_once=4))


def test_a_document_is_whole_after_every_kill(state: Path, worker: Worker) -> None:
    """50 kills while a document is saved: it reads, and is the last one printed or later."""
    rng = random.Random(3)
    version = 0
    for _ in range(50):
        saver = worker("save", 100_000, 20_000)
        assert saver.stdout is not None
        last = int(saver.stdout.readline())
        time.sleep(rng.random() * 0.02)
        saver.send_signal(signal.SIGKILL)
        last = max([last, *(int(number) for (number,) in printed(saver))])

        body, found = FilesStore(state).get("memory/a")

        assert body is not None
        assert body["fill"] == ["x" * 20_000]
        assert last <= found <= last + 1
        assert found > version
        version = found
    assert FilesStore(state).verify() == []
