"""P4: numbers have no gaps and follow the commits; every lane sees each event, in order.

Places are numbers, never times. All of it at the level of real runs.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from clocks import FakeClock
from fleet.records import Record
from fleet.stores.files import FilesStore
from fleet.wiring import Fleet
from fleets import Scripted, until
from promises.storm import Nursery, without_holes

WIDE = "context: {max_tokens: 60000}"


def emitted_at(home: Scripted, clock: FakeClock, count: int, to: str | None = None) -> list[str]:
    """So many events, stamped by `clock`; their references."""
    fleet = home.fleet
    fleet.__dict__["_files"] = FilesStore(home.root / "state", clock=clock)
    return [_emit(fleet, n, to).ref for n in range(count)]


def _emit(fleet: Fleet, n: int, to: str | None) -> Record:
    return fleet.bus.emit(fleet.author, "note", {"n": f"{n}"}, to=to)


def consumed(home: Scripted, agent: str = "worker") -> list[str]:
    """What its successful runs were shown, one run after the other."""
    runs = [run for run in reversed(home.runs(agent)) if run.outcome == "ok"]
    return [ref for run in runs for ref in run.delivered]


def run_until_idle(home: Scripted, agent: str = "worker", most: int = 30) -> int:
    """`fleet run` until nothing waits; how many runs it took."""
    for count in range(1, most):
        assert home.call("run", agent).returncode == 0
        if not home.fleet.bus.lag(agent, {}):
            return count
    raise AssertionError(f"something still waits after {most} runs")


def test_a_burst_a_failure_and_a_wrong_clock_lose_nothing(scripted: Scripted) -> None:
    """Each of 121 events at a limit of 50 is consumed once, in order.

    Times are equal and step back, one event comes between reading and marking, one run fails.
    """
    script = (
        "cat > /dev/null; test -e fails && exit 1; touch started;"
        " while [ ! -e go ]; do sleep 0.02; done; echo done"
    )
    scripted.agent("worker", script, WIDE)
    cwd = scripted.root / "work" / "worker"
    cwd.mkdir(parents=True)
    clock = FakeClock()
    refs = emitted_at(scripted, clock, 60)
    clock.step_wall(-86_400 * 400)
    refs += emitted_at(scripted, clock, 30)
    clock.step_wall(86_400 * 900)
    refs += emitted_at(scripted, clock, 30)

    (cwd / "fails").touch()
    failed = scripted.call("run", "worker")
    (cwd / "fails").unlink()
    running = scripted.start("run", "worker")
    assert until((cwd / "started").exists)
    clock.step_wall(-86_400 * 900)
    refs += emitted_at(scripted, clock, 1)
    (cwd / "go").touch()
    assert running.wait(30) == 0
    run_until_idle(scripted)

    runs = list(reversed(scripted.runs()))
    assert failed.returncode == 8
    assert [len(run.delivered) for run in runs] == [50, 50, 50, 21]
    assert runs[0].delivered == runs[1].delivered
    assert consumed(scripted) == refs
    assert [record.seq for record in scripted.fleet.store.read("events", 0, 999).records] == list(
        range(1, 122)
    )


def test_an_addressed_event_is_not_drowned_and_nothing_else_is_lost(scripted: Scripted) -> None:
    """Of 400 broadcasts and one event for the agent, under a small budget, that one comes first.

    All others come after it, in order.
    """
    scripted.agent("worker", "cat > prompt; echo done", "context: {max_tokens: 3000}")
    first = emitted_at(scripted, FakeClock(), 390)
    (mine,) = emitted_at(scripted, FakeClock(), 1, to="worker")
    rest = emitted_at(scripted, FakeClock(), 10)

    assert scripted.call("run", "worker").returncode == 0
    assert f"{mine} · note" in (scripted.root / "work" / "worker" / "prompt").read_text()
    run_until_idle(scripted)

    assert consumed(scripted)[0] == mine
    assert [ref for ref in consumed(scripted) if ref != mine] == first + rest


@pytest.mark.parametrize("kills", [30, pytest.param(600, marks=pytest.mark.prove)])
@pytest.mark.timeout(900)
def test_a_follower_sees_every_number_under_a_storm(
    scripted: Scripted, tmp_path: Path, kills: int
) -> None:
    """While writers are killed and logs rotate, `events -f` prints each number once, in order."""
    scripted.agent("worker", "true")
    scripted.call("emit", "note", "n=first")
    argv = [sys.executable, "-m", "fleet", "--home", str(scripted.root), "events", "-f", "--json"]
    followed = tmp_path / "followed"
    with followed.open("wb") as out:
        follower = subprocess.Popen([*argv, "--after", "0"], stdout=out)
    try:
        with Nursery(scripted.root, tmp_path / "said") as nursery:
            nursery.storm("write", writers=8, kills=kills, life=0.4, seed=4)
        assert scripted.fleet.store.head("events") > kills
        last = scripted.call("emit", "note", "n=last", "--json").stdout.split('"id":')[1][:38]
        assert until(lambda: last in followed.read_text(), 60)
    finally:
        follower.kill()
        follower.wait()

    records = scripted.fleet.store.read("events", 0, 10**9).records
    seen = [json.loads(line)["seq"] for line in followed.read_text().splitlines()]
    assert seen == [record.seq for record in records if record.body["op"] != "gap"]
    assert without_holes(records)


def test_late_writers_change_nothing(scripted: Scripted) -> None:
    """An event whose writer stamped it long ago, committed after a run looked, comes next."""
    scripted.agent("worker", "cat > /dev/null; echo done")
    early = emitted_at(scripted, FakeClock(2_000_000_000.0), 2)
    assert scripted.call("run", "worker").returncode == 0
    late = emitted_at(scripted, FakeClock(1_000_000_000.0), 2)
    assert scripted.call("run", "worker").returncode == 0

    delivered = [list(run.delivered) for run in reversed(scripted.runs())]
    assert delivered == [early, late]
