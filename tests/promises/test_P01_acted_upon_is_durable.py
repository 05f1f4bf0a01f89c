"""P1: what somebody acted upon survives a power cut, whoever wrote it and died before its sync."""

import random
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from fleet import identity
from fleet.context import build
from fleet.identity import SYSTEM
from fleet.records import Place, new_id, rfc3339
from fleet.runner import launch, settle
from fleet.runner.engine import Engine
from fleet.runner.gates import Gates
from fleet.runner.keepers import Keepers
from fleet.runner.slots import Slots
from fleet.runs import Verdict
from fleet.stores.files import disk
from fleet.wiring import Fleet, open_fleet
from fleets import Scripted
from stores.power import Cut, Power, until_cut


@pytest.fixture
def home(scripted: Scripted) -> Scripted:
    """A home with two agents."""
    scripted.agent("worker", "cat > /dev/null; echo done")
    scripted.agent("later", "cat > /dev/null; echo done")
    return scripted


@pytest.fixture
def power(home: Scripted, monkeypatch: pytest.MonkeyPatch) -> Iterator[Power]:
    """The disk below the home, and its switch."""
    found = Power(home.root, monkeypatch)
    yield found
    found.close()


def after(power: Power, target: Path, rng: random.Random | None = None) -> Fleet:
    """The home as it is found after a cut; the operator's files and the caches are all there."""
    power.survivors(target, rng)
    for path in power.root.iterdir():
        if path.is_dir() and path.name != "state":
            shutil.copytree(path, target / path.name, dirs_exist_ok=True)
        elif path.is_file():
            shutil.copy(path, target)
    cache = power.root / "state" / "cache"
    if cache.exists():
        shutil.copytree(cache, target / "state" / "cache", dirs_exist_ok=True)
        (target / "state" / "cache").chmod(0o700)
    return open_fleet(target, env={})


def written_unsynced(
    monkeypatch: pytest.MonkeyPatch, write: Callable[[], object], last: bytes = b""
) -> None:
    """Do `write` in a process that is killed before the sync of what holds `last`."""
    written: list[bytes] = []
    real = disk.write, disk.sync_file

    def note(fd: int, data: bytes) -> int:
        written.append(data)
        return real[0](fd, data)

    def die(fd: int) -> None:
        if any(last in data for data in written):
            raise Cut
        real[1](fd)

    with monkeypatch.context() as dying:
        dying.setattr(disk, "write", note)
        dying.setattr(disk, "sync_file", die)
        with until_cut():
            write()


