"""An orderly restart loses no slot that waited."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fleets import Scripted, running, until
from wallclock import WallClock

NINE = datetime(2027, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def home(scripted: Scripted) -> Scripted:
    """Two agents that are due together and one place; a third is in its quiet hours."""
    path = scripted.root / "fleet.yaml"
    path.write_text(path.read_text().replace("concurrency: 4", "concurrency: 1"))
    held = "cat > /dev/null; while [ ! -e go ]; do sleep 0.1; done; echo done"
    scripted.agent("first", held, "priority: high", "grace: 1s", schedule='"0 9 * * *"')
    scripted.agent("second", "echo done", schedule='"0 9 * * *"')
    scripted.agent("quiet", "echo done", 'quiet: "08:00-09:05"', schedule='"0 9 * * *"')
    return scripted


def test_what_waited_runs_after_a_stop_and_a_start(home: Scripted, tmp_path: Path) -> None:
    """For a place, or for the end of quiet hours: the next runner goes on, and each runs once."""
    clock = WallClock(tmp_path / "clock")
    clock.set(NINE - timedelta(minutes=1))
    with running(home, env=clock.env) as up:
        clock.set(NINE)
        assert until(lambda: "quiet waits" in up.said() and "first started" in up.said()), up.said()
        assert up.stop() == 0

    with running(home, env=clock.env) as up:
        assert until(lambda: "second ok" in up.said()), up.said()
        clock.set(NINE + timedelta(minutes=6))
        assert until(lambda: "quiet ok" in up.said()), up.said()
        assert up.stop() == 0

    assert [run.agent for run in home.ended()].count("second") == 1
    assert [run.agent for run in home.ended()].count("quiet") == 1


def test_what_waited_too_long_for_the_next_runner_is_missed(home: Scripted, tmp_path: Path) -> None:
    """A slot that was left open is caught up as long as `catch_up` says, and not after days."""
    clock = WallClock(tmp_path / "clock")
    clock.set(NINE - timedelta(minutes=1))
    with running(home, env=clock.env) as up:
        clock.set(NINE)
        assert until(lambda: "first started" in up.said()), up.said()
        assert up.stop() == 0

    clock.set(NINE + timedelta(minutes=45))
    with running(home, env=clock.env) as up:
        assert until(lambda: "second not started (missed)" in up.said()), up.said()
        assert up.stop() == 0

    assert not home.runs("second")
