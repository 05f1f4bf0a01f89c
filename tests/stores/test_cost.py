"""Reading costs what is new, never what is old; and using the store loads nothing heavy."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fleet.records import Draft, Record, Sieve
from fleet.stores.files import FilesStore, layout
from stores.proofs import segment

HEAVY = {
    "argparse",
    "asyncio",
    "click",
    "ctypes",
    "difflib",
    "filelock",
    "hashlib",
    "jsonschema",
    "logging",
    "mmap",
    "multiprocessing",
    "pydantic",
    "random",
    "shutil",
    "signal",
    "socket",
    "subprocess",
    "tempfile",
    "uuid",
}


class Counted:
    """`os.pread` that counts the bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes = 0
        self._real = os.pread
        monkeypatch.setattr(os, "pread", self._pread)

    def _pread(self, fd: int, size: int, offset: int) -> bytes:
        data = self._real(fd, size, offset)
        self.bytes += len(data)
        return data


def grown(state: Path, records: int) -> FilesStore:
    """A store whose log `events` has that many records of about 300 bytes in one segment."""
    store = FilesStore(state)
    draft = Draft({"type": "foreign", "fill": "x" * 180})
    for _ in range(records // 1000):
        store.append("events", [draft] * 1000)
    return store


def test_reading_what_is_new_costs_the_same_in_a_long_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest 50 of 40,000 records cost about the bytes of the newest 50 of 1,000."""
    short, long = grown(tmp_path / "short", 1000), grown(tmp_path / "long", 40_000)
    counted = Counted(monkeypatch)

    assert len(short.read("events", 950, 50).records) == 50
    first, counted.bytes = counted.bytes, 0
    assert len(long.read("events", 39_950, 50).records) == 50

    assert segment(tmp_path / "long").stat().st_size > 10_000_000
    assert counted.bytes < first + 30 * 10_000


def test_the_head_and_an_append_cost_the_same_in_a_long_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`head`, `wait` and an append read the last few kilobytes only."""
    store = grown(tmp_path / "long", 20_000)
    counted = Counted(monkeypatch)

    assert store.head("events") == 20_000
    FilesStore(tmp_path / "long").append("events", [Draft({})])
    store.wait({"events": 0}, 0)

    assert counted.bytes < 40_000


def test_a_lane_far_behind_parses_only_what_may_be_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 20,000 foreign records and one of its own a lane decodes a handful."""
    from fleet.stores import codec

    store = grown(tmp_path / "long", 20_000)
    store.append("events", [Draft({"type": "mine"})])
    decoded: list[bytes] = []
    real = codec.decode_line

    def decode(stream: str, line: bytes) -> Record:
        decoded.append(line)
        return real(stream, line)

    monkeypatch.setattr(codec, "decode_line", decode)

    batch = store.read("events", 0, 50, sieve=Sieve({"type": frozenset({"mine"})}))

    assert [record.seq for record in batch.records] == [20_001]
    assert len(decoded) == 1


WRITE = """
import sys
from pathlib import Path
before = set(sys.modules)
from fleet.records import Draft
from fleet.stores.files import FilesStore, layout
store = FilesStore(Path(sys.argv[1]))
store.append("events", [Draft({"n": 1}, key="K")])
store.append("events", [Draft({"n": 1}, key="K")])
store.put("claims/lead:x", {"n": 1}, expect=0)
store.read("events", 0, 9)
print(*sorted(name.partition(".")[0] for name in set(sys.modules) - before))
"""


def test_the_store_loads_nothing_heavy(tmp_path: Path) -> None:
    """A write, a repeated key, a claim and a read load no library and no heavy standard module."""
    done = subprocess.run(
        [sys.executable, "-c", WRITE, str(tmp_path / "state")],
        capture_output=True,
        text=True,
        check=True,
    )

    assert set(done.stdout.split()) & HEAVY == set()


def test_a_process_that_runs_for_months_holds_no_more_places(tmp_path: Path) -> None:
    """Where logs lie is held for thousands of them at most: each run may have one of its own."""
    store = FilesStore(tmp_path / "state")
    for number in range(3 * layout.MOST_LOGS):
        store.head(f"shadow/{number}")

    gc.collect()
    held = [one for one in gc.get_objects() if isinstance(one, layout.LogPlaces)]
    assert 0 < len(held) <= layout.MOST_LOGS
    assert store.head("shadow/1") == 0
