"""Logs with an end that was cut off, or with a line that cannot be read."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from calls import Done, call, many
from fleets import Scripted

COUNT = 6
CUTS: dict[str, Callable[[bytes], bytes]] = {
    "no-line-feed": lambda line: line[:-1],
    "before-crc": lambda line: line[: line.rindex(b',"crc"')],
    "mid-json": lambda line: line[: len(line) // 2],
    "mid-character": lambda line: line[: line.index("ü".encode()) + 1],
    "one-byte": lambda line: line[:1],
}
SPOILS: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda line: line[: len(line) // 2] + b"\n",
    "flipped": lambda line: line[:60] + bytes([line[60] ^ 1]) + line[61:],
    "empty": lambda line: b"\n",
    "binary": lambda line: b"\0\xff\xfe" + line[3:],
    "conflict": lambda line: b"<<<<<<< HEAD\n",
    "deep": lambda line: b"[" * 100_000 + b"\n",
}
WRITES = {"events": ("emit", "note", "n=new"), "channels/strategy": ("post", "strategy", "new")}
READS = {"events": ("events", "--json"), "channels/strategy": ("read", "strategy", "--json")}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Scripted:
    """A home with six events and six posts."""
    home = Scripted(tmp_path_factory.mktemp("written") / "home")
    home.agent("worker", "cat > seen; echo done")
    emits = [("emit", "note", f"n=für {number}") for number in range(COUNT)]
    posts = [("post", "strategy", f"für {number}") for number in range(COUNT)]
    assert {done.code for done in _calls(home, *emits, *posts)} == {0}
    return home


def _calls(home: Scripted, *lines: tuple[str, ...]) -> list[Done]:
    return many(home.root, [call(*words) for words in lines], {"FLEET_HOME": str(home.root)})


def _copy(written: Scripted, tmp_path: Path) -> Scripted:
    return written.copied_to(tmp_path / "home")


@pytest.mark.parametrize(
    ("log", "cut"), [*(("events", cut) for cut in CUTS), ("channels/strategy", "mid-character")]
)
def test_the_next_write_is_not_swallowed(
    written: Scripted, tmp_path: Path, log: str, cut: str
) -> None:
    """E2: after an append that was cut off, what is written next and all before it is readable.

    What was cut off stands in quarantine, is counted by verify, and its number is given anew.
    """
    home = _copy(written, tmp_path)
    (path,) = (home.root / "state" / log).glob("*.jsonl")
    *lines, last = path.read_bytes().splitlines(keepends=True)
    stub = CUTS[cut](last)
    path.write_bytes(b"".join(lines) + stub)
    for lock in (home.root / "state" / "locks").glob("log.*"):
        lock.write_bytes(b"")  # a writer notes a number only after the whole line

    written_on, read, verified = _calls(home, WRITES[log], READS[log], ("verify",))

    assert written_on.code == 0, written_on.err
    assert [one["seq"] for one in _records(read)] == list(range(1, COUNT + 1))
    assert "new" in read.out.splitlines()[-1]
    assert all("für" in line for line in read.out.splitlines()[:-1])
    kept = [one for one in (home.root / "state" / "quarantine").rglob("*") if one.is_file()]
    assert any(stub in one.read_bytes() for one in kept)
    assert verified.code == 0
    assert "quarantine" in verified.out


@pytest.mark.parametrize(
    ("log", "spoil"), [*(("events", spoil) for spoil in SPOILS), ("channels/strategy", "cut")]
)
def test_one_bad_line_hides_nothing(
    written: Scripted, tmp_path: Path, log: str, spoil: str
) -> None:
    """E4: with a bad line in the middle everything else is read, delivered and written on.

    `status` counts it and exits 0, `verify` names file and line.
    """
    home = _copy(written, tmp_path)
    (path,) = (home.root / "state" / log).glob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = SPOILS[spoil](lines[2])
    path.write_bytes(b"".join(lines))

    words = WRITES[log], READS[log], ("status", "--json"), ("verify",)
    written_on, read, status, verified = _calls(home, *words)

    assert (written_on.code, read.code, status.code) == (0, 0, 0)
    assert [one["seq"] for one in _records(read)] == [1, 2, 4, 5, 6, 7]
    assert json.loads(status.out)["damaged"] == {log: 1}
    assert f"{path.name}:3:" in verified.out


def test_a_run_gets_what_is_behind_a_bad_line(written: Scripted, tmp_path: Path) -> None:
    """E4: an agent is shown the events behind a bad line, once, and goes on behind them."""
    home = _copy(written, tmp_path)
    (path,) = (home.root / "state" / "events").glob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[2][:40] + b"\n", *lines[3:]]))

    assert [home.call("run", "worker").returncode for _ in range(2)] == [0, 0]

    second, first = home.runs()
    assert sorted(first.delivered) == [f"events#{n}" for n in (1, 2, 4, 5, 6)]
    assert second.delivered == ()


def _records(done: Done) -> list[dict[str, object]]:
    return [json.loads(line) for line in done.out.splitlines()]
