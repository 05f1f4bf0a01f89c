"""No wait on a lock is unbounded, and who waited in vain hears who holds it: never a dead one."""

import ast
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import fleet.stores.files
from fleet.errors import Held, LockTimeout
from fleet.records import Draft
from fleet.stores.files import FilesStore
from fleet.stores.files.locks import Lock
from stores.proofs import Worker


def first_line(process: "subprocess.Popen[str]") -> list[str]:
    """What a worker prints once it has what it wants."""
    assert process.stdout is not None
    return process.stdout.readline().split()


@pytest.fixture
def held(store: FilesStore, worker: Worker) -> "subprocess.Popen[str]":
    """Another process that holds the lock of the log `events`."""
    store.append("events", [Draft({"n": 1})])
    process = worker("hold", "log.events", 60)
    assert first_line(process) == ["held"]
    return process


def test_a_held_lock_ends_the_wait_and_names_its_holder(
    held: "subprocess.Popen[str]", state: Path
) -> None:
    """After the deadline an append raises with exit code 75; pid and age are named."""
    store = FilesStore(state, lock_timeout=0.3)
    began = time.monotonic()

    with pytest.raises(LockTimeout) as caught:
        store.append("events", [Draft({"n": 2})])

    assert 0.3 <= time.monotonic() - began < 5
    assert caught.value.exit_code == 75
    assert f"(pid {held.pid}, started " in str(caught.value)
    assert "the log events" in str(caught.value)
    assert store.head("events") == 1
    assert [r.seq for r in store.append("channels/a", [Draft({})])] == [1]


ALONE = """
import signal, sys, time
from pathlib import Path
from fleet.errors import LockTimeout
from fleet.records import Draft
from fleet.stores.files import FilesStore
began = time.monotonic()
try:
    FilesStore(Path(sys.argv[1]), lock_timeout=0.5).append("events", [Draft({"n": 2})])
    print("done")
except LockTimeout as error:
    print("timeout", 0.5 <= time.monotonic() - began < 5)
print(signal.getsignal(signal.SIGALRM) is signal.SIG_DFL, signal.getitimer(signal.ITIMER_REAL))
"""


def test_a_holder_that_died_is_not_blamed(store: FilesStore, state: Path, worker: Worker) -> None:
    """A lock that a dead process left to its child is held by that child, in the error too."""
    store.append("events", [Draft({"n": 1})])
    process = worker("bequeath", "log.events", 60)
    word, child = first_line(process)
    process.wait()

    with pytest.raises(LockTimeout) as caught:
        FilesStore(state, lock_timeout=0.1).append("events", [Draft({"n": 2})])
    gone(int(child))

    assert word == "held"
    assert f"pid {child}," in str(caught.value)
    assert f"pid {process.pid}," not in str(caught.value)
    assert store.append("events", [Draft({"n": 2})])[0].seq == 2


def test_a_command_blocks_in_the_kernels_queue(held: "subprocess.Popen[str]", state: Path) -> None:
    """In a single-threaded command the wait is one blocked flock with an alarm, and as bounded."""
    command = subprocess.Popen(
        [sys.executable, "-c", ALONE, str(state)], stdout=subprocess.PIPE, text=True
    )
    blocked = False
    while command.poll() is None and not blocked:
        blocked = f"-> FLOCK  ADVISORY  WRITE {command.pid} " in Path("/proc/locks").read_text()
        time.sleep(0.005)

    assert command.communicate()[0].splitlines() == ["timeout True", "True (0.0, 0.0)"]
    assert blocked


def test_a_waiting_command_goes_on_when_the_lock_is_free(
    held: "subprocess.Popen[str]", state: Path
) -> None:
    """A lock that becomes free before the deadline is taken, from a thread and from a command."""
    command = subprocess.Popen(
        [sys.executable, "-c", ALONE.replace("lock_timeout=0.5", "lock_timeout=30"), str(state)],
        stdout=subprocess.PIPE,
        text=True,
    )
    timer = threading.Timer(0.5, held.kill)
    timer.start()

    stored = FilesStore(state).append("events", [Draft({"n": 2})])

    timer.join()
    assert command.communicate()[0].splitlines() == ["done", "True (0.0, 0.0)"]
    assert [r.seq for r in stored] in ([2], [3])
    assert FilesStore(state).head("events") == 3


def test_threads_exclude_each_other(tmp_path: Path) -> None:
    """A lock is between threads as well: nobody is inside with another."""
    inside: list[int] = []
    worst: list[int] = []

    def work() -> None:
        for _ in range(50):
            with Lock(str(tmp_path / "lock"), "a test", timeout=30):
                inside.append(1)
                worst.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert max(worst) == 1


def test_readers_of_a_claim_share_its_lock(tmp_path: Path) -> None:
    """Shared locks let each other in, and keep a writer out."""
    path = str(tmp_path / "lock")

    with Lock(path, "a test", timeout=1, shared=True):
        with Lock(path, "a test", timeout=0, shared=True):
            pass
        with pytest.raises(LockTimeout), Lock(path, "a test", timeout=0.05):
            pass


