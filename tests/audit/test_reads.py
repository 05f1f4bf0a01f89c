"""What a run reads is noted, bounded, and never in the way of reading."""

import json
import os
import stat
from pathlib import Path

import pytest

from calls import Actor, call, many
from fleet.runs.reads import COMMAND, KEPT, LINE, MOST, Read, kept, note, reads
from fleets import Scripted


def test_every_reading_command_of_a_run_is_noted_in_its_record(tmp_path: Path) -> None:
    """read, events, show, find, inbox, memory, metrics and claims: each leaves its references."""
    home = Scripted(tmp_path / "home")
    reader = Actor(home, "reader")
    lines = ("post strategy hello", "emit note n=1", "send reader hi", "metric record d views 7")
    many(home.root, [call("--home", str(home.root), *line.split()) for line in lines])

    done = reader.does(
        call(
            "lesson", "add", "short subjects work", "--category", "success", "--importance", "low"
        ),
        call("read", "strategy"),
        call("events", "--json"),
        call("inbox"),
        call("metric", "show"),
        call("memory", "show"),
        call("claim", "k"),
        call("claims", "--history", "k"),
        call("find", "hello"),
        call("show", "strategy#1", "--json"),
        call("whoami"),
    )

    (run,) = home.runs()
    assert {one.code for one in done} == {0}, done
    *refs, claim = run.read
    assert refs == ["strategy#1", "events#1", "operator+reader#1", "metrics#1", "reader/L1"]
    assert claim.startswith("claims-log#")
    file = home.root / "state" / "run" / run.id / "reads.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["command"].split()[0] for line in lines] == [
        "read", "events", "inbox", "metric", "memory", "claims", "find", "show",
    ]  # fmt: skip
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_notes_are_bounded(tmp_path: Path) -> None:
    """A line, a file and what a record keeps have their bounds, and say what is left out."""
    long = Read("now", "x" * 5000, tuple(f"strategy#{n}" for n in range(1000)))
    note(tmp_path, long)
    (line,) = (tmp_path / "reads.jsonl").read_text().splitlines()
    said = json.loads(line)
    assert (len(said["command"]), len(said["refs"]), said["left_out"]) == (COMMAND, LINE, 800)

    for number in range(400):
        note(tmp_path, Read("now", "x", tuple(f"strategy#{number}{n:09}" for n in range(LINE))))
    assert (tmp_path / "reads.jsonl").stat().st_size <= MOST
    refs, left = kept(tmp_path)
    assert sum(map(len, refs)) <= KEPT
    assert left > 1000


@pytest.mark.parametrize("kind", ["missing", "folder", "link", "fifo"])
def test_a_note_that_cannot_be_written_is_no_fault(tmp_path: Path, kind: str) -> None:
    """Nothing is followed, nothing blocks, nothing is raised."""
    folder, other = tmp_path / "run", tmp_path / "other"
    other.write_text("mine")
    if kind != "missing":
        folder.mkdir()
    place = folder / "reads.jsonl"
    if kind == "folder":
        place.mkdir()
    elif kind == "link":
        place.symlink_to(other)
    elif kind == "fifo":
        os.mkfifo(place)

    note(folder, Read("now", "read strategy", ("strategy#1",)))

    assert kept(folder) == ([], 0)
    assert other.read_text() == "mine"


def test_what_a_run_wrote_there_itself_is_taken_for_no_more(tmp_path: Path) -> None:
    """Torn, strange and huge lines are passed over; a reference is short and printable."""
    good = {"at": "now", "command": "read x", "refs": ["strategy#1", "\x1b[2J", "x" * 500, 7]}
    lines = ['{"at": "n', "[]", "7", '{"refs": 5}', '{"refs": {}}', "[" * 9000, json.dumps(good)]
    (tmp_path / "reads.jsonl").write_text("\n".join(lines))

    assert [read.refs for read in reads(tmp_path)] == [("strategy#1",)]
