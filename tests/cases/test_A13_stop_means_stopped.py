"""Stopping the runner, or one run, leaves nothing that goes on unwatched."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fleets import Scripted, Up, running, until

KINDS = {
    "child": "touch started; sleep 60",
    "grandchild": "sh -c 'touch started; sleep 60; true'; true",
    "escaped": "setsid sh -c 'trap \"\" INT TERM HUP; touch started; sleep 60; true' & sleep 60",
}


def _terminate(up: Up) -> None:
    up.process.send_signal(signal.SIGTERM)


def _command(up: Up) -> None:
    assert up.home.call("stop").returncode == 0


@pytest.mark.parametrize("stop", [_terminate, _command])
def test_nothing_of_a_run_outlives_the_runner(scripted: Scripted, stop: object) -> None:
    """A13: told to stop, the runner is gone in the grace and 2 s, with all that runs started.

    The runs are recorded as killed, and what they were shown waits for the next ones.
    """
    for name, script in KINDS.items():
        scripted.agent(name, script, "grace: 3s", schedule="{every: 1s}")
    event = scripted.call("emit", "note", "n=1").stdout.strip()

    with running(scripted) as up:
        marks = [scripted.root / "work" / name / "started" for name in KINDS]
        assert until(lambda: all(mark.exists() for mark in marks)), up.said()
        runs = [run for run in scripted.runs() if run.open]
        stop(up)  # type: ignore[operator]
        began = time.monotonic()
        assert up.process.wait(20) == 0
        assert time.monotonic() - began < 3 + 2
        assert [pid for run in runs for pid in scripted.alive(run.id)] == []

    assert {run.outcome for run in scripted.runs()} == {"killed"}, up.said()
    assert all(event in run.delivered for run in scripted.runs())
    assert all(event in scripted.call("context", name).stdout for name in KINDS)


def test_a_stop_is_heard_from_the_first_moment(scripted: Scripted) -> None:
    """A13: a run whose keeper is told to stop before it could listen ends as killed, on record."""
    scripted.agent("worker", "sleep 60", "grace: 1s")
    terminal = subprocess.Popen(
        [sys.executable, "-m", "fleet", "--home", str(scripted.root), "run", "worker"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert until(lambda: _keepers(terminal.pid))

    for keeper in _keepers(terminal.pid):
        os.kill(keeper, signal.SIGTERM)

    assert terminal.wait(20) == 8
    (run,) = scripted.runs()
    assert run.outcome == "killed"
    assert "SIGTERM" in run.reason
    assert scripted.alive(run.id) == set()


def _keepers(parent: int) -> list[int]:
    """The keepers among the children of `parent`, as soon as they are there."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(pid) for pid in children if b"fleet.keeper" in _argv(pid)]


def _argv(pid: str) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
