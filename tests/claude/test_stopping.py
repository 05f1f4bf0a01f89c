"""What a run of the real CLI started is gone in time, however it was ended."""

import signal
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from claude.real_fleet import RealFleet
from fleet.runner.probes.messages_stub import MessagesStub, bash, say
from fleet.runs import Run
from fleets import running, until

pytestmark = pytest.mark.claude

Start = Callable[..., MessagesStub]

HANG = """#!/bin/bash
# Deaf to every signal that may be ignored, with a child in a session of its own that is so too.
trap '' INT TERM HUP QUIT
setsid "$BASH" -c 'trap "" INT TERM HUP QUIT; touch child; while :; do sleep 0.2; done' &
touch parent
while :; do sleep 0.2; done
"""
GRACE = 3.0


def hanging(home: RealFleet, agent: str, *lines: str, schedule: str = "null") -> Path:
    """An agent whose Bash call hangs; returns its folder."""
    allowed = "allowed_tools: ['Bash(fleet *)', 'Bash(./hang)']"
    home.claude(agent, allowed, f"grace: {GRACE:g}s", *lines, schedule=schedule)
    folder = home.work(agent)
    (folder / "hang").write_text(HANG)
    (folder / "hang").chmod(0o755)
    return folder


def hangs(folder: Path) -> Callable[[], bool]:
    """Whether both processes are there and deaf."""
    return lambda: (folder / "parent").exists() and (folder / "child").exists()


def seconds(run: Run) -> float:
    """How long it took, from its record to its end."""
    began, ended = map(datetime.fromisoformat, (run.started, str(run.ended)))
    return (ended - began).total_seconds()


def test_a_run_that_ignores_its_timeout_is_swept(tmp_path: Path, cli: Path, stub: Start) -> None:
    """At its timeout nothing of it lives on; `timeout`, its event waits, its claim is free."""
    server = stub(bash("fleet claim lead:a@b.c"), bash("./hang"), say("Never said."))
    home = RealFleet(tmp_path / "home", cli, server)
    folder = hanging(home, "writer", "timeout: 8s")
    home.call("emit", "note", "n=1", "--to", "writer")

    done = home.call("run", "writer")

    (run,) = home.runs()
    assert hangs(folder)(), "it was too slow to hang"
    assert (run.outcome, done.returncode) == ("timeout", 8)
    assert home.alive(run.id) == set()
    assert seconds(run) < 8 + GRACE + 2
    assert home.fleet.bus.lag("writer", {}) == 1
    assert home.fleet.claims.live() == []


def test_stop_means_stopped(tmp_path: Path, cli: Path, stub: Start) -> None:
    """SIGTERM of `fleet up`: the CLI and what escaped it are gone within the grace and 2 s.

    Their runs are killed, what they were shown waits, their claims are free, their tokens dead.
    """
    server = stub(bash("./hang"), say("Never said."))
    home = RealFleet(tmp_path / "home", cli, server)
    folders = [hanging(home, name, schedule="{every: 1s}") for name in ("one", "two")]
    home.call("emit", "note", "n=1")

    with running(home) as up:
        assert until(lambda: all(hangs(folder)() for folder in folders), 60), up.said()
        runs = [run.id for run in home.runs() if run.open]
        assert [len(home.alive(run)) >= 4 for run in runs] == [True, True]
        began = time.monotonic()
        up.process.send_signal(signal.SIGTERM)

        assert up.process.wait(30) == 0, up.said()
        assert time.monotonic() - began < GRACE + 2
        assert [home.alive(run) for run in runs] == [set(), set()]

    assert {run.outcome for run in home.runs()} == {"killed"}
    assert home.fleet.claims.live() == []
    assert [home.fleet.bus.lag(run.agent, {}) for run in home.runs()] == [1, 1]
    assert all((home.fleet.store.get(f"tokens/{run}")[0] or {})["ended"] for run in runs)
