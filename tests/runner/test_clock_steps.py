from datetime import UTC, datetime, timedelta
from pathlib import Path

from fleets import Scripted, running, until
from wallclock import WallClock

NINE = datetime(2027, 3, 1, 9, tzinfo=UTC)


def test_a_clock_that_is_put_right_silences_nobody(scripted: Scripted, tmp_path: Path) -> None:
    """A clock that was a day ahead and is set back while `up` leads: hourly runs go on at once.

    No slot starts twice, also not when its hour comes again; an alert says what happened.
    """
    clock = WallClock(tmp_path / "clock")
    scripted.agent("hourly", "cat > /dev/null; echo done", schedule='"0 * * * *"')
    clock.set(NINE - timedelta(minutes=5))

    with running(scripted, env=clock.env) as up:
        clock.set(NINE)
        assert until(lambda: len(scripted.ended()) == 1, 10), up.said()
        clock.set(NINE + timedelta(days=1))
        assert until(lambda: len(scripted.ended()) == 2, 10), up.said()
        clock.set(NINE + timedelta(hours=1))
        up.wait_for("the clock was set back")
        clock.set(NINE + timedelta(hours=2))
        assert until(lambda: len(scripted.ended()) == 3, 10), up.said()
        clock.set(NINE + timedelta(days=1))
        assert until(lambda: _settled(scripted, NINE + timedelta(hours=23)), 10), up.said()
        up.stop()

    slots = [run.slot for run in scripted.runs()]
    hours = (0, 2, 24)
    assert {(NINE + timedelta(hours=hour)).isoformat() for hour in hours} <= set(slots)
    assert len(slots) == len(set(slots))
    assert "the clock was set back" in scripted.call("status").stdout


def _settled(home: Scripted, slot: datetime) -> bool:
    """Whether the slot has a second record: it was looked at again."""
    fires = [f.body for f in home.fires() if f.body["slot"] == slot.isoformat()]
    return max((int(str(fire["attempt"])) for fire in fires), default=0) == 2
