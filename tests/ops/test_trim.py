"""Trimming moves old records to the archive, packed, and changes nothing that anybody is told."""

import gzip
import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from calls import call, many, tree
from clocks import FakeClock
from fleet.bus.counts import emitted_by
from fleet.context import build
from fleet.errors import Finding, NotStarted
from fleet.ops.trim import Log, Moved, else_needed, logs, losses, trim
from fleet.ops.verify import verify
from fleet.records import Body, Draft
from fleet.runner.by_hand import run_by_hand
from fleet.stores.files import FilesStore
from fleet.talk.limits import limits
from fleet.talk.posted import by_run
from fleet.wiring import Fleet
from fleets import Scripted

SHAPES = Path(__file__).parents[2] / "docs" / "json"
RUN = "019b2e00-0000-7000-8000-00000000000"
AT_ONCE = 100  # records of one append, and of a segment


def opened(home: Scripted, clock: Callable[[], object] | None = None) -> Fleet:
    """The home with segments so small that each append fills one."""
    fleet = home.fleet
    more = {"clock": clock} if clock else {}
    fleet.__dict__["_files"] = FilesStore(home.root / "state", segment_bytes=1024, **more)  # type: ignore[arg-type]
    return fleet


def events(fleet: Fleet, count: int, **said: object) -> None:
    """So many segments of events, by two runs in turn."""
    for n in range(count):
        common: Body = {"op": "event", "type": "note", "from_agent": "a", "to_agent": None}
        common |= {"cause": None, "hops": 0, **said}
        drafts = [
            Draft({**common, "payload": {"n": f"{n}.{i}"}, "run": f"{RUN}{i % 2}"})
            for i in range(AT_ONCE)
        ]
        fleet.store.append("events", drafts)


def posts(fleet: Fleet, count: int) -> None:
    """So many segments of messages, in threads of two agents."""
    for n in range(count):
        drafts = []
        for i in range(AT_ONCE):
            body: Body = {"op": "post", "from_agent": ("a", "b")[i % 2], "text": f"{n}.{i}"}
            body |= {"reply_to": None, "thread": f"strategy#{n + 1}", "pin": (n, i) == (0, 7)}
            drafts.append(Draft({**body, "run": f"{RUN}{i % 2}", "events": 1}))
        fleet.store.append("channels/strategy", drafts)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Scripted:
    """Eight segments of events, messages and claims, rare ones first; all was read."""
    scripted = Scripted(tmp_path_factory.mktemp("full") / "home")
    scripted.put("channels/strategy.yaml", "name: S\npurpose: p\nmembers: all\nkeep: 850\n")
    scripted.put(
        "schemas/rare.json",
        (scripted.root / "schemas" / "note.json").read_text().replace('"note"', '"rare"'),
    )
    for name in ("reader", "other"):
        scripted.agent(name, "cat > /dev/null; echo done")
    fleet = opened(scripted)
    events(fleet, 1, type="rare", subject="draft:1")
    fleet.store.append("events", [_keyed("first")])
    fleet.claims.take(fleet.author, "lead:kept", keep=86_400.0)
    events(fleet, 8)
    posts(fleet, 8)
    for n in range(12):
        fleet.talk.react(fleet.author, f"strategy#{50 * n + 5}", "important")
    for _ in range(8):
        fleet.store.append("claims-log", [Draft(_claim(n)) for n in range(AT_ONCE)])
    for agent in ("reader", "other"):
        _read_all(fleet, agent)
    return scripted


@pytest.fixture
def grown(full: Scripted, tmp_path: Path) -> Scripted:
    """A copy of it."""
    shutil.copytree(full.root, tmp_path / "home")
    return Scripted.at(tmp_path / "home")


def _keyed(key: str) -> Draft:
    body: Body = {"op": "event", "type": "rare", "from_agent": "a", "to_agent": None, "hops": 0}
    same = ("from_agent", "type", "to_agent", "payload")
    return Draft(body | {"payload": {"n": key}, "cause": None, "run": None}, key=key, same=same)


def _claim(n: int) -> Body:
    return {"op": "released", "claim": f"lead:{n}", "holder": "a", "run": None, "version": 2}


def _read_all(fleet: Fleet, agent: str) -> None:
    fleet.bus.skip(fleet.author, agent, "now")
    place = fleet.talk.board("strategy").place
    fleet.cursors.advance(agent, {"channels/strategy": place})


