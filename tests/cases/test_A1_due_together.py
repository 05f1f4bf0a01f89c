"""Agents that are due together."""

from datetime import UTC, datetime
from pathlib import Path

from fleets import Scripted, running, until
from wallclock import WallClock

NAMES = [f"agent{number:02d}" for number in range(15)]
WORK = "cat > /dev/null; touch alive; ls ../*/alive | wc -l; sleep 0.3; rm alive; echo done"
SLOT = "2027-03-01T09:00:00+00:00"


def test_none_of_fifteen_is_lost(tmp_path: Path, clock: WallClock) -> None:
    """A1: 15 agents due at one instant under a cap of 4 all run, or have a record that says why."""
    home = Scripted(tmp_path / "home", concurrency=4)
    for name in NAMES:
        home.agent(name, WORK, schedule='"0 * * * *"')
    home.call("pause", NAMES[3], "--reason", "new provider")
    home.call("halt", NAMES[7], "--reason", "wrong list")
    clock.set(datetime(2027, 3, 1, 8, 55, tzinfo=UTC))

    with running(home, env=clock.env) as up:
        clock.set(datetime(2027, 3, 1, 9, tzinfo=UTC))
        assert until(lambda: len(home.fires()) == 15 and len(home.ended()) == 13, 60), up.said()
        assert up.stop() == 0

    assert [run.outcome for run in home.runs()] == ["ok"] * 13
    results = {str(fire.body["agent"]): fire.body["result"] for fire in home.fires()}
    assert {fire.body["slot"] for fire in home.fires()} == {SLOT}
    assert results == dict.fromkeys(NAMES, "started") | {NAMES[3]: "paused", NAMES[7]: "halted"}
    assert max(_alive(home, run.id) for run in home.runs()) <= 4


def _alive(home: Scripted, run: str) -> int:
    """How many were at work when that run's command looked."""
    return int((home.root / "state" / "run" / run / "stdout.jsonl").read_text().split()[0])
