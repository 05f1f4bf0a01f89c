"""Two copies of a home do not both run: the second is refused until a person takes it over."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest

from fleet import processes
from fleet.cli.status import lines
from fleet.runner import lead, settle
from fleet.runs import Run
from fleet.status import status
from fleet.whereabouts import LEADER, Spot, same
from fleets import Scripted, Up, running, until

WAITS = "cat > /dev/null; setsid sh -c 'sleep 300' & touch started; sleep 300"
HERE = Spot("m", "host", "/a/home", [1, 2])


@pytest.mark.parametrize(
    ("other", "one_home"),
    [
        (HERE._replace(path="/b/home"), True),  # moved
        (HERE._replace(folder=[1, 9]), True),  # restored in place
        (HERE._replace(host="renamed"), True),
        (HERE._replace(machine=""), True),  # a container, which has no name
        (HERE._replace(path="/b/home", folder=[1, 9]), False),  # copied
        (HERE._replace(path="/b/home", folder=[3, 2]), False),  # in a snapshot
        (HERE._replace(machine="n"), False),  # on another machine
        (HERE._replace(machine="", path="/b/home", folder=[1, 9]), False),
    ],
)
def test_what_makes_a_copy(other: Spot, one_home: bool) -> None:
    """A home that moved, or was restored in place, is itself; one elsewhere is a copy."""
    assert same(HERE, other) is one_home
    assert same(other, HERE) is one_home


@pytest.fixture
def ran(scripted: Scripted) -> Scripted:
    """A home in which agents have run."""
    scripted.agent("worker", "cat > /dev/null; echo done")
    scripted.fleet.bus.emit(scripted.fleet.author, "note", {"n": "1"})
    assert lead.settle_in(scripted.fleet, take_over=False) == ""
    return scripted


def copied(home: Scripted, to: Path) -> Scripted:
    """What `cp -a` makes of it."""
    subprocess.run(["cp", "-a", str(home.root), str(to)], check=True)
    return Scripted.at(to)


def test_a_copy_is_refused_until_it_is_taken_over(ran: Scripted, tmp_path: Path) -> None:
    """`run` and `up` in a copy are exit 6 and name the other place; --take-over settles it."""
    copy = copied(ran, tmp_path / "copy")

    run, up = copy.call("run", "worker"), copy.call("up")
    copy.fleet.bus.emit(copy.fleet.author, "note", {"n": "2"})
    taken = copy.call("run", "worker", "--take-over")

    for refused in (run, up):
        assert refused.returncode == 6
        assert f"its agents run in {ran.root}, last active 20" in refused.stderr
        assert "--take-over" in refused.stderr
        assert refused.stderr.count("\n") == 1
    assert taken.returncode == 0
    assert f"took over from {ran.root}" in taken.stdout
    alerts = [record.body["kind"] for record in copy.fleet.store.read("alerts", 0, 9).records]
    assert alerts == ["taken-over"]
    for home in (copy, ran):  # the other shares nothing and cannot know
        assert lead.settle_in(home.fleet, take_over=False) == ""


def test_status_of_a_copy_says_that_it_is_one(ran: Scripted, tmp_path: Path) -> None:
    """One line and one name of the JSON, with the place; the home itself says nothing of it."""
    copy = copied(ran, tmp_path / "copy")

    (said,) = [line for line in lines(status(copy.fleet.seen), UTC) if "copy" in line]

    assert f"its agents run in {ran.root}" in said
    assert status(copy.fleet.seen)["copy_of"]["path"] == str(ran.root)
    assert status(ran.fleet.seen)["copy_of"] is None


def test_a_moved_home_and_one_restored_in_place_go_on(ran: Scripted, tmp_path: Path) -> None:
    """`mv` changes the path, a restored copy the inode: neither needs a word."""
    moved = Scripted.at(ran.root.rename(tmp_path / "moved"))
    assert lead.settle_in(moved.fleet, take_over=False) == ""
    kept = copied(moved, tmp_path / "kept")
    shutil.rmtree(moved.root)
    kept.root.rename(moved.root)

    assert lead.settle_in(moved.fleet, take_over=False) == ""

    assert moved.fleet.store.get(LEADER)[0]["home"]["path"] == str(moved.root)  # type: ignore[index]


@pytest.fixture
def alive(scripted: Scripted) -> Iterator[tuple[Scripted, Up, Run]]:
    """A home with a runner and a run that goes on, and has children beyond its session."""
    scripted.agent("worker", WAITS, "timeout: 5m", schedule="{every: 1s}")
    with running(scripted) as up:
        assert until((scripted.root / "work" / "worker" / "started").exists), up.said()
        (run,) = scripted.runs()
        assert until(lambda: len(scripted.alive(run.id)) >= 4)
        yield scripted, up, run


def test_a_copy_ends_its_runs_and_touches_none_of_the_original(
    alive: tuple[Scripted, Up, Run], tmp_path: Path
) -> None:
    """With a run alive in the original, no command in the copy stops, adopts or kills any of it.

    In the copy the run ends as killed, and its agent is free; in the original it goes on.
    """
    home, up, run = alive
    before = home.alive(run.id)
    copy = copied(home, tmp_path / "copy")

    state = json.loads(copy.call("status", "--json").stdout)
    stopped = copy.call("stop")
    halted = copy.call("halt", "--all", "--reason", "a copy")
    settle.settle_stopped(copy.fleet, [run.id])  # what halt does with a run it could stop
    copy.fleet.controls.clear("fleet", by="operator")
    copy.agent("worker", "cat > /dev/null; echo done")
    taken = copy.call("run", "worker", "--take-over")

    assert state["runner"]["alive"] is False
    assert (stopped.returncode, "nothing was running" in halted.stdout) == (9, True)
    assert taken.returncode == 0, taken.stderr
    ended = {one.id: (one.outcome, one.reason) for one in copy.runs()}
    assert ended[run.id] == ("killed", "was running elsewhere when this copy was made")
    assert len(ended) == 2
    assert copy.fleet.claims.live() == []
    assert home.alive(run.id) >= before
    assert up.process.poll() is None
    assert [one.open for one in home.runs()] == [True]
    assert up.stop() == 0
    assert home.alive(run.id) == set()


def test_a_folder_without_a_sign_of_life_lets_nobody_sweep(
    alive: tuple[Scripted, Up, Run], tmp_path: Path
) -> None:
    """A copy that lost `alive.json`, or the whole run folder, kills nothing that is not its own."""
    home, _, run = alive
    before = home.alive(run.id)
    copy = copied(home, tmp_path / "copy")
    shutil.rmtree(copy.root / "state" / "run" / run.id)

    lead.settle_in(copy.fleet, take_over=True)
    settle.reconcile(copy.fleet)

    assert [one.outcome for one in copy.runs()] == ["killed"]
    assert home.alive(run.id) >= before


def test_a_moved_home_still_sweeps_its_own(alive: tuple[Scripted, Up, Run], tmp_path: Path) -> None:
    """What a dead keeper left is ended also when the home was moved while it ran."""
    home, up, run = alive
    up.kill()
    moved = Scripted.at(home.root.rename(tmp_path / "moved"))
    said = json.loads((moved.root / "state" / "run" / run.id / "alive.json").read_text())
    assert [one.id for one in settle.reconcile(moved.fleet)] == [run.id]
    os.kill(said["pid"], signal.SIGKILL)
    assert until(lambda: not processes.is_alive(said["pid"], said["start"], said["boot"]))

    settle.reconcile(moved.fleet)
    moved.root.rename(home.root)

    assert home.alive(run.id) == set()
    assert [one.reason for one in home.runs()] == [
        "its keeper was killed; what was left of it was ended"
    ]
