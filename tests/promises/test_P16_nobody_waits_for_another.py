"""P16: one agent's run delays another's start by the cap alone, and no agent starves under it."""

import random
from collections import Counter
from datetime import datetime, timedelta

import pytest

from fleet.config.model import Agent
from fleet.identity import SYSTEM
from fleet.runner import settle
from fleet.runner.state import Decision
from fleet.runs import Verdict
from fleet.wiring import Fleet
from fleets import Scripted, running, until
from unspawned import Unspawned

NAMES = [f"agent{number:02d}" for number in range(15)]


def test_hangs_of_every_kind_delay_nobody(scripted: Scripted) -> None:
    """P16: beside a run and a gate that hang an agent starts each second, and so does a person.

    What is parked (quiet hours, a held wake, a full account) takes no place from anybody.
    """
    scripted.agent("hangs", "sleep 60", schedule="{every: 1s}")
    scripted.agent("asks", "true", "gate: [sleep, '60']", schedule="{every: 1s}")
    for number in range(3):
        name = f"parked{number}"
        scripted.agent(name, "true", 'quiet: "00:00-23:59"', schedule="{every: 1s}")
    scripted.agent("works", "cat > /dev/null; echo done", schedule="{every: 1s}")
    scripted.agent("person", "cat > /dev/null; echo done")
    fleet_yaml = scripted.root / "fleet.yaml"
    fleet_yaml.write_text(fleet_yaml.read_text().replace("concurrency: 4", "concurrency: 3"))

    with running(scripted) as up:
        assert until(lambda: len(scripted.ended("works")) >= 2, 20), up.said()
        done = scripted.call("run", "person")
        assert until(lambda: len(scripted.ended("works")) >= 4, 20), up.said()
        up.stop()

    assert done.returncode == 0, done.stderr
    begun = [(run.started, run.slot) for run in scripted.runs("works")]
    late = [datetime.fromisoformat(at) - datetime.fromisoformat(slot) for at, slot in begun]
    assert sorted(late)[len(late) // 2].total_seconds() < 1.5, late
    assert not scripted.runs("asks")


class Bare(Unspawned):
    """A runner whose runs have no context: places and turns are what is looked at."""

    def start(self, fleet: Fleet, agent: Agent, decision: Decision, run: str) -> bool:
        """On record, and alive until the test ends it."""
        fleet.runs.start(SYSTEM, agent.id, run, slot=decision.slot.name)
        self._alive[agent.id] = run
        return True

    def free(self, agent: str) -> None:
        """The run is over and its place is free."""
        run = self._alive.pop(agent)
        self.end(agent, run, Verdict("ok"))
        settle.release(self.fleet, run)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.prove) for n in range(1, 9))]
)
def test_nobody_starves_whatever_runs_take_and_whoever_goes_first(
    scripted: Scripted, seed: int
) -> None:
    """P16: 15 agents of all priorities, each due more often than 4 places allow, all get theirs.

    While one waits, slots that are due later than its own start before it in one look at most.
    """
    rng = random.Random(seed)
    for name in NAMES:
        priority = rng.choice(["high", "normal", "low"])
        scripted.agent(name, "true", f"priority: {priority}", schedule="{every: 1m}")
    up = Bare(scripted)
    up.look()
    since = dict.fromkeys(NAMES, next_minute(up))  # when the oldest slot was due that waits
    passed = Counter[str]()
    for _ in range(75):
        alive = set(up.running())
        begun = set(up.look(20)) - alive
        firsts = [since.pop(name) for name in begun]
        for name in begun:
            del passed[name]
        passed.update(name for name, first in since.items() if begun and first < max(firsts))
        assert max(passed.values(), default=0) <= 1, passed
        for name in up.running():
            if rng.random() < 0.6:
                up.free(name)
                since[name] = next_minute(up)

    assert {run.agent for run in up.fleet.runs.list(None, 1000)} == set(NAMES)


def next_minute(up: Unspawned) -> datetime:
    """When what is due each minute is due next."""
    return up.now.replace(second=0, microsecond=0) + timedelta(minutes=1)
