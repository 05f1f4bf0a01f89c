"""P15: after a stall each agent runs at most once to catch up, and the gap is recorded."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fleet.runner.lastlook import LastLook
from fleets import Scripted, running, until
from unspawned import Unspawned
from wallclock import WallClock

SCHEDULES = {
    "often": "{every: 1m}",
    "tens": "{every: 10m}",
    "hourly": '"0 * * * *"',
    "several": '["5 * * * *", {every: 20m}]',
    "woken": "{every: 30m}",
}
NINE = datetime(2027, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def up(scripted: Scripted) -> Unspawned:
    """A runner over agents of all sorts that looked each minute for a while."""
    for name, schedule in SCHEDULES.items():
        scripted.agent(name, "true", "catch_up: 2h", schedule=schedule)
    scripted.agent("woken", "true", "catch_up: 2h", "wake_on: {types: [note]}", schedule="null")
    fleet_yaml = scripted.root / "fleet.yaml"
    fleet_yaml.write_text(fleet_yaml.read_text().replace("concurrency: 4", "concurrency: 9"))
    return Unspawned(scripted)


def watched(up: Unspawned, chore: LastLook, minutes: int) -> None:
    """Looks each minute, each run over at once."""
    for _ in range(minutes):
        for name in up.look(60):
            up.over(name)
        chore.look(up.fleet, up.now)


def gaps(up: Unspawned) -> list[tuple[object, object]]:
    """From when until when nobody was watching, as recorded."""
    records = up.fleet.store.read("fires", 0, 10_000).records
    bodies = [record.body for record in records if record.body["op"] == "unwatched"]
    return [(body["since"], body["until"]) for body in bodies]


@pytest.mark.parametrize(("stall", "hours"), [("suspended", 3), ("down", 1), ("down", 50)])
def test_each_agent_runs_once_after_it(up: Unspawned, stall: str, hours: int) -> None:
    """P15: asleep or without a runner for hours: one run each, all slots and the gap on record."""
    chore = LastLook()
    watched(up, chore, 5)
    before = {name: len(up.fires(name)) for name in SCHEDULES}
    last = up.now
    up.emit()
    up.clock.advance(hours * 3600)
    if stall != "suspended":
        up.restart()
        chore = LastLook()

    up.look()
    chore.look(up.fleet, up.now)

    assert gaps(up) == [(last.isoformat(), up.now.isoformat())]
    for name in SCHEDULES:
        results = [fire["result"] for fire in up.fires(name)[before[name] :]]
        assert results.count("started") == 1, (name, results)
        assert set(results) <= {"started", "coalesced", "missed"}, name
    runs = up.fleet.runs.list(None, len(SCHEDULES))
    assert {run.agent for run in runs if run.caught_up} == set(SCHEDULES) - {"woken"}
    watched(up, chore, 1)
    assert len(gaps(up)) == 1


def test_short_pauses_are_no_gap(up: Unspawned) -> None:
    """P15: a slow pass or a restart within minutes is nothing that a person has to know."""
    chore = LastLook()
    watched(up, chore, 2)
    up.clock.advance(240)
    up.restart()
    watched(up, LastLook(), 2)

    assert gaps(up) == []


def test_a_machine_that_slept_catches_up_once(scripted: Scripted, tmp_path: Path) -> None:
    """P15: `fleet up` over a sleep of three hours, its agents due each quarter of an hour."""
    clock = WallClock(tmp_path / "clock")
    for name in ("one", "two"):
        scripted.agent(name, "cat > /dev/null; echo done", schedule='"*/15 * * * *"')
    clock.set(NINE - timedelta(minutes=2))

    with running(scripted, env=clock.env) as up:
        clock.set(NINE)
        assert until(lambda: len(scripted.ended()) == 2, 10), up.said()
        clock.set(NINE + timedelta(hours=3))
        assert until(lambda: len(scripted.ended()) == 4, 10), up.said()
        assert until(lambda: len(scripted.fires()) == 2 * 13, 10), up.said()
        up.stop()

    assert len(scripted.runs()) == 4
    assert sum(run.caught_up for run in scripted.runs()) == 2
    told = scripted.call("timeline", "--limit", "50").stdout
    assert told.count("nobody was watching from 2027-03-01 09:00 to 2027-03-01 12:00") == 1, told
