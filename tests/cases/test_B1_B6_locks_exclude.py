"""Locks between real processes: they exclude, their files stay, and no fault leaves one held."""

import os
import subprocess
import sys
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fleet.records import Draft
from fleet.stores.files import FilesStore
from fleets import Scripted

ROOT = Path(__file__).parents[2]
COUNT = """
import sys
from pathlib import Path
from fleet.errors import Conflict
from fleet.wiring import open_fleet
store = open_fleet(Path(sys.argv[1]), env={}).store
for _ in range(int(sys.argv[2])):
    while True:
        body, version = store.get("memory/counter")
        try:
            store.put("memory/counter", {"n": (body or {"n": 0})["n"] + 1}, expect=version)
            break
        except Conflict:
            continue
"""
RAISES = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from fleet.records import Draft
from fleet.wiring import open_fleet
from fleet.wiring.locking import file_lock
root = Path(sys.argv[1])
store = open_fleet(root, env={}).store
store.append("events", [Draft({"op": "event"})])
paths = [*sorted((root / "state" / "locks").iterdir()), root / "state" / "locks" / "another"]

def fail(path):
    with file_lock(path, 5.0):
        raise RuntimeError(path.name)

def lead():
    lock = store.singleton("runner", "the runner")
    lock.acquire()
    return lock

with ThreadPoolExecutor(4) as pool:
    faults = [pool.submit(fail, path).exception() for path in paths]
    pool.submit(lead).result().release()
    began = time.monotonic()
    for path in paths:
        with file_lock(path, 0.0):
            pass
    lead().release()
    store.append("events", [Draft({"op": "event"})])
assert all(isinstance(fault, RuntimeError) for fault in faults), faults
print(time.monotonic() - began)
"""


def test_no_write_is_lost_and_no_lock_file_is_replaced(scripted: Scripted) -> None:
    """B1: 8 processes that read, add and write lose nothing, and the lock files stay the same."""
    scripted.agent("worker", "true")
    scripted.call("emit", "note", "n=0")
    _python(COUNT, scripted, "1").communicate()
    before = _locks(scripted)

    workers = [_python(COUNT, scripted, "40") for _ in range(8)]
    assert [worker.communicate(timeout=60)[0] for worker in workers] == [""] * 8
    scripted.call("emit", "note", "n=1")

    body, _ = scripted.fleet.store.get("memory/counter")
    assert body == {"n": 8 * 40 + 1}
    assert before.items() <= _locks(scripted).items()


def test_the_very_first_writes_may_come_together(tmp_path: Path) -> None:
    """B1: threads whose writes are the first in a new home, 20 times over, lose none of them."""
    for number in range(20):
        state = tmp_path / f"{number}" / "state"
        stores = [FilesStore(state) for _ in range(8)]
        gate = threading.Barrier(8)

        def write(store: FilesStore, gate: threading.Barrier = gate) -> int:
            gate.wait()
            return store.append("events", [Draft({"op": "event"})])[0].seq

        with ThreadPoolExecutor(8) as pool:
            assert sorted(pool.map(write, stores)) == list(range(1, 9))


def test_the_lock_library_is_one_that_keeps_its_files() -> None:
    """B1: pyproject's lower bound of filelock has its fixes (see B8), and no module removes one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (bound,) = [one for one in project["dependencies"] if one.startswith("filelock")]
    version = bound.split(">=")[1].split(",")[0].split(".")

    assert tuple(map(int, version)) >= (3, 20, 3)


def test_a_fault_in_a_threads_hands_leaves_no_lock(scripted: Scripted) -> None:
    """B6: work that raises in a pool's thread holds no lock on; the main thread gets it at once."""
    scripted.agent("worker", "true")
    out, _ = _python(RAISES, scripted).communicate(timeout=60)

    assert float(out) < 5


@pytest.mark.parametrize("fault", [("n=1", "--to", "nobody"), ("x=1",), ("--data", "{")])
def test_a_refused_command_leaves_no_lock(scripted: Scripted, fault: tuple[str, ...]) -> None:
    """B6: after a command that was refused half-way the next one does not wait."""
    scripted.agent("worker", "true")
    assert scripted.call("emit", "note", *fault).returncode in {2, 3, 4}
    began = time.monotonic()

    assert scripted.call("emit", "note", "n=1").returncode == 0

    assert time.monotonic() - began < 5


def _python(program: str, home: Scripted, *argv: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", program, str(home.root), *argv], stdout=subprocess.PIPE, text=True
    )


def _locks(home: Scripted) -> dict[str, int]:
    """Each lock file and its inode."""
    return {entry.name: entry.inode() for entry in os.scandir(home.root / "state" / "locks")}
