"""Worker processes and a files store on a folder of the test's own."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet.stores.files import FilesStore
from stores.proofs import Worker

TESTS = Path(__file__).parent.parent


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Where the store is; nothing is there yet."""
    return tmp_path / "home" / "state"


@pytest.fixture
def store(state: Path) -> FilesStore:
    """A store that nobody wrote to."""
    return FilesStore(state)


@pytest.fixture
def worker(state: Path) -> Iterator[Worker]:
    """`worker(verb, …)` starts a process on the same state; what is left is killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: object) -> "subprocess.Popen[str]":
        line = [sys.executable, "-m", "stores.worker", str(state), *map(str, words)]
        process = subprocess.Popen(line, cwd=TESTS, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()
