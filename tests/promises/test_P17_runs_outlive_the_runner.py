"""P17: `kill -9` of the runner loses no run, `kill -9` of a keeper leaves nothing of its run."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet import processes
from fleet.ops.leftovers import escaped, find
from fleet.whereabouts import identity
from fleets import Scripted, Up, until

OFTEN = "{every: 2s}"
WAITS = "cat > /dev/null; touch started; while [ ! -e go ]; do sleep 0.1; done; "
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "num_turns": 2,
    "result": "Did it.",
    "total_cost_usd": 0.25,
    "permission_denials": [],
}
ENDS = {
    "ok": WAITS + "echo done",
    "crashed": WAITS + "exit 3",
    "empty": WAITS + "true",
    "escapes": "(setsid sh -c 'trap \"\" TERM INT HUP; sleep 300' &); " + WAITS + "echo done",
}
OUTCOMES = {"ok": "ok", "crashed": "crashed", "empty": "empty", "escapes": "ok", "claude": "ok"}


@pytest.fixture
def home(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Scripted]:
    """20 agents that are due all the time and wait for a word; a fifth of them play the CLI."""
    count = getattr(request, "param", 20)
    program = tmp_path / "claude"
    program.write_text(f"#!/bin/sh\n{WAITS}\necho '{json.dumps(RESULT)}'\n")
    program.chmod(0o700)
    home = Scripted(tmp_path / "home", concurrency=count, extra=f"claude: {{path: {program}}}\n")
    for n in range(count):
        kind = list(OUTCOMES)[n % 5]
        name = f"{kind}-{n}"
        home.agent(name, ENDS.get(kind, ""), "grace: 2s", "timeout: 5m", schedule=OFTEN)
        if kind == "claude":
            path = home.root / "agents" / f"{name}.yaml"
            lines = path.read_text().splitlines(keepends=True)
            kept = [line for line in lines if not line.startswith(("launch:", "command:"))]
            path.write_text("".join(kept))
    yield home
    for run in home.runs():
        processes.kill_all(lambda run=run: processes.with_run_id(run.id), within=5)


def say_go(home: Scripted) -> None:
    """Let every run end by itself, now and later."""
    for name in home.fleet.config.agents:
        (home.root / "work" / name).mkdir(parents=True, exist_ok=True)
        (home.root / "work" / name / "go").touch()


def check_slots(home: Scripted) -> None:
    """No slot has two runs, and each run its record."""
    taken = Counter((run.agent, run.slot, run.attempt) for run in home.runs())
    assert set(taken.values()) == {1}


def killed_at(home: Scripted, started: int, pause: float) -> set[str]:
    """Kill a runner once so many runs have started (and a moment later); what runs goes on."""
    first = Up(home)
    assert until(lambda: first.said().count(" started ") >= started, 60), first.said()
    time.sleep(pause)
    first.kill()
    open_runs = {run.id for run in home.runs() if run.open}
    assert len(open_runs) >= started
    return open_runs


def adopted_and_ended(home: Scripted, runs: set[str]) -> None:
    """The next runner takes them over; each ends as it would have, with its cost."""
    second = Up(home)
    try:
        assert until(lambda: second.said().count("adopted run") >= len(runs), 20), second.said()
        say_go(home)
        assert until(lambda: runs <= {run.id for run in home.ended()}, 60), second.said()
    finally:
        assert second.stop(30) == 0, second.said()
    for run in home.runs():
        if run.id in runs:
            kind = run.agent.partition("-")[0]
            assert (run.outcome, run.cost_usd) == (
                OUTCOMES[kind],
                0.25 if kind == "claude" else None,
            )
            assert home.alive(run.id) == set()


def test_twenty_runs_of_a_killed_runner_go_on_and_are_adopted(home: Scripted) -> None:
    """All alive under their keepers, adopted by the next start, each with its own outcome."""
    runs = killed_at(home, 20, 0)
    for run in runs:
        assert home.alive(run)

    adopted_and_ended(home, runs)

    check_slots(home)
    assert home.fleet.claims.live() == []


@pytest.mark.prove
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(8))
def test_a_runner_that_is_killed_while_it_launches(home: Scripted, seed: int) -> None:
    """At any moment of the launches: what began goes on, what had not begun begins later, once."""
    rng = random.Random(seed)

    runs = killed_at(home, rng.randrange(1, 19), rng.random() * 0.3)
    second = Up(home)
    try:
        assert until(lambda: len([run for run in home.runs() if run.open]) == 20, 90)
        say_go(home)
        assert until(lambda: runs <= {run.id for run in home.ended()}, 60), second.said()
        assert until(lambda: len({run.agent for run in home.ended()}) == 20, 90), second.said()
    finally:
        assert second.stop(30) == 0, second.said()

    check_slots(home)


def keeper(home: Scripted, run: str) -> int:
    """The pid of a run's keeper."""
    return int(json.loads((home.root / "state" / "run" / run / "alive.json").read_text())["pid"])