def picture(home: Scripted) -> list[object]:
    """All that is computed from the logs, by a fresh look."""
    fleet = home.fleet
    board = fleet.talk.board("strategy")
    newest = fleet.store.now().wall
    return [
        fleet.bus.latest(["note", "rare"]),
        [fleet.bus.count_since(kind, newest - 3600) for kind in ("note", "rare")],
        [emitted_by(fleet.store, fleet.cache, f"{RUN}{n}") for n in range(2)],
        {name: fleet.metrics.announced(name) for name in fleet.metrics.subjects()},
        (board.messages, board.pins, board.total, board.complete_after),
        limits(fleet.store, fleet.cache, "strategy", 6).state,
        by_run(fleet.store, fleet.cache, "strategy"),
        fleet.claims.live(),
        [fleet.bus.lag(agent, {}) for agent in ("reader", "other")],
    ]


def done(home: Scripted, **how: object) -> dict[str, Moved]:
    """What a trim did, by log."""
    with home.fleet.maintained(shared=False):
        return {moved.stream: moved for moved in trim(opened(home), **how)}  # type: ignore[arg-type]


def archived(home: Scripted, stream: str) -> list[Path]:
    """The packed segments of a log."""
    return sorted((home.root / "state" / "archive" / stream).glob("*.jsonl.gz"))


def test_what_is_computed_from_the_logs_stays(grown: Scripted) -> None:
    """Newest events, counts, subjects, pins, old messages, claims: equal before and after.

    With the caches and without them, and after more was written. An old key is the old record.
    """
    before = picture(grown)
    for agent in ("reader", "other"):
        build(grown.fleet.sources(), grown.fleet.config.agents[agent], run="x")
    computed = {path.name for path in (grown.root / "state" / "cache").glob("fold%2F*")}
    live = {
        stream: b"".join(path.read_bytes() for path in _live(grown, stream))
        for stream in ("events", "claims-log")
    }

    moved = done(grown)

    assert {stream: one.segments for stream, one in moved.items()} == {
        "events": 4, "channels/strategy": 3, "claims-log": 3,
    }  # fmt: skip
    for stream, data in live.items():
        packed = b"".join(gzip.decompress(path.read_bytes()) for path in archived(grown, stream))
        rest = b"".join(path.read_bytes() for path in _live(grown, stream))
        assert packed + rest == data
    for stream in moved:
        begin = f"fold%2F{stream.replace('/', '%2F')}%2F"
        names = {name.removeprefix(begin) for name in computed if name.startswith(begin)}
        names = {name.partition("@")[0] for name in names}
        folder = grown.root / "state" / "archive" / stream
        assert names - {"damaged"} == {path.stem for path in folder.glob("*.value")}, stream
    assert picture(grown) == before
    shutil.rmtree(grown.root / "state" / "cache")
    assert picture(grown) == before
    assert [found for found in verify(grown.fleet) if found.severity != "note"] == []
    again = opened(grown).store.append("events", [_keyed("first")])[0]
    assert (again.seq, picture(grown)) == (101, before)
    fleet = grown.fleet
    fleet.bus.emit(fleet.author, "rare", {"n": "new"})
    after = picture(grown)
    shutil.rmtree(grown.root / "state" / "cache")
    assert picture(grown) == after
    assert after[0] != before[0]
    assert done(grown) == {}  # nothing more may go


def _live(home: Scripted, stream: str) -> list[Path]:
    return sorted((home.root / "state" / stream).glob("*.jsonl"))


def test_without_a_word_nothing_is_changed(grown: Scripted) -> None:
    """`fleet trim` prints every log with its sizes, what may go and what holds it; no file moves.

    Its JSON has the documented shape, and the sizes are those of the files.
    """
    _ = picture(grown)
    state = grown.root / "state"
    before = {name: kept for name, kept in tree(state).items() if not name.startswith("cache")}

    plain, lines = many(
        grown.root, [call("trim"), call("trim", "--json")], {"FLEET_HOME": str(grown.root)}
    )

    assert before == {k: kept for k, kept in tree(state).items() if not k.startswith("cache")}
    schema = json.loads((SHAPES / "stored.json").read_text())
    found = {}
    for line in lines.out.splitlines():
        said = json.loads(line)
        jsonschema.validate(said, schema)
        found[said["what"]] = said
    for stream in ("events", "channels/strategy", "claims-log"):
        assert found[stream]["live"] == sum(path.stat().st_size for path in _live(grown, stream))
        assert 0 < found[stream]["can_go"] < found[stream]["live"]
        assert "the newest 500 records stay" in found[stream]["held_by"]
    assert found["run folders"]["live"] == 0
    assert "what holds the rest" in plain.out