def test_an_error_inside_frees_the_lock(tmp_path: Path) -> None:
    """A thread that raises while it holds a lock does not leave it held."""
    path = str(tmp_path / "lock")

    def fail() -> None:
        with pytest.raises(RuntimeError), Lock(path, "a test", timeout=1):
            raise RuntimeError

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()

    with Lock(path, "a test", timeout=0):
        assert Path(path).exists()


def test_a_child_does_not_keep_a_lock(tmp_path: Path) -> None:
    """A process that was forked while a lock was held does not hold it on."""
    path = str(tmp_path / "lock")
    with Lock(path, "a test", timeout=1):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        with Lock(path, "a test", timeout=0):
            pass
    finally:
        child.kill()
        child.wait()


# One runner -----------------------------------------------------------------------------------


@pytest.fixture
def leader(worker: Worker) -> "tuple[subprocess.Popen[str], int]":
    """A process that is the runner, and the pid of its child."""
    process = worker("lead", 60)
    word, child = first_line(process)
    assert word == "leading"
    return process, int(child)


def gone(pid: int) -> None:
    """End `pid` and wait until it is."""
    os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + 10
    while time.monotonic() < until and Path(f"/proc/{pid}/fd").is_dir():
        if "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text():
            break
        time.sleep(0.01)


def test_a_second_runner_hears_who_is_the_first(
    leader: "tuple[subprocess.Popen[str], int]", state: Path
) -> None:
    """Pid, host and time of the holder are in the error, and still readable after ten tries."""
    process, child = leader
    lock = FilesStore(state).singleton("runner", "the runner of this home")

    for _ in range(10):
        with pytest.raises(Held) as caught:
            lock.acquire(0.0)
        assert caught.value.exit_code == 6
        said = rf"\(pid {process.pid}\) on {re.escape(os.uname().nodename)} for \d+s"
        assert re.search(said, str(caught.value))
    holder = lock.holder()
    gone(child)

    assert holder is not None
    assert f"pid {process.pid}" in holder


def test_a_dead_runner_is_not_blamed(
    leader: "tuple[subprocess.Popen[str], int]", state: Path
) -> None:
    """After `kill -9` of the runner with a child alive the next one starts, or names the living."""
    process, child = leader
    process.kill()
    process.wait()
    lock = FilesStore(state).singleton("runner", "the runner of this home")

    said = f"pid {child}"
    try:
        lock.acquire(0.0)
        lock.release()
    except Held as error:
        said = str(error)
    gone(child)

    assert f"pid {process.pid}" not in said
    assert f"pid {child}" in said

    lock.acquire()
    lock.release()
    assert lock.holder() is None


def test_a_singleton_is_free_after_its_release(store: FilesStore) -> None:
    """Whoever released it may take it again, and so may another; its file stays."""
    first = store.singleton("maintenance", "maintenance of this home")
    second = store.singleton("maintenance", "maintenance of this home")
    first.acquire()
    with pytest.raises(Held, match=f"pid {os.getpid()}"):
        second.acquire(0.0)
    released = threading.Thread(target=first.release)
    released.start()
    released.join()

    second.acquire()
    second.release()
    assert second.holder() is None


# Never removed --------------------------------------------------------------------------------

SOURCES = sorted(Path(fleet.stores.files.__file__).parent.glob("*.py"))


def calls(path: Path) -> set[str]:
    """Names of the functions and methods that a module calls."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {
        func.attr if isinstance(func, ast.Attribute) else func.id
        for func in found
        if isinstance(func, ast.Attribute | ast.Name)
    }


def imports(path: Path) -> set[str]:
    """Modules that a module imports, anywhere in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    return names | {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_only_one_module_locks_and_none_removes_a_lock(path: Path) -> None:
    """Fcntl and filelock have one door, and only unfinished temporary files are ever unlinked."""
    if path.stem != "locks":
        assert not imports(path) & {"fcntl", "filelock"}
    if path.stem != "disk":
        assert not calls(path) & {"unlink", "remove", "rmtree", "rmdir"}


def test_lock_files_stay(store: FilesStore, state: Path) -> None:
    """A lock file is there after use, the same one: whoever waits on it waits for the right one."""
    store.append("events", [Draft({})])
    store.put("memory/a", {}, expect=0)
    before = {path.name: path.stat().st_ino for path in (state / "locks").iterdir()}

    for _ in range(5):
        store.append("events", [Draft({})])
    store.put("memory/a", {}, expect=1)

    assert {path.name: path.stat().st_ino for path in (state / "locks").iterdir()} == before
    assert len(before) == 2


COUNTER = """
import sys
from pathlib import Path
from fleet.stores.files.locks import Lock
path = Path(sys.argv[1])
for _ in range(500):
    with Lock(str(path / "lock"), "a counter", timeout=60):
        number = int((path / "counter").read_text())
        (path / "counter").write_text(str(number + 1))
"""


def test_a_counter_under_the_lock_loses_nothing(tmp_path: Path) -> None:
    """Eight processes that read, add and write 500 times each under one lock reach 4,000."""
    (tmp_path / "counter").write_text("0")
    command = [sys.executable, "-c", COUNTER, str(tmp_path)]
    workers = [subprocess.Popen(command) for _ in range(8)]

    assert [process.wait(60) for process in workers] == [0] * 8

    assert (tmp_path / "counter").read_text() == "4000"
    assert (tmp_path / "lock").exists()
