"""P17: `kill -9` at random moments of the runner, of keepers, and of both."""

import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from fakeclaude import RESULT
from fleet import processes
from fleet.runner import launch
from fleets import Scripted, Up, until

OFTEN = "{every: 1s}"
TAKES = 'cat > /dev/null; sleep "$(shuf -n1 -e 0.1 0.4 1 2)"; '
ESCAPE = "(setsid sh -c 'trap \"\" TERM INT HUP; sleep 300' &); "
SETTLED = 5.0  # seconds after a start within which nothing unsupervised is left
PAID = "claude"


@pytest.fixture
def home(tmp_path: Path) -> Scripted:
    """Six agents that are always due: two that cost money, two whose children escape."""
    program = tmp_path / "claude"
    program.write_text(
        f"#!/bin/sh\n{TAKES}\necho '{json.dumps(RESULT | {'total_cost_usd': 0.25})}'\n"
    )
    program.chmod(0o700)
    home = Scripted(tmp_path / "home", concurrency=6, extra=f"claude: {{path: {program}}}\n")
    for name in ("plain-1", "plain-2"):
        home.agent(name, TAKES + "echo done", "grace: 2s", schedule=OFTEN)
    for name in ("escapes-1", "escapes-2"):
        home.agent(name, ESCAPE + TAKES + "echo done", "grace: 2s", schedule=OFTEN)
    for name in (f"{PAID}-1", f"{PAID}-2"):
        home.agent(name, "", "grace: 2s", "launch: claude", "command: []", schedule=OFTEN)
        path = home.root / "agents" / f"{name}.yaml"
        kept = [line for line in path.read_text().splitlines() if not line.startswith("command:")]
        path.write_text("\n".join(kept) + "\n")
    return home


def alive_of(home: Scripted, run: str) -> dict[str, object]:
    """What the keeper of a run wrote down; empty before that, or half written."""
    try:
        found = json.loads((home.root / "state" / "run" / run / "alive.json").read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def unsupervised(home: Scripted) -> dict[str, set[int]]:
    """Processes of this home's runs whose keeper is dead, by run."""
    found: dict[str, set[int]] = {}
    for run in home.runs()[:60]:
        said = alive_of(home, run.id)
        keeper = said.get("pid"), said.get("start"), said.get("boot")
        is_dead = all(keeper) and not processes.is_alive(*keeper)  # type: ignore[arg-type]
        if is_dead and (left := home.alive(run.id)):
            found[run.id] = left
    return found


def kill_keepers(home: Scripted, rng: random.Random) -> set[str]:
    """`kill -9` for some of the keepers that are alive."""
    killed = set()
    for run in [run for run in home.runs()[:30] if run.open]:
        pid = alive_of(home, run.id).get("pid")
        if isinstance(pid, int) and rng.random() < 0.6:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            killed.add(run.id)
    return killed


@pytest.mark.parametrize(
    "rounds", [2, pytest.param(50, marks=[pytest.mark.prove, pytest.mark.timeout(1800)])]
)
@pytest.mark.parametrize("victims", ["runner", "keepers", "both"])
def test_a_storm_of_kills_loses_nothing_and_leaves_nothing(
    home: Scripted, victims: str, rounds: int
) -> None:
    """Every run gets its outcome and its cost, nothing is left unsupervised, no slot ran twice."""
    rng = random.Random(f"{victims}{rounds}")
    killed: set[str] = set()
    up = Up(home)
    up.wait_for("up: ")
    for _ in range(rounds):
        count = len(home.ended())
        assert until(lambda count=count: len(home.ended()) > count, 30), up.said()
        time.sleep(rng.random() * 1.5)  # the moment of the kill is what is random here
        if victims in {"runner", "both"}:
            up.kill()
        if victims in {"keepers", "both"}:
            killed |= kill_keepers(home, rng)
        if victims in {"runner", "both"}:
            up = Up(home)
            up.wait_for("up: ")
        assert until(lambda: not unsupervised(home), SETTLED), unsupervised(home)
    assert up.stop(60) == 0, up.said()
    check(home, killed)


def check(home: Scripted, killed: set[str]) -> None:
    """The promise, from the records."""
    runs = home.runs()
    assert set(Counter((run.agent, run.slot, run.attempt) for run in runs).values()) == {1}
    assert not [run.id for run in runs if run.outcome is None]
    assert not [run.id for run in runs if home.alive(run.id)]
    assert {run.outcome for run in runs} <= {"ok", "killed"}
    by_us = {run.id for run in runs if run.reason.startswith("its keeper was killed")}
    assert by_us <= killed
    for run in runs:
        if run.agent.startswith(PAID) and run.outcome == "ok":
            assert run.cost_usd == 0.25
    # What a launcher that was killed had taken for a run that never began blocks nobody longer.
    assert until(lambda: home.fleet.claims.live() == [], launch.PREPARES + 5)
