"""Waiting for a lock: bounded, the holder named and left as it is, one family of locks."""

import ast
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import fleet
from fleets import Scripted, running

SOURCES = sorted(Path(fleet.__file__).parent.rglob("*.py"))
WRITES = {
    "log.events": [("emit", "note", "n=2")],
    "log.channels%2Fstrategy": [("post", "strategy", "two"), ("react", "strategy#1", "agree")],
    "log.runs%2Fworker": [("run", "worker")],
}
HOLDS = """
import fcntl, sys, time
files = [open(path) for path in sys.argv[1:]]
for file in files:
    fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def home(scripted: Scripted) -> Scripted:
    """A home with one event and one post."""
    scripted.agent("worker", "cat > /dev/null; echo done")
    scripted.call("emit", "note", "n=1")
    scripted.call("post", "strategy", "one")
    scripted.call("run", "worker")
    return scripted


@pytest.fixture
def holder(home: Scripted) -> Iterator["subprocess.Popen[bytes]"]:
    """Another process that holds the locks of three logs."""
    locks = home.root / "state" / "locks"
    assert {path.name for path in locks.iterdir()} >= set(WRITES)
    paths = [str(locks / name) for name in WRITES]
    process = subprocess.Popen([sys.executable, "-c", HOLDS, *paths], stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.communicate()


def test_no_write_waits_for_ever(home: Scripted, holder: "subprocess.Popen[bytes]") -> None:
    """B9: while another process holds a log each write ends in time: 75, and who holds it.

    Nothing is half-written; reading does not wait at all.
    """
    before = _logs(home)
    began = time.monotonic()
    calls = [_start(home, *argv) for writes in WRITES.values() for argv in writes]

    assert home.call("events").returncode == 0
    assert home.call("read", "strategy").returncode == 0
    assert time.monotonic() - began < 8
    said = [(call.communicate(timeout=30)[1], call.returncode) for call in calls]

    assert time.monotonic() - began < 30
    for text, code in said:
        assert code == 75, text
        assert f"pid {holder.pid}" in text
        assert len(text.splitlines()) == 1
    assert _logs(home) == before


def test_a_contender_leaves_the_holders_word(scripted: Scripted) -> None:
    """B7: after contenders gave up, who holds the runner's lock is still noted, and named."""
    scripted.agent("worker", "true")
    note = scripted.root / "state" / "locks" / "runner.lock.holder"

    with running(scripted) as up:
        before = note.read_bytes()
        said = [scripted.call("up") for _ in range(3)]
        after = note.read_bytes()
        up.stop()

    assert before == after
    assert f'"pid": {up.process.pid}' in before.decode()
    for done in said:
        assert done.returncode == 6
        assert f"(pid {up.process.pid}) on {os.uname().nodename} for " in done.stderr


def test_a_script_of_the_operator_can_take_part(home: Scripted) -> None:
    """B10: flock(1) on a log's lock file keeps fleet's writes out until it is done."""
    lock = home.root / "state" / "locks" / "log.events"
    done = home.root / "done"
    copy = subprocess.Popen(
        ["flock", str(lock), "sh", "-c", f"echo in; sleep 1; touch {done}"], stdout=subprocess.PIPE
    )
    assert copy.stdout
    assert copy.stdout.readline() == b"in\n"

    assert home.call("emit", "note", "n=2").returncode == 0

    assert done.exists()
    copy.communicate()


@pytest.mark.parametrize("module", ["fcntl", "filelock", "portalocker"])
def test_one_module_of_the_whole_program_locks(module: str) -> None:
    """B10: only one module knows a lock library, and it knows no lockf: one family everywhere."""
    knows = [path for path in SOURCES if module in _imported(path)]

    assert [path.name for path in knows] == ([] if module == "portalocker" else ["locks.py"])
    assert not any("lockf" in path.read_text() for path in SOURCES)


def _imported(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


def _logs(home: Scripted) -> dict[Path, bytes]:
    """The records of every log that was held."""
    return {
        path: path.read_bytes()
        for kind in ("events", "channels", "runs")
        for path in (home.root / "state" / kind).rglob("*.jsonl")
    }


def _start(home: Scripted, *argv: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "fleet", "--home", str(home.root), *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