def test_who_has_not_read_holds_a_log_back(grown: Scripted) -> None:
    """The slowest enabled agent is named; a disabled one, and one that reads it not, hold nothing.

    So is a run that has not ended.
    """
    grown.agent("slow", "true", "start: all")
    grown.agent("off", "true", "start: all", "enabled: false")
    grown.agent("deaf", "true", "start: now", "channels: []")

    by_nothing = _log(grown, "events")
    fleet = grown.fleet
    fleet.bus.skip(fleet.author, "slow", "events#250")
    by_lane = _log(grown, "events")
    _read_all(fleet, "slow")
    fleet.runs.start(fleet.author, "other", f"{RUN}9", slot="hand:x")
    free = _log(grown, "events")
    events(opened(grown), 6)
    for agent in ("reader", "other", "slow"):
        _read_all(fleet, agent)
    by_run = _log(grown, "events")

    assert (by_nothing.going, by_nothing.held) == ((), "slow has read nothing of it yet")
    assert (len(by_lane.going), by_lane.held) == (2, "slow has read up to events#250")
    assert (len(free.going), free.held) == (4, "the newest 500 records stay")
    assert by_run.held.startswith(f"run {RUN[:13]} of other has not ended")


def _log(home: Scripted, stream: str) -> Log:
    return next(log for log in logs(home.fleet) if log.stream == stream)


def test_a_long_event_that_is_the_newest_of_its_type_stays(scripted: Scripted) -> None:
    """What awareness shows is read from the log when it is too long to be held: it does not go."""
    scripted.agent("reader", "true", "start: now")
    fleet = opened(scripted)
    fleet.bus.emit(fleet.author, "note", {"n": "x" * 3000})
    events(fleet, 8, type="other")
    fleet.bus.skip(fleet.author, "reader", "now")

    found = _log(scripted, "events")

    assert (found.going, found.held) == ((), "events#1 is among the newest of its type, and long")


def test_force_says_who_loses_what(grown: Scripted) -> None:
    """A forced trim passes a lane with a loud line, and the agent's next context says how many.

    Once its lanes have passed the mark it is told no more.
    """
    grown.agent("slow", "cat > /dev/null; echo done", "start: all")
    grown.fleet.bus.skip(grown.fleet.author, "slow", "events#1")

    moved = done(grown, force=True)
    told = build(grown.fleet.sources(), grown.fleet.config.agents["slow"], run="x").context_md
    run = grown.call("run", "slow")
    _read_all(grown.fleet, "slow")
    after = build(grown.fleet.sources(), grown.fleet.config.agents["slow"], run="x").context_md

    assert moved["events"].unseen == (("slow", 300),)
    assert moved["channels/strategy"].unseen == (("slow", 300),)
    assert list(losses(moved["events"])) == ["events: slow WILL NEVER BE SHOWN 300 records of it"]
    assert "300 more were trimmed before you saw them" in told
    assert "300 more were trimmed before you read them" in told
    assert run.returncode == 0
    assert "were trimmed" not in after
    assert "reader" not in str(moved)
    alerts = [one.body["kind"] for one in grown.fleet.store.read("alerts", 0, 99).records]
    assert set(alerts) == {"trimmed-unread"}


def test_young_records_stay_and_no_more_goes_than_asked_for(scripted: Scripted) -> None:
    """--keep leaves what is younger; --free takes the oldest of all logs first, and stops.

    Where it is not reached, what else holds room is said.
    """
    clock = FakeClock()
    scripted.agent("reader", "true", "start: now")
    fleet = opened(scripted, clock)
    for _ in range(8):
        events(fleet, 1)
        posts(fleet, 1)
        clock.advance(86_400.0)
    _read_all(fleet, "reader")

    week = [moved.segments for moved in trim(fleet, keep=8.5 * 86_400)]
    days = {one.stream: one.segments for one in trim(fleet, keep=7.5 * 86_400)}
    one = trim(fleet, free=1)
    rest = trim(fleet, free=1 << 40)

    assert week == []
    assert days == {"events": 1, "channels/strategy": 1}
    assert [moved.segments for moved in one] == [1]
    assert sum(moved.segments for moved in rest) == 3
    notes = list(else_needed(fleet, logs(fleet)))
    assert any(note.startswith("state/archive has") for note in notes)
    assert any("the newest 500 records stay" in note for note in notes)


