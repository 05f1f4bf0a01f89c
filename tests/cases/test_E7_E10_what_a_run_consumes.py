"""What an agent is shown and when it has consumed it: places in a log, never times."""

import json
import os
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from calls import call, many
from fleets import Scripted, until
from wallclock import WallClock

NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
KEEPS = "cat > seen-$FLEET_RUN_ID; echo done"
FILL = """
import sys
from pathlib import Path
from fleet.records import Draft
from fleet.wiring import open_fleet
store = open_fleet(Path(sys.argv[1]), env={}).store
body = {"op": "event", "type": "foreign", "from_agent": "other", "to_agent": None,
        "payload": {"n": "x" * 100}, "cause": None, "hops": 0, "run": None}
for _ in range(20):
    store.append("events", [Draft(body) for _ in range(500)])
"""


def _emit(home: Scripted, *names: str, env: dict[str, str] | None = None) -> list[str]:
    """Emit one event a name, and return their references."""
    calls = [call("emit", "note", f"n={name}") for name in names]
    done = many(home.root, calls, {"FLEET_HOME": str(home.root), **(env or {})})
    assert {one.code for one in done} == {0}, done
    return [one.out.strip() for one in done]


def _left(home: Scripted, agent: str = "worker") -> tuple[list[str], int]:
    """The events that its next prompt would show, and how many it would leave out."""
    done = many(
        home.root,
        [call("context", agent), call("context", agent, "--explain")],
        {"FLEET_HOME": str(home.root)},
    )
    section = done[0].out.split("## Events", 1)[-1].split("## Channels")[0]
    (row,) = [line.split() for line in done[1].out.splitlines() if line.startswith("events ")]
    return re.findall(r"^\W*(events#\d+)\b", section, re.MULTILINE), int(row[2])


def test_time_is_no_cursor(scripted: Scripted, clock: WallClock) -> None:
    """E7: 120 events of one instant come in three runs, each once, in the order of the log.

    Between the runs the clock goes back an hour and a day ahead; an event of each of these times
    comes as well.
    """
    scripted.agent("worker", KEEPS)
    clock.stop(NOON)
    refs = _emit(scripted, *map(str, range(120)), env=clock.env)
    stamps = [event["at"] for event in _json(scripted, "events", "--limit", "999")]
    delivered: list[str] = []
    known: set[str] = set()

    for moment in (-timedelta(hours=1), timedelta(days=1), timedelta(0)):
        clock.set(NOON + moment)
        refs += _emit(scripted, "later", env=clock.env)
        assert scripted.call("run", "worker", env=clock.env).returncode == 0
        (new,) = [run for run in scripted.runs() if run.id not in known]
        known.add(new.id)
        delivered += new.delivered

    assert set(stamps) == {"2027-03-01T12:00:00.000+00:00"}
    assert delivered == refs
    assert _left(scripted) == ([], 0)


def test_only_what_was_shown_is_consumed(scripted: Scripted) -> None:
    """E8: of 120 events a run is shown 50 and emits one more: then 71 wait, the oldest first."""
    emits = "test -e once || fleet emit note n=own --to worker > /dev/null; touch once"
    scripted.agent("worker", f"cat > /dev/null; {emits}; echo done")
    refs = _emit(scripted, *map(str, range(120)))

    assert _left(scripted) == (refs[:50], 70)
    assert scripted.call("run", "worker").returncode == 0
    shown, left = _left(scripted)

    (run,) = scripted.runs()
    assert run.delivered == tuple(refs[:50])
    assert len(shown) + left == 71
    assert (len(shown), left) == (50, 21)
    assert [ref for ref in shown if ref in refs] == refs[50 : 50 + len(set(shown) & set(refs))]
    assert "21" in scripted.call("context", "worker").stdout


ENDS = {
    "fails": "exit 1",
    "empty": "exit 0",
    "hangs": "sleep 60",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_failed_run_consumes_nothing(scripted: Scripted, end: str) -> None:
    """E9: whatever way a run fails the same events are offered again, marked as redelivered.

    Looking at the context changes nothing, and once a run has succeeded they do not come again.
    """
    script = f"cat > seen-$FLEET_RUN_ID; test -e good && echo done || {{ {ENDS[end]}; }}"
    scripted.agent("worker", script, "timeout: 1s", "grace: 1s")
    refs = _emit(scripted, "one", "two")

    before = [_left(scripted) for _ in range(2)]
    assert scripted.call("run", "worker").returncode == 8
    after = _left(scripted)
    (scripted.root / "work" / "worker" / "good").touch()
    assert scripted.call("run", "worker").returncode == 0

    assert before == [(refs, 0), (refs, 0)]
    assert after == (refs, 0)
    second, first = scripted.runs()
    assert first.delivered == second.delivered == tuple(refs)
    assert "redelivered" not in _seen(scripted, first.id)
    assert "redelivered" in _seen(scripted, second.id)
    assert _left(scripted) == ([], 0)


def test_an_interrupted_run_consumes_nothing(scripted: Scripted) -> None:
    """E9: a run that Ctrl-C ends has consumed nothing."""
    scripted.agent("worker", "cat > /dev/null; touch started; sleep 60", "grace: 1s")
    refs = _emit(scripted, "one")
    hand = scripted.start("run", "worker")
    assert until((scripted.root / "work" / "worker" / "started").exists)
    hand.send_signal(signal.SIGINT)

    assert hand.wait(20) == 8

    assert [run.outcome for run in scripted.runs()] == ["killed"]
    assert _left(scripted) == (refs, 0)


def test_what_is_foreign_costs_nothing_and_hides_nothing(scripted: Scripted) -> None:
    """E10: behind 10,000 events of others an agent's own is delivered at its next look.

    That costs less than a second more than in an empty home, and the next look begins behind it.
    """
    scripted.agent("worker", KEEPS)
    empty = _time(scripted, "context", "worker")
    subprocess.run([sys.executable, "-c", FILL, str(scripted.root)], check=True)
    (ref,) = _emit(scripted, "mine")

    took = _time(scripted, "context", "worker")
    assert _left(scripted) == ([ref], 0)
    assert scripted.call("run", "worker").returncode == 0

    assert took - empty < 1
    assert _left(scripted) == ([], 0)
    places = scripted.fleet.cursors.get("worker")
    assert places["events/broadcast"].seq == 10_001


def _time(home: Scripted, *argv: str) -> float:
    """Seconds of the processor that a command needs."""
    began = _children()
    assert home.call(*argv).returncode == 0
    return _children() - began


def _children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _seen(home: Scripted, run: str) -> str:
    return (home.root / "work" / "worker" / f"seen-{run}").read_text()


def _json(home: Scripted, *argv: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in home.call(*argv, "--json").stdout.splitlines()]
