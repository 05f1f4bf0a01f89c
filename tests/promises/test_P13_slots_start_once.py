"""P13: each slot of an agent starts at most once for each attempt; none is lost in silence."""

import random
import time
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

import warm
from fleet import processes
from fleets import Scripted, Up, until

OFTEN = "{every: 1s}"
NAMES = ("one", "two", "three")


@pytest.fixture
def home(scripted: Scripted) -> Scripted:
    """Three agents that are due every second and say when they began and ended."""
    script = (
        "cat > /dev/null; date +%s.%N > $FLEET_RUN_ID; sleep 0.2;"
        " date +%s.%N >> $FLEET_RUN_ID; echo done"
    )
    for name in NAMES:
        scripted.agent(name, script, schedule=OFTEN)
    return scripted


def by_hand(home: Scripted, agent: str) -> warm.Process:
    """`fleet run`, in another terminal."""
    return home.start("run", agent)


def scramble(home: Scripted, rounds: int, seed: int) -> None:
    """Rounds of two runners at once and runs by hand; the runner that leads is killed."""
    rng = random.Random(seed)
    for number in range(rounds):
        ups = [Up(home) for _ in range(2)]
        hands = [by_hand(home, rng.choice(NAMES)) for _ in range(2)]
        assert until(lambda ups=ups: any("up: " in up.said() for up in ups))
        time.sleep(rng.random() * 2)  # the moment of the kill is what is random here
        for up in ups:
            up.kill()
        if number % 2:
            hands[0].kill()
        codes = {hand.wait(60) for hand in hands}
        assert codes <= {0, 6, 75, -9}
    last = Up(home)
    try:
        count = len(home.fires())
        assert until(lambda: len(home.fires()) > count + 3), last.said()
        assert until(lambda: {run.agent for run in home.ended() if run.outcome == "ok"} == {*NAMES})
        assert until(lambda: not _open_before(home)), last.said()
    finally:
        assert last.stop(30) == 0, last.said()


def _open_before(home: Scripted) -> bool:
    limit = datetime.fromtimestamp(home.fleet.store.now().wall - 8).astimezone()
    return any(datetime.fromisoformat(run.started) < limit for run in home.fleet.runs.open())


def check_slots(home: Scripted) -> None:
    """The promise, from the records; and from what the commands themselves wrote down."""
    runs, fires = home.runs(), home.fires()
    taken = Counter((run.agent, run.slot, run.attempt) for run in runs)
    assert set(taken.values()) == {1}
    settled = Counter((f.body["agent"], f.body["slot"], f.body["attempt"]) for f in fires)
    assert set(settled.values()) == {1}
    started = {f.body["run"] for f in fires if f.body["result"] == "started"}
    assert started == {run.id for run in runs}
    assert all(run.outcome for run in runs)
    for name in NAMES:
        slots = sorted(
            datetime.fromisoformat(str(f.body["slot"]))
            for f in fires
            if f.body["agent"] == name and not str(f.body["slot"]).startswith("hand:")
        )
        seconds = int((slots[-1] - slots[0]).total_seconds()) + 1
        assert slots == [slots[0] + timedelta(seconds=n) for n in range(seconds)]
        check_alone(home, name)


def check_alone(home: Scripted, name: str) -> None:
    """By what its commands wrote down: the agent's runs follow each other, none overlaps."""
    spans = []
    for run in home.runs(name):
        path = home.root / "work" / name / run.id
        times = [float(line) for line in path.read_text().split()] if path.exists() else []
        assert len(times) == 2 or run.outcome in {"killed", "launch_failed"}, run
        spans += [(times[0], times[-1])] if times else []
    assert spans
    for (_, end), (begin, _) in pairwise(sorted(spans)):
        assert end <= begin, "two runs of one agent at once"


@pytest.mark.parametrize("rounds", [3, pytest.param(60, marks=pytest.mark.prove)])
@pytest.mark.timeout(1800)
def test_runners_that_are_killed_and_runs_by_hand_start_nothing_twice(
    home: Scripted, rounds: int
) -> None:
    """Two runners at a time, killed at random, and `fleet run` beside them.

    No slot has two runs, none has no record, no agent runs twice at once.
    """
    try:
        scramble(home, rounds, seed=13)
        check_slots(home)
    finally:
        for run in home.runs():
            processes.kill_all(lambda run=run: processes.with_run_id(run.id), within=5)


def test_eight_calls_at_once_start_one_run(home: Scripted) -> None:
    """Eight `fleet run` of one agent at the same moment: one starts, the others exit 6."""
    calls = [by_hand(home, "one") for _ in range(8)]

    codes = sorted(call.wait(60) for call in calls)

    runs = len(home.runs())
    assert codes == [0] * runs + [6] * (8 - runs)
    assert runs < 8
    check_alone(home, "one")
