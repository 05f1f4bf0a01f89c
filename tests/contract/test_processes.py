"""What a store that processes share promises when several of them write at once."""

import subprocess
import sys
from pathlib import Path

from contract.engines import Engine

TESTS = Path(__file__).parent.parent


def start(engine: Engine, folder: Path, *words: object) -> "subprocess.Popen[str]":
    """A worker process."""
    line = [sys.executable, "-m", "contract.worker", engine.name, folder, *words]
    return subprocess.Popen(
        [str(word) for word in line], cwd=TESTS, stdout=subprocess.PIPE, text=True
    )


def outputs(workers: "list[subprocess.Popen[str]]") -> list[list[str]]:
    """The lines each worker printed; each has ended well."""
    found = [worker.communicate(timeout=60)[0].splitlines() for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * len(workers)
    return found


def test_writers_get_every_number_once(shared: Engine, tmp_path: Path) -> None:
    """Four processes that append at once share the numbers without hole or repetition."""
    workers = [start(shared, tmp_path, "append", "events", 50, 300, name) for name in "abcd"]

    printed = [line.split() for lines in outputs(workers) for line in lines]

    records = shared.open(tmp_path).read("events", 0, 999).records
    assert [record.seq for record in records] == list(range(1, 201))
    assert {(int(seq), key) for seq, key in printed} == {(r.seq, r.id) for r in records}
    for name in "abcd":
        assert [r.body["n"] for r in records if r.body["by"] == name] == list(range(50))


def test_a_key_given_by_two_processes_is_one_record(shared: Engine, tmp_path: Path) -> None:
    """Two processes that use the same keys at once get the same numbers."""
    workers = [start(shared, tmp_path, "keyed", "events", 40, "same") for _ in range(2)]

    first, second = outputs(workers)

    assert first == second
    assert shared.open(tmp_path).head("events") == 40


def test_a_key_for_two_payloads_has_one_winner(shared: Engine, tmp_path: Path) -> None:
    """Two processes that use the same keys for different payloads: one wins each, one hears so."""
    workers = [start(shared, tmp_path, "keyed", "events", 40, payload) for payload in "ab"]

    first, second = outputs(workers)

    assert shared.open(tmp_path).head("events") == 40
    for one, other in zip(first, second, strict=True):
        assert (one == "refused") != (other == "refused")


def test_a_version_has_one_winner(shared: Engine, tmp_path: Path) -> None:
    """Four processes that count up a document win every version once."""
    workers = [start(shared, tmp_path, "count_up", "memory/n", 25) for _ in range(4)]

    won = sorted(int(line) for lines in outputs(workers) for line in lines)

    assert won == list(range(1, 101))
    assert shared.open(tmp_path).get("memory/n") == ({"n": 100}, 100)


def test_readers_see_each_record_once_in_order(shared: Engine, tmp_path: Path) -> None:
    """Readers that follow three writers, through rotations, see every number once, in order."""
    readers = [start(shared, tmp_path, "follow", "events", 120) for _ in range(2)]
    writers = [start(shared, tmp_path, "append", "events", 40, 500, name) for name in "abc"]

    outputs(writers)
    for lines in outputs(readers):
        assert [int(line) for line in lines] == list(range(1, 121))
