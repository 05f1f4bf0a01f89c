"""The index of the audit: what it answers, and that it is a cache like any other."""

import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from audit.conftest import Past
from fleet.audit.index import Index, Wanted
from fleet.records import Batch
from fleet.wiring import open_fleet
from people import OPERATOR

OPENED = """
import os, sys
from pathlib import Path
from fleet.audit.index import Index, Wanted, filling
from fleet.wiring import open_fleet
filling.BATCH = 16
"""


def found(past: Past, text: str, *, limit: int = 50, **wanted: object) -> list[tuple[str, int]]:
    """Log and number of what an index opened now finds, newest first."""
    with Index(open_fleet(past.root, env={})) as index:
        rows = index.candidates(Wanted(text, **wanted), limit)
    return [(stream, seq) for _, stream, seq in rows]


def path_of(past: Past) -> Path:
    """The file."""
    return past.root / "state" / "cache" / "audit.sqlite"


def test_who_was_shown_a_record_and_what_a_run_wrote(past: Past) -> None:
    """Each run that was shown a record is named with the section, and each record a run wrote."""
    ref = past.price(OPERATOR)
    writer = past.begin("outreach", ref, "strategy#7", delivered=1)
    message = past.post(writer, "Cursor is at $20")
    answer = past.price(writer, "Zed")
    past.fleet.claims.take(writer, "lead:x")
    past.fleet.runs.report(writer, "did it")
    run = past.end(writer)
    reader = past.begin("reply-handler", message, ref)

    with Index(past.fleet) as index:
        assert index.runs_that_saw(ref) == [
            ("outreach", run, "events"),
            ("reply-handler", reader.run, "awareness"),
        ]
        assert index.runs_that_saw(message) == [("reply-handler", reader.run, "channels")]
        assert index.runs_that_saw("events#99") == []
        assert index.written_by(run) == [
            ("channels/strategy", 1, "post"),
            ("claims-log", 1, "taken"),
            ("events", 2, "pricing-change"),
            ("runs/outreach", 2, "report"),
        ]
        assert answer == "events#2"
        assert index.written_by(str(reader.run)) == []


def test_words_are_found_wherever_they_stand(past: Past) -> None:
    """All words must occur, in any case and accent; scripts without spaces are found by part."""
    past.post(OPERATOR, "The RÉSUMÉ of sarah@acme.com, 日本語で")
    past.price(OPERATOR, "Cursor")
    past.fleet.claims.take(OPERATOR, "lead:sarah@acme.com", note="mine")

    assert found(past, "resume sarah") == [("channels/strategy", 1)]
    assert found(past, "本語") == [("channels/strategy", 1)]
    assert found(past, "sarah@acme.com") == [("claims-log", 1), ("channels/strategy", 1)]
    assert found(past, "cursor pricing") == [("events", 1)]
    assert found(past, "cursor", word="post") == []
    assert found(past, "sarah", streams=["channels/strategy"]) == [("channels/strategy", 1)]
    assert found(past, "sarah", authors=("operator",), word="taken") == [("claims-log", 1)]
    assert found(past, '" OR * NEAR(') == found(past, "a:b -c ^d") == []
    assert found(past, "\ue000s1") == []


def test_it_costs_what_is_new(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second question reads only records that came since, whoever asked the first."""
    for number in range(30):
        past.post(OPERATOR, f"number {number}")
    assert len(found(past, "number")) == 30
    past.post(OPERATOR, "number last")
    fleet = open_fleet(past.root, env={})
    read: list[int] = []
    real = fleet.store.read

    def counted(*args: Any, **kw: Any) -> Batch:
        batch = real(*args, **kw)
        read.append(len(batch.records))
        return batch

    monkeypatch.setattr(fleet.store, "read", counted)

    with Index(fleet) as index:
        assert len(index.candidates(Wanted("number"), 50)) == 31

    assert sum(read) < 6


@pytest.mark.parametrize("harm", ["removed", "cut", "empty", "foreign", "link", "older", "wide"])
def test_a_bad_file_is_made_anew(past: Past, tmp_path: Path, harm: str) -> None:
    """Deleted, damaged, foreign, linked, of another version: the answer is the same, 0600 again."""
    past.post(OPERATOR, "number one")
    assert found(past, "number") == [("channels/strategy", 1)]
    path, other = path_of(past), tmp_path / "other"
    other.write_text("somebody's")
    if harm == "removed":
        path.unlink()
    elif harm == "cut":
        path.write_bytes(path.read_bytes()[:5000])
    elif harm == "empty":
        path.write_bytes(b"")
    elif harm == "foreign":
        path.write_text("no database at all, just a text that somebody left here" * 100)
    elif harm == "link":
        path.unlink()
        path.symlink_to(other)
    elif harm == "wide":
        path.chmod(0o644)
    else:
        data = bytearray(path.read_bytes())
        data[60:64] = (99).to_bytes(4, "big")  # where SQLite keeps user_version
        path.write_bytes(data)

    assert found(past, "number") == [("channels/strategy", 1)]

    assert other.read_text() == "somebody's"
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    assert not path.is_symlink()


def test_a_replaced_log_is_taken_in_anew(past: Past) -> None:
    """A log that was restored or shortened leaves nothing of the old one in any answer."""
    for text in ("old one", "old two"):
        past.post(OPERATOR, text)
    assert len(found(past, "old")) == 2
    (segment,) = (past.root / "state" / "channels" / "strategy").glob("*.jsonl")
    segment.unlink()
    past.post(OPERATOR, "new")

    assert found(past, "old") == []
    assert [stream for stream, _ in found(past, "new")] == ["channels/strategy"]


def test_without_a_place_for_it_it_is_made_in_memory(past: Past) -> None:
    """A cache that cannot be written costs time and no answer; without a state nothing is made."""
    assert found(past, "number") == []
    assert not path_of(past).exists()

    past.post(OPERATOR, "number one")
    path_of(past).parent.mkdir(exist_ok=True)
    path_of(past).mkdir()
    assert found(past, "number") == [("channels/strategy", 1)]


def test_processes_that_fill_it_at_once_agree(past: Past) -> None:
    """Four processes on an empty index: each answers right, and every record is in it once."""
    for number in range(120):
        past.post(OPERATOR, f"number {number}")
        past.price(OPERATOR, f"number {number}")
    code = f"""{OPENED}
with Index(open_fleet(Path(sys.argv[1]), env={{}})) as index:
    print(len(index.candidates(Wanted("number"), 999)))
"""
    argv = [sys.executable, "-c", code, str(past.root)]
    asking = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(4)]

    assert [one.communicate(timeout=60)[0].strip() for one in asking] == ["240"] * 4
    assert len(set(found(past, "number", limit=999))) == 240


def test_what_was_killed_while_filling_is_taken_up(past: Past) -> None:
    """A process that dies in the middle of a batch leaves no half of it."""
    for number in range(60):
        past.post(OPERATOR, f"number {number}")
    code = f"""{OPENED}
put = filling._Filler.take
def take(self, batch):
    done = put(self, batch)
    return os._exit(9) if batch[-1].seq > 30 else done
filling._Filler.take = take
with Index(open_fleet(Path(sys.argv[1]), env={{}})) as index:
    index.refresh()
"""
    killed = subprocess.run([sys.executable, "-c", code, str(past.root)], check=False)

    assert killed.returncode == 9
    assert len(found(past, "number", limit=999)) == 60