def test_the_command_says_when_too_little_went(grown: Scripted) -> None:
    """`--free` that is not reached is exit 8 with notes; `--json` prints what was done."""
    short, again = many(
        grown.root,
        [call("trim", "--free", "1GiB", "--json"), call("trim", "--keep", "1d")],
        {"FLEET_HOME": str(grown.root)},
    )

    assert short.code == 8
    assert "of 1.0 GiB are free now" in short.err
    assert "fleet: note: state/archive has" in short.err
    schema = json.loads((SHAPES / "trimmed.json").read_text())
    for line in short.out.splitlines():
        jsonschema.validate(json.loads(line), schema)
    assert {json.loads(line)["what"] for line in short.out.splitlines()} >= {"events"}
    assert (again.code, again.out) == (0, "nothing could go: fleet trim says what holds it\n")


def test_a_packing_that_was_broken_off_is_done_again(grown: Scripted) -> None:
    """A segment that stands in the archive plain, or in both forms, is packed by the next trim."""
    fleet = opened(grown)
    fleet.store.trim("events", 250)
    first, second = sorted((grown.root / "state" / "archive" / "events").glob("0*.jsonl"))
    first.with_name(f"{first.name}.gz").write_bytes(b"half of it")
    whole = first.read_bytes(), second.read_bytes()

    moved = done(grown, keep=86_400.0)

    assert moved["events"].segments == 0
    assert moved["events"].freed > 0
    packed = archived(grown, "events")
    assert tuple(gzip.decompress(path.read_bytes()) for path in packed) == whole
    assert list((grown.root / "state" / "archive" / "events").glob("0*.jsonl")) == []


def test_a_trim_on_a_full_disk_loses_nothing(grown: Scripted) -> None:
    """Where a segment cannot be packed: one line, exit 75, and the next trim goes on from there."""
    before = picture(grown)
    refused = subprocess.run(
        [sys.executable, "-m", "fleet", "--home", str(grown.root), "trim", "--keep", "0"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)),
    )

    assert refused.returncode == 75
    assert refused.stderr.count("\n") == 1
    assert picture(grown) == before
    assert done(grown)["events"].segments == 4
    assert picture(grown) == before
    assert [found for found in verify(grown.fleet) if found.severity != "note"] == []


def test_damage_in_the_archive_is_named(grown: Scripted) -> None:
    """A flipped bit in a packed segment, a cut one, a damaged value: errors by file and line."""
    done(grown)
    one, two, three, _ = archived(grown, "events")
    data = bytearray(gzip.decompress(one.read_bytes()))
    data[data.index(b'"payload"')] ^= 1
    one.write_bytes(gzip.compress(bytes(data)))
    two.write_bytes(two.read_bytes()[:-30])
    three.write_bytes(b"no gzip")
    (value, *_) = sorted((grown.root / "state" / "archive" / "events").glob("*.value"))
    value.write_bytes(value.read_bytes()[:-1])

    found = [finding for finding in verify(grown.fleet) if finding.severity == "error"]

    assert (f"state/archive/events/{one.name}", 1) in [(f.file, f.line) for f in found]
    named = {finding.file.rpartition("/")[2] for finding in found}
    assert {one.name, two.name, three.name, value.name} <= named
    assert all(isinstance(finding, Finding) for finding in found)


def test_a_full_disk_names_the_way_out(scripted: Scripted) -> None:
    """What does not start for want of room says that `fleet trim` shows what could go."""
    scripted.agent("worker", "true")
    path = scripted.root / "fleet.yaml"
    path.write_text(path.read_text().replace("min_free: 1MiB", "min_free: 9000TiB"))

    with pytest.raises(NotStarted, match="fleet trim says what could go"):
        run_by_hand(scripted.fleet, "worker")
