"""Verify reads everything and names what is damaged; reindex drops what may be dropped."""

import shutil
from pathlib import Path

import pytest

from conftest import Fleet as Call
from fleet.cursors import Cursors
from fleet.errors import BadHome
from fleet.logs import place_at
from fleet.ops.reindex import reindex
from fleet.ops.verify import verify
from fleet.runs import Verdict
from fleet.wiring import Fleet, open_fleet


@pytest.fixture
def opened(home: Path) -> Fleet:
    """A home with messages, events, claims and a run."""
    fleet = open_fleet(home, env={})
    author = fleet.author
    for number in range(100):
        fleet.talk.post(author, "strategy", f"m{number}")
        payload: dict[str, object] = {"competitor": str(number), "newPrice": "1"}
        fleet.bus.emit(author, "pricing-change", payload)
    fleet.talk.pin(author, "strategy#1")
    fleet.claims.take(author, "lead:a")
    fleet.runs.start(author, "outreach", "019b2e00-0000-7000-8000-000000000001", slot="hand:x")
    return fleet


def picture(home: Path) -> list[object]:
    """What readers see, by a fresh look at the home."""
    fleet = open_fleet(home, env={})
    board = fleet.talk.board("strategy")
    return [
        fleet.config,
        [(m, board.pins) for m in fleet.talk.read(fleet.author, "strategy", limit=200)],
        fleet.bus.latest(["pricing-change"]),
        fleet.bus.count_since("pricing-change", 0.0),
        fleet.claims.live(),
        fleet.runs.list(None, 10),
        [fleet.schemas.get(name) for name in fleet.schemas.names()],
    ]


def test_a_sound_state_has_no_findings(opened: Fleet, home: Path, fleet: Call) -> None:
    """Nothing is found where nothing is wrong, and the command says so with exit 0."""
    assert verify(opened) == []

    done = fleet("verify")

    assert (done.returncode, done.stdout) == (0, "every record and document can be read\n")


def test_how_far_on_alert_has_told_is_fleets_own(opened: Fleet) -> None:
    """The places of `operator` are no history of an agent that is gone; those of one are."""
    for name in ("operator", "retired"):
        Cursors(opened.store).advance(name, {"events": place_at(opened.store, "events", 1)})

    assert [found.file for found in verify(opened)] == ["state/cursors/retired.json"]


def test_the_files_of_a_run_may_be_gone(opened: Fleet, home: Path, fleet: Call) -> None:
    """A run's missing folder is a note of verify, and exit 4 with the reason of logs."""
    gone, unlaunched = (f"019b2e00-0000-7000-8000-00000000000{n}" for n in (2, 3))
    for run, outcome in ((gone, "ok"), (unlaunched, "config")):
        opened.runs.start(opened.author, "outreach", run, slot=f"hand:{run}")
        verdict = Verdict(outcome, "no prompt")
        opened.runs.finish("outreach", run, verdict, ended="2026-11-30T10:00:00.000+00:00")

    (note,) = verify(opened)
    files, nothing = fleet("logs", gone), fleet("logs", unlaunched)

    assert (note.severity, note.file) == ("note", f"state/run/{gone}")
    assert (files.returncode, nothing.returncode) == (4, 4)
    assert "are gone" in files.stderr
    assert "was not launched: no prompt" in nothing.stderr


def test_a_flipped_bit_is_named_by_file_and_line(
    opened: Fleet, home: Path, fleet: Call, shaped_findings
) -> None:
    """One changed byte in a log or a document is an error that names its file and line; exit 8."""
    (segment,) = (home / "state" / "events").glob("*.jsonl")
    lines = segment.read_bytes().split(b"\n")
    lines[41] = lines[41].replace(b'"newPrice":"1"', b'"newPrice":"2"')
    segment.write_bytes(b"\n".join(lines))
    document = next((home / "state" / "claims").glob("*.json"))
    document.write_bytes(document.read_bytes().replace(b"operator", b"operatos"))

    done = fleet("verify", "--json")
    named = {
        (f["file"], f["line"]) for f in shaped_findings(done.stdout) if f["severity"] == "error"
    }

    assert done.returncode == 8
    assert (str(segment.relative_to(home)), 42) in named
    assert any(file == str(document.relative_to(home)) for file, _ in named)


def test_what_stands_in_quarantine_is_history(opened: Fleet, home: Path, fleet: Call) -> None:
    """Bytes that were set aside earlier are a note and exit 0."""
    (segment,) = (home / "state" / "events").glob("*.jsonl")
    segment.write_bytes(segment.read_bytes() + b'{"half of a rec')
    fleet("emit", "pricing-change", "competitor=a", "newPrice=1")

    done = fleet("verify")

    assert done.returncode == 0
    assert "note: state/quarantine/" in done.stdout


def test_history_without_a_file_is_noted(opened: Fleet, home: Path) -> None:
    """Channels and agents that were removed keep their history, and verify says so."""
    shutil.copytree(home / "state" / "channels" / "strategy", home / "state" / "channels" / "old")

    found = verify(open_fleet(home, env={}))

    assert ("note", "state/channels/old") in [(f.severity, f.file) for f in found]


def test_a_shrunk_log_is_found_under_the_places_in_it(opened: Fleet, home: Path) -> None:
    """When a log was replaced by an older copy, verify names the agents whose places are gone."""
    opened.bus.skip(opened.author, "outreach", "now")
    (segment,) = (home / "state" / "events").glob("*.jsonl")
    segment.write_bytes(b"\n".join(segment.read_bytes().split(b"\n")[:50]) + b"\n")

    found = verify(open_fleet(home, env={}))

    assert any("outreach" in str(finding) for finding in found)


def test_reindex_gives_equal_results(opened: Fleet, home: Path, fleet: Call) -> None:
    """Dropping and computing every cache again changes nothing that a reader sees."""
    before = picture(home)
    cached = {path.name for path in (home / "state" / "cache").iterdir()}

    done = fleet("reindex")

    assert done.returncode == 0
    assert {path.name for path in (home / "state" / "cache").iterdir()} >= cached
    assert picture(home) == before


def test_deleting_every_cache_by_hand_changes_nothing(opened: Fleet, home: Path) -> None:
    """The cache folder may vanish between two commands."""
    before = picture(home)

    shutil.rmtree(home / "state" / "cache")

    assert picture(home) == before


def test_reindex_keeps_the_last_good_config_of_a_broken_home(opened: Fleet, home: Path) -> None:
    """With errors in the operator's files nothing is dropped: the cache knows the last good."""
    (home / "agents" / "outreach.yaml").write_text("shedule: [\n")

    with pytest.raises(BadHome):
        reindex(open_fleet(home, env={}, strict=True))

    assert "outreach" in open_fleet(home, env={}).config.agents