def test_what_a_context_for_a_run_showed_is_durable(
    home: Scripted, power: Power, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An event and a message that were read before their sync, and shown to a run, stay."""
    home.fleet.bus.emit(SYSTEM, "note", {"n": "1"})
    home.fleet.talk.post(home.fleet.author, "strategy", "hello")
    fleet = home.fleet
    written_unsynced(monkeypatch, lambda: home.fleet.bus.emit(SYSTEM, "note", {"n": "2"}))
    written_unsynced(
        monkeypatch, lambda: home.fleet.talk.post(home.fleet.author, "strategy", "too")
    )
    lost = after(power, tmp_path / "before")
    assert (lost.store.head("events"), lost.store.head("channels/strategy")) == (1, 1)

    launch.ready(fleet, fleet.config.agents["worker"])
    context = build(fleet.sources(), fleet.config.agents["worker"], run="r", durable=True)

    left = after(power, tmp_path / "left")
    assert set(context.shown) == {"events#1", "events#2", "strategy#1", "strategy#2"}
    assert left.bus.get(2).id == fleet.bus.get(2).id
    assert left.store.head("channels/strategy") == 2
    assert left.bus.lane_check("worker") == []


def test_what_a_collaborator_reported_is_durable_once_it_is_told(
    home: Scripted, power: Power, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A report that was read before its sync, and told to another agent's run, stays."""
    home.agent("worker", "true", "collaborators: [later]")
    fleet = home.fleet
    run = prepared(fleet, "later")
    env = token_of(fleet, "later", run)
    author = identity.resolve(fleet.store, env, known_agents=("later",))
    assert fleet.runs.last_ended("later") is None  # a warm fold: a cold one syncs as well
    written_unsynced(monkeypatch, lambda: home.fleet.runs.report(author, "mailed 4 leads"))
    assert not after(power, tmp_path / "before").runs.find(run).report

    worker = fleet.config.agents["worker"]
    context = build(home.fleet.sources(), worker, run="r", durable=True)

    assert "mailed 4 leads" in context.context_md
    assert after(power, tmp_path / "left").runs.find(run).report == "mailed 4 leads"


def test_a_repeated_id_that_was_acknowledged_is_durable(
    home: Scripted, power: Power, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever repeats an id and hears the first record may rely on it."""
    payload: dict[str, object] = {"n": "1"}
    home.fleet.bus.emit(SYSTEM, "note", {"n": "0"})
    written_unsynced(monkeypatch, lambda: home.fleet.bus.emit(SYSTEM, "note", payload, key="K"))

    again = home.fleet.bus.emit(SYSTEM, "note", payload, key="K")

    assert after(power, tmp_path / "left").bus.get(2) == again


def test_a_saved_fold_holds_nothing_that_a_cut_takes_away(
    home: Scripted, power: Power, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A cache that outlives a cut never counts a record whose number another one got."""
    home.fleet.bus.emit(SYSTEM, "note", {"n": "0"})
    written_unsynced(monkeypatch, lambda: home.fleet.bus.emit(SYSTEM, "note", {"n": "lost?"}))
    assert len(home.fleet.bus.latest(["note"])) == 2
    assert [path for path in (home.root / "state" / "cache").iterdir() if "fold" in path.name]

    left = after(power, tmp_path / "left")
    left.bus.emit(SYSTEM, "note", {"n": "next"})

    with_cache = left.bus.latest(["note"])
    shutil.rmtree(left.root / "state" / "cache")
    assert open_fleet(left.root, env={}).bus.latest(["note"]) == with_cache
    assert [event.seq for event in with_cache] == [1, 2, 3]


def test_a_skip_counts_nothing_that_a_cut_takes_away(
    home: Scripted, power: Power, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A lane that an operator moved to the newest event stands on a record that is there."""
    home.fleet.bus.emit(SYSTEM, "note", {"n": "0"})
    written_unsynced(monkeypatch, lambda: home.fleet.bus.emit(SYSTEM, "note", {"n": "1"}))

    place = home.fleet.bus.skip(home.fleet.author, "worker", "now")

    left = after(power, tmp_path / "left")
    assert (place.seq, left.store.head("events")) == (2, 2)
    assert left.bus.lane_check("worker") == []


def prepared(fleet: Fleet, name: str = "worker") -> str:
    """A run with its context and record, as `launch.start` makes it, not launched."""
    agent, run = fleet.config.agents[name], new_id(fleet.store.now().wall)
    launch.reserve(fleet, agent, run)
    launch.ready(fleet, agent)
    context, _ = launch._prepare(fleet, agent, run)
    facts = context.manifest["facts"]
    assert isinstance(facts, dict)
    fleet.runs.start(SYSTEM, name, run, slot=f"hand:{run}", context=facts)
    launch.hold(fleet, agent, run)
    return run


def test_lanes_follow_only_an_end_that_is_durable(
    home: Scripted, power: Power, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A run's end that its settler never synced moves no lane before it is on the disk."""
    fleet = home.fleet
    fleet.bus.emit(SYSTEM, "note", {"n": "1"})
    run = prepared(fleet)
    written_unsynced(
        monkeypatch,
        lambda: settle.finish(home.fleet, "worker", run, Verdict("ok")),
        last=b'"op":"ended"',
    )
    assert fleet.runs.find(run).outcome == "ok"

    launch.ready(home.fleet, fleet.config.agents["worker"])

    left = after(power, tmp_path / "left")
    assert left.bus.lag("worker", {}) == 0
    assert left.runs.find(run).outcome == "ok"


def test_a_slot_is_closed_only_by_a_start_that_is_durable(
    home: Scripted, power: Power, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A runner that finds the start of a killed one settles the slot once that start is synced."""
    home.agent("worker", "true", schedule="{every: 1h}")
    agent = home.fleet.config.agents["worker"]
    slots, now = Slots(home.fleet.store), datetime.now(UTC)
    slots.notice(agent, ZoneInfo("UTC"), now - timedelta(minutes=50))
    (slot,) = slots.notice(agent, ZoneInfo("UTC"), now + timedelta(minutes=10))
    assert slots.take("worker", slot, "run-1")
    written_unsynced(
        monkeypatch,
        lambda: home.fleet.runs.start(SYSTEM, "worker", "run-1", slot=slot.name),
        last=b'"op":"started"',
    )

    Engine(home.fleet, Keepers(), Gates(), lambda _line: None).look(now + timedelta(minutes=10))

    assert slots.open("worker") == []

    left = after(power, tmp_path / "left")
    assert [fire.body["run"] for fire in left.store.read("fires", 0, 9).records] == ["run-1"]
    assert left.runs.find("run-1").open


def test_what_woke_an_agent_is_durable(
    home: Scripted, power: Power, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An event that was read before its sync, and for which a wake was opened, stays."""
    home.agent("worker", "true", "wake_on: {types: [note]}")
    engine = Engine(home.fleet, Keepers(), Gates(), lambda _line: None)
    engine.look(datetime.now(UTC))
    home.fleet.controls.set("fleet", "paused", by="operator", reason="")
    written_unsynced(monkeypatch, lambda: home.fleet.bus.emit(SYSTEM, "note", {"n": "1"}))
    assert after(power, tmp_path / "before").store.head("events") == 0

    engine.look(datetime.now(UTC))

    left = after(power, tmp_path / "left")
    assert [slot.cause for slot in Slots(left.store).open("worker")] == ["events#1"]
    assert left.store.head("events") == 1


def a_day(home: Scripted, said: dict[str, str], name: str = "worker") -> None:
    """What happens on a day, a run and its end included; each thing is said once it is done."""
    fleet = home.fleet
    person = fleet.author
    for n in range(3):
        record = fleet.bus.emit(person, "note", {"n": str(n)}, key=f"{fleet.store.head('events')}")
        said[f"{record.stream}#{record.seq}"] = record.id
    record = fleet.talk.post(person, "strategy", "hello", pin=True)
    said[f"{record.stream}#{record.seq}"] = record.id
    claim = fleet.claims.take(person, "lead:a", keep=3600)
    said["lead:a"] = str(claim.token)
    run = prepared(fleet, name)
    author = identity.resolve(fleet.store, token_of(fleet, name, run), known_agents=(name,))
    record = fleet.runs.report(author, "done")
    said[f"{record.stream}#{record.seq}"] = record.id
    said[run] = str(settle.finish(fleet, name, run, Verdict("ok")).outcome)
    fleet.claims.release(person, "lead:a")


def token_of(fleet: Fleet, name: str, run: str) -> dict[str, str]:
    """The environment of the run, made anew."""
    token = identity.issue_token(fleet.store, run, name, "", 60.0, hops=0)
    return {"FLEET_RUN_TOKEN": token, "FLEET_RUN_ID": run}


def check_day(left: Fleet, said: dict[str, str]) -> None:
    """All that was said is there, lanes stand on records that are, and the next day can begin."""
    for name, value in said.items():
        if "#" in name:
            stream, _, seq = name.rpartition("#")
            records = left.store.read(stream, 0, 99).records
            assert {str(record.seq): record.id for record in records}[seq] == value
        elif name == "lead:a":
            body = left.store.get("claims/lead:a")[0]
            assert body is not None
            assert str(body["token"]) >= value
        else:
            assert left.runs.find(name).outcome == value
    consumed = left.cursors.get("worker").get("events/broadcast", Place(0)).seq
    shown = [ref for run in left.runs.list("worker", 9) if run.advance for ref in run.delivered]
    assert {f"events#{seq}" for seq in range(1, consumed + 1)} <= set(shown)
    assert left.bus.lane_check("worker") == []
    settle.reconcile(left)
    bound = rfc3339(left.store.now().wall + launch.PREPARES)
    assert all(claim.expires < bound for claim in left.claims.live() if claim.key != "lead:a")
    assert [one for one in left.store.verify() if one.severity == "error"] == []


def cut_a_day(home: Scripted, tmp_path: Path, at: int, *, chance: bool) -> bool:
    """Cut the power at call number `at` of two days in a row; whether they ended before it."""
    said: dict[str, str] = {}
    root = tmp_path / f"home-{at}"
    shutil.copytree(home.root, root)
    day = Scripted.at(root)
    with pytest.MonkeyPatch.context() as wires:
        power = Power(root, wires)
        power.cut_at = at
        with until_cut():
            a_day(day, said)
            a_day(day, said)
        left = after(power, tmp_path / f"left-{at}", random.Random(at) if chance else None)
        over = power.calls < at
        power.close()
    with pytest.MonkeyPatch.context() as calm:
        calm.setattr(disk, "sync_file", lambda _: None)
        calm.setattr(disk, "sync_folder", lambda _: None)
        check_day(left, said)
        a_day(Scripted.at(left.root), {}, "later")
    return over


@pytest.mark.parametrize("chance", [False, True], ids=["only what was synced", "and by chance"])
def test_two_days_survive_a_cut_at_any_call(home: Scripted, tmp_path: Path, chance: bool) -> None:
    """Events, messages, claims and a run, cut at every 23rd call to the disk."""
    at = 5
    while not cut_a_day(home, tmp_path, at, chance=chance):
        at += 23
    assert at > 150


@pytest.mark.prove
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("chance", [False, True], ids=["only what was synced", "and by chance"])
def test_two_days_survive_a_cut_at_every_call(home: Scripted, tmp_path: Path, chance: bool) -> None:
    """The same, at each call in turn."""
    at = 1
    while not cut_a_day(home, tmp_path, at, chance=chance):
        at += 1
    assert at > 150
