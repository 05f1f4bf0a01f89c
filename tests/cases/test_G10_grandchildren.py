"""What a run's children started does not stay when the run is over, and is found where it does."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakeclaude import claude_agent, fake_claude
from fleet import processes
from fleet.ops.doctor import doctor
from fleet.ops.leftovers import find
from fleet.runner import settle
from fleets import Scripted, until

STARTS = """
def start(name, *before):
    loop = "trap '' INT TERM HUP QUIT; touch %s; while :; do sleep 0.05; done" % name
    subprocess.Popen([*before, "/bin/sh", "-c", loop])
start("deaf")
start("escaped", "setsid")
subprocess.Popen(["/bin/sh", "-c", "setsid /bin/sh -c 'touch orphan; exec sleep 600' &"])
while not all(Path(name).exists() for name in ("deaf", "escaped", "orphan")):
    time.sleep(0.02)
if os.environ["FLEET_AGENT"] != "ends":
    time.sleep(600)
"""


@pytest.fixture
def home(scripted: Scripted) -> Iterator[Scripted]:
    """Agents of a CLI whose tools leave three processes behind: one ends, the others hang."""
    fake_claude(scripted, STARTS)
    claude_agent(scripted, "ends")
    claude_agent(scripted, "hangs", "timeout: 2s", "grace: 1s")
    claude_agent(scripted, "stays")
    yield scripted
    for run in scripted.runs():
        processes.kill_all(lambda run=run: processes.with_run_id(run.id), within=5)


def test_grandchildren_end_with_the_run(home: Scripted) -> None:
    """G10: deaf, escaped and orphaned ones are gone after a good end, and after a timeout."""
    done = home.together(["run", "ends"], ["run", "hangs"])

    assert [one.returncode for one in done] == [0, 8], done
    runs = {run.agent: run for run in home.runs()}
    assert (runs["ends"].outcome, runs["hangs"].outcome) == ("ok", "timeout")
    assert all((home.root / "work" / name / "escaped").exists() for name in runs)
    assert processes.of_home(str(home.root)) == {}
    assert list(find(home.fleet)) == []


def test_the_doctor_names_what_a_dead_keeper_left(home: Scripted) -> None:
    """G10: after `kill -9` of a keeper and its runner, what lives on is counted until it is ended.

    A run that is alive under its keeper is no finding.
    """
    terminal = home.start("run", "stays")
    marks = [home.root / "work" / "stays" / name for name in ("deaf", "escaped", "orphan")]
    assert until(lambda: all(mark.exists() for mark in marks))
    (run,) = home.runs()
    assert list(find(home.fleet)) == []

    terminal.kill()
    terminal.wait()
    os.kill(keeper_of(home, run.id), signal.SIGKILL)
    lost = rf"run {run.id} of stays lost its keeper, and [3-9] of its processes live on"
    assert until(lambda: [one for one in named(home) if re.fullmatch(lost, one)]), named(home)
    settle.reconcile(home.fleet)

    assert named(home) == []
    assert processes.of_home(str(home.root)) == {}


def test_the_doctor_names_what_outlived_an_ended_run(home: Scripted) -> None:
    """G10: a process that carries the id of a run that is over is named, with its end."""
    assert home.call("run", "ends").returncode == 0
    (run,) = home.runs()
    environ = {"FLEET_RUN_ID": run.id, "FLEET_HOME": str(home.root)}
    pid = os.posix_spawn("/bin/sleep", ["sleep", "600"], environ)
    try:
        assert until(lambda: pid in processes.of_home(str(home.root)))
        (found,) = (one for one in doctor(home.fleet) if run.id in one.what)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    assert found.what == f"run {run.id} is over, and 1 of its processes live on"
    assert found.fix == f"kill -9 {pid}"


def named(home: Scripted) -> list[str]:
    """What the doctor says of runs."""
    return [one.what for one in find(home.fleet)]


def keeper_of(home: Scripted, run: str) -> int:
    """The pid of a run's keeper."""
    for pid in processes.of_home(str(home.root)):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"fleet.keeper" in words and words[-2].endswith(run.encode()):
            return pid
    raise AssertionError(run)
