"""Durable appends: one writer beside a bare write and sync, fifteen beside SQLite and Redis.

As a program it is one writer: `appending.py ENGINE FOLDER BEGIN SECONDS` prints, as JSON, the
seconds that each append took from BEGIN (epoch seconds) on.
"""

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

import homes
from measuring import alternately, answer, quantile, start
from table import Row

from fleet.records import Draft
from fleet.stores import codec
from fleet.stores.files import FilesStore

WRITERS, SECONDS, TURNS = 15, 2.0, 3
BLOCK, BLOCKS = 50, 30  # appends in a block, and blocks of each kind, for one writer
SETTLE = 2.0  # seconds until all writers have started
Append = Callable[[int], object]


def rows(folder: Path) -> Iterator[Row]:
    """One writer, then fifteen of each engine in turn."""
    yield _one_writer(folder / "one")
    engines = ["store", "sqlite", *(["redis"] if shutil.which("redis-server") else [])]
    with _redis(folder) if "redis" in engines else nullcontext():
        taken: dict[str, list[list[float]]] = {name: [] for name in engines}
        for turn in range(TURNS):
            for name in engines:
                here = folder if name == "redis" else folder / f"{name}-{turn}"
                taken[name].append(_crowd(name, here))
    ours, sqlite = _Crowd(taken["store"]), _Crowd(taken["sqlite"])
    ratio = ours.per_second / sqlite.per_second
    yield Row(
        f"durable append, {WRITERS} writers",
        ours.said,
        f"SQLite FULL {sqlite.said}",
        ratio,
        ">= 1.5",
    )
    yield Row("  its p99", ours.tail, f"SQLite FULL {sqlite.tail}", ours.p99 / sqlite.p99, "<= 1")
    if "redis" not in taken:
        yield Row("  the same beside Redis", "", "redis-server: not here")
        return
    redis = _Crowd(taken["redis"])
    ratio = ours.per_second / redis.per_second
    yield Row("  the same beside Redis", ours.said, f"Redis always {redis.said}", ratio)
    yield Row("  its p99", ours.tail, f"Redis always {redis.tail}", ours.p99 / redis.p99)


class _Crowd:
    """What the writers of one engine did, the median turn of each number."""

    def __init__(self, turns: list[list[float]]) -> None:
        self.per_second = sorted(len(times) / SECONDS for times in turns)[len(turns) // 2]
        self.p99 = sorted(quantile(times, 0.99) for times in turns)[len(turns) // 2]
        self.said = f"{self.per_second:,.0f}/s"
        self.tail = f"{self.p99 * 1000:.1f} ms"


def _one_writer(folder: Path) -> Row:
    folder.mkdir()
    append, bare = _store(folder), _bare(folder)
    ours, peer = alternately(
        [partial(_block, append), partial(_block, bare)], BLOCKS, time.perf_counter
    )
    said = f"write + fdatasync {BLOCK / peer:,.0f}/s"
    return Row("durable append, 1 writer", f"{BLOCK / ours:,.0f}/s", said, peer / ours, ">= .75")


def _block(append: Append) -> None:
    for number in range(BLOCK):
        append(number)


def _crowd(engine: str, folder: Path) -> list[float]:
    """Seconds of every append of `WRITERS` processes at once."""
    folder.mkdir(exist_ok=True)
    ENGINES[engine](folder)(0)
    begin = str(time.time() + SETTLE)
    writers = [start("appending", engine, str(folder), begin, str(SECONDS)) for _ in range(WRITERS)]
    return [seconds for writer in writers for seconds in answer(writer)]


# Engines: each makes itself ready in a folder and gives what appends one event, durable -----------


def _store(folder: Path) -> Append:
    store = FilesStore(folder / "state")
    return lambda number: store.append("events", [Draft(homes.event(number, homes.TAIL))])


def _bare(folder: Path) -> Append:
    fd = os.open(folder / "bare", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    line = _line(0)

    def append(_number: int) -> None:
        os.write(fd, line)
        os.fdatasync(fd)

    return append


def _sqlite(folder: Path) -> Append:
    base = sqlite3.connect(folder / "events.db", timeout=60, isolation_level=None)
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("PRAGMA synchronous=FULL")
    base.execute("CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY, line BLOB)")
    return lambda number: base.execute("INSERT INTO events (line) VALUES (?)", (_line(number),))


def _redis_client(folder: Path) -> Append:
    server = socket.socket(socket.AF_UNIX)
    server.connect(str(folder / "redis.sock"))

    def append(number: int) -> None:
        words = [b"XADD", b"events", b"*", b"line", _line(number)]
        bulk = b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)
        server.sendall(b"*%d\r\n%b" % (len(words), bulk))
        if not server.recv(200).startswith(b"$"):
            raise RuntimeError("redis refused an append")

    return append


def _line(number: int) -> bytes:
    body = codec.encode_body(Draft(homes.event(number, homes.TAIL)))
    name = "019b2e00-0000-7000-8000-000000000001"
    at = "2026-11-30T19:30:39.123+00:00"
    return codec.encode_record("events", number, body, record_id=name, at=at, key=None)[0]


ENGINES = {"store": _store, "sqlite": _sqlite, "redis": _redis_client}


@contextmanager
def _redis(folder: Path) -> Iterator[None]:
    options = ["--port", "0", "--save", "", "--appendonly", "yes", "--appendfsync", "always"]
    place = ["--unixsocket", str(folder / "redis.sock"), "--dir", str(folder)]
    argv = ["redis-server", *options, *place]
    with (folder / "redis.log").open("wb") as log:
        server = subprocess.Popen(argv, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 10
        while not (folder / "redis.sock").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        yield
    finally:
        server.terminate()
        server.wait()


def _write(engine: str, folder: str, begin: str, seconds: str) -> None:
    append = ENGINES[engine](Path(folder))
    time.sleep(max(0.0, float(begin) - time.time()))
    end = time.perf_counter() + float(seconds)
    taken: list[float] = []
    while (before := time.perf_counter()) < end:
        append(len(taken))
        taken.append(time.perf_counter() - before)
    print(json.dumps(taken))


if __name__ == "__main__":
    _write(*sys.argv[1:])