@pytest.mark.parametrize("home", [8, pytest.param(20, marks=pytest.mark.prove)], indirect=True)
def test_nothing_outlives_its_killed_keeper(home: Scripted) -> None:
    """Runner and keepers killed: within 5 s of the next start nothing of their runs is left."""
    runs = killed_at(home, len(home.fleet.config.agents), 0)
    escaping = {run.id for run in home.runs() if run.agent.startswith("escapes")}
    victims = sorted(escaping | set(sorted(runs)[::2]))
    for run in victims:
        os.kill(keeper(home, run), signal.SIGKILL)

    second = Up(home)
    second.wait_for("up: ")
    try:
        assert until(lambda: not any(home.alive(run) for run in victims), 5), second.said()
        assert until(lambda: set(victims) <= {run.id for run in home.ended()}, 10)
        others = set(runs) - set(victims)
        assert all(home.alive(run) for run in others)
        say_go(home)
        assert until(lambda: others <= {run.id for run in home.ended()}, 60), second.said()
    finally:
        assert second.stop(30) == 0, second.said()

    check_slots(home)
    outcomes = {run.id: run.outcome for run in home.runs()}
    assert {outcomes[run] for run in victims} == {"killed"}


@pytest.mark.parametrize("home", [6], indirect=True)
def test_after_a_reboot_every_run_has_an_outcome(home: Scripted) -> None:
    """What a machine that was restarted leaves of its runs is settled; pids given to others live.

    A stranger with the keeper's old pid is neither taken for it nor killed.
    """
    runs = killed_at(home, 6, 0.5)
    for run in runs:
        os.kill(keeper(home, run), signal.SIGKILL)
        processes.kill_all(lambda run=run: processes.with_run_id(run), within=5)
        path = home.root / "state" / "run" / run / "alive.json"
        alive = json.loads(path.read_text())
        alive |= {"boot": "another boot", "pid": os.getpid(), "start": 1}
        path.write_text(json.dumps(alive))

    second = Up(home)
    try:
        assert until(lambda: runs <= {run.id for run in home.ended()}, 30), second.said()
    finally:
        say_go(home)
        assert second.stop(30) == 0, second.said()

    settled = [run for run in home.runs() if run.id in runs]
    assert {(run.outcome, run.reason) for run in settled} == {
        ("killed", "the machine was restarted")
    }


def test_what_dropped_its_mark_does_not_outlive_its_killed_keeper(tmp_path: Path) -> None:
    """P17: the next start ends what escaped by `setsid env -i`, and nobody who has its number."""
    home = Scripted(tmp_path / "home")
    escapes = "trap '' INT TERM HUP; echo $$ > pid; while :; do sleep 0.1; done"
    home.put("work/escapes/escape.sh", escapes)
    home.agent("escapes", "env -i setsid sh escape.sh & " + WAITS)
    stranger = subprocess.Popen(["/bin/sleep", "60"])
    terminal = home.start("run", "escapes")
    pid = home.root / "work" / "escapes" / "pid"
    assert until(lambda: pid.exists() and pid.read_text().strip())
    (run,) = home.runs()
    note = home.root / "state" / "run" / run.id / "escaped.json"
    escaped = int(pid.read_text())
    assert until(lambda: note.exists() and str(escaped) in note.read_text())
    assert escaped not in home.alive(run.id)

    terminal.kill()
    terminal.wait()
    os.kill(keeper(home, run.id), signal.SIGKILL)
    assert until(lambda: not home.alive(run.id))
    said = json.loads(note.read_text())
    said["processes"].append([stranger.pid, (processes.start_time(stranger.pid) or 0) - 1])
    note.write_text(json.dumps(said))
    lost = [one.what for one in find(home.fleet)]
    second = Up(home)
    try:
        assert until(lambda: escaped not in processes.still(said), 5), second.said()
        assert until(lambda: len(home.ended()) == 1), second.said()
    finally:
        assert second.stop(30) == 0, second.said()
        is_well = stranger.poll() is None
        stranger.kill()
        stranger.wait()

    assert is_well
    assert re.search(r"lost its keeper, and [1-3] of its processes live on", lost[0]), lost
    assert home.ended()[0].outcome == "killed"


def test_a_copy_of_a_run_folder_names_nobody(tmp_path: Path) -> None:
    """P17: what a keeper noted is its own home's to end, never a copy's."""
    sleeper = subprocess.Popen(["/bin/sleep", "60"])
    run, copy = tmp_path / "run", tmp_path / "copy"
    run.mkdir()
    start = processes.start_time(sleeper.pid)
    noted = {"boot": processes.boot_id(), "processes": [[sleeper.pid, start]]}
    (run / "alive.json").write_text(json.dumps({"folder": identity(run)}))
    (run / "escaped.json").write_text(json.dumps(noted))
    shutil.copytree(run, copy)

    here, there = escaped(run), escaped(copy)
    sleeper.kill()
    sleeper.wait()

    assert (here, there) == ({sleeper.pid}, set())
