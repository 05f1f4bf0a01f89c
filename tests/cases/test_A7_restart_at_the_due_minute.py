"""A runner that was not there when its agents came due."""

import json
from datetime import UTC, datetime, timedelta

from fleets import Scripted, running, until
from wallclock import WallClock

DUE = datetime(2027, 3, 2, 9, tzinfo=UTC)
CATCH_UP = {"half-hour": "30m", "eight": "8m", "six": "6m", "never": "0s"}
CAUGHT_UP = {"half-hour", "eight"}


def test_a_missed_slot_runs_once_or_says_that_it_was_missed(
    scripted: Scripted, clock: WallClock
) -> None:
    """A7: up again 7 minutes late each agent has one catch-up run, or `missed` where it is over.

    Each of them had its success of the day before; another restart repeats nothing.
    """
    for name, catch_up in CATCH_UP.items():
        script = "cat > /dev/null; echo done"
        scripted.agent(name, script, f"catch_up: {catch_up}", schedule='"0 9 * * *"')
    clock.set(DUE - timedelta(days=1, minutes=5))
    with running(scripted, env=clock.env) as up:
        clock.set(DUE - timedelta(days=1))
        assert until(lambda: len(scripted.ended()) == 4), up.said()
        up.stop()
    clock.set(DUE + timedelta(minutes=7))

    for _restart in range(2):
        with running(scripted, env=clock.env) as up:
            assert until(lambda: len(scripted.fires()) == 8), up.said()
            up.stop()

    fires = [fire.body for fire in scripted.fires() if fire.body["slot"] == DUE.isoformat()]
    assert {str(fire["agent"]): fire["result"] for fire in fires} == {
        name: "started" if name in CAUGHT_UP else "missed" for name in CATCH_UP
    }
    late = [run for run in scripted.runs() if run.caught_up]
    assert {(run.agent, run.slot) for run in late} == {(n, DUE.isoformat()) for n in CAUGHT_UP}
    assert len(scripted.runs()) == 4 + len(late)
    _assert_visible(scripted)


def _assert_visible(home: Scripted) -> None:
    """`status` says which agents were missed, and why."""
    agents = json.loads(home.call("status", "--json").stdout)["agents"]
    missed = {agent["id"]: agent["not_started"] for agent in agents if agent["not_started"]}
    assert {(name, fire["result"]) for name, fire in missed.items()} == {
        (name, "missed") for name in set(CATCH_UP) - CAUGHT_UP
    }
    assert "missed: nobody was watching" in home.call("status").stdout
