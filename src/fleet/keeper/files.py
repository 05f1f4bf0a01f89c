"""The keeper's small files: its order, its sign of life, its last word; no output."""

import json
import os
import time
from io import BufferedWriter
from pathlib import Path
from typing import NamedTuple

from fleet import processes

RESERVED = 4096  # bytes that are kept for exit.json from the start, in case the disk fills up


class Order(NamedTuple):
    """What `keeper.json` says; times in seconds, sizes in bytes, names relative to the folder.

    Attributes:
        run: the run's id, also `FLEET_RUN_ID` in the keeper's own environment.
        argv: the command; found on the PATH of that environment.
        cwd: where it starts, absolute.
        stdin: files that it reads one after another as its standard input.
        timeout: how long it may run (time asleep with the machine does not count).
        idle_timeout: how long neither output nor transcript may stand still.
        grace: how long a stop may take: INT, TERM and KILL get a third each.
        stdout: where its standard output goes.
        stderr: where its standard error goes.
        after_result: how long it may stay when its result is there (format claude).
        output_cap: what is kept of stdout and of stderr, as head and tail.
        transcript: the CLI's `projects` folder, whose growth is a sign of life too; or None.
        format: "claude" (stdout is stream-json) or "command" (anything).
    """

    run: str
    argv: list[str]
    cwd: str
    stdin: list[str]
    timeout: float
    idle_timeout: float
    grace: float
    stdout: str = "stdout.jsonl"
    stderr: str = "stderr.log"
    after_result: float = 30.0
    output_cap: int = 4 << 20
    transcript: str | None = None
    format: str = "command"


def read_order(folder: Path) -> Order:
    """The order in `folder`.

    Raises:
        OSError: there is none, or it cannot be read.
        ValueError: it is no JSON object, lacks a name, has one too many, or its command is empty.
    """
    said = json.loads((folder / "keeper.json").read_bytes())
    try:
        order = Order(**said)
    except TypeError as error:
        raise ValueError(f"keeper.json: {error}") from None
    if not order.argv:
        raise ValueError("keeper.json: the command is empty")
    return order


def write_alive(folder: Path, said: dict[str, object]) -> None:
    """Replace `alive.json` by `said` and which folder it is. It outlives no boot: not synced.

    Raises:
        OSError: it could not be written; the old one stands.
    """
    new = folder / "alive.json.new"
    place = folder.stat()
    said |= {"folder": [place.st_dev, place.st_ino]}
    with new_file(new) as file:
        file.write(json.dumps(said).encode() + b"\n")
    new.replace(folder / "alive.json")


def write_escaped(folder: Path, noted: list[tuple[int, int]]) -> None:
    """Replace `escaped.json` by these processes, pid and start, of this boot. Not synced, as above.

    Raises:
        OSError: it could not be written; the old one stands.
    """
    new = folder / "escaped.json.new"
    with new_file(new) as file:
        file.write(json.dumps({"boot": processes.boot_id(), "processes": noted}).encode() + b"\n")
    new.replace(folder / "escaped.json")


def reserve_exit(folder: Path) -> None:
    """Take the room for `exit.json` while there is some.

    Raises:
        OSError: there is none.
    """
    with new_file(folder / "exit.json.new") as file:
        file.write(b" " * RESERVED)


def write_exit(folder: Path, said: dict[str, object]) -> None:
    """Write `exit.json`, whole and durable, in the room that was kept for it.

    Raises:
        OSError: it could not be written; there is no `exit.json`.
    """
    new = folder / "exit.json.new"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT, 0o600)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - not truncated: its blocks are ours
        file.write(json.dumps(said).encode() + b"\n")
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    new.replace(folder / "exit.json")
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def new_file(path: Path) -> BufferedWriter:
    """`path` emptied and open for appending, readable by its owner only."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW
    return open(os.open(path, flags, 0o600), "ab")  # noqa: PTH123 - the mode is ours


def stamp() -> str:
    """Now, as RFC 3339 in UTC with milliseconds."""
    wall = time.time()
    return (
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(wall)) + f".{int(wall % 1 * 1000):03d}+00:00"
    )
