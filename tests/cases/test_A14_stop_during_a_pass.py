"""A runner that is told to stop in the middle of its work."""

import signal
from datetime import UTC, datetime, timedelta

from fleets import Scripted, running, until
from wallclock import WallClock

NAMES = [f"agent{number:02d}" for number in range(15)]
NINE = datetime(2027, 3, 1, 9, tzinfo=UTC)


def test_a_stop_while_fifteen_are_due_loses_none(scripted: Scripted, clock: WallClock) -> None:
    """A14: SIGTERM while 15 due agents are launched: no traceback, and each has a record."""
    for name in NAMES:
        scripted.agent(name, "cat > /dev/null; sleep 30", "grace: 1s", schedule='"0 * * * *"')
    clock.set(NINE - timedelta(minutes=1))

    with running(scripted, env=clock.env) as up:
        clock.set(NINE)
        assert until(lambda: "started" in up.said()), up.said()
        up.process.send_signal(signal.SIGTERM)
        assert up.process.wait(20) == 0, up.said()

    assert "Traceback" not in up.said()
    results = {str(fire.body["agent"]): fire.body["result"] for fire in scripted.fires()}
    assert set(results) == set(NAMES)
    assert set(results.values()) == {"started", "stopping"}
    started = {name for name, result in results.items() if result == "started"}
    assert {run.agent for run in scripted.runs()} == started
    assert {run.outcome for run in scripted.runs()} == {"killed"}
