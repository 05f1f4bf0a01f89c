"""The growth fleet played by real CLIs under `fleet up`: every event reaches whom it must, once."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest

from claude.real_fleet import RealFleet
from fleet import homes
from fleet.config.model import Agent
from fleet.records import Record
from fleet.runner.probes.messages_stub import Asked, MessagesStub, Play, Turn, bash, say
from fleet.runs import Run
from fleets import running, until

pytestmark = pytest.mark.claude

SLICE = ("competitor-watch", "competitor-gap", "marketing-strategist")
CLOCK = ("schedule:", "jitter:", "quiet:", "wake_on:")  # lines that say when an agent wakes
TASK = re.compile(r"Task for ([a-z-]+), run ([0-9a-f-]+):")
LINE = re.compile(r"^(events#\d+) · ", re.MULTILINE)
MARK = re.compile(r"mark-[0-9a-f]{12}-\d")


class GrowthFleet(RealFleet):
    """A home made by `fleet init`, with every agent awake at the same moments."""

    def __init__(
        self, root: Path, cli: Path, stub: MessagesStub, *, every: int, only: Sequence[str] = ()
    ) -> None:
        self.root, self.stub, self.every = root, stub, every
        done = self.call("init", str(root))
        assert done.returncode == 0, done.stderr
        config = homes.paused((root / "fleet.yaml").read_text(), yes=False)
        self.put("fleet.yaml", f"{config}claude: {{path: {json.dumps(str(cli))}}}\n")
        for file in (root / "agents").glob("*.yaml"):
            lines = [line for line in file.read_text().splitlines() if not line.startswith(CLOCK)]
            awake = "true" if not only or file.stem in only else "false"
            lines += [f"schedule: {{every: {every}s}}", f"enabled: {awake}"]
            file.write_text("\n".join(lines) + "\n")
        config = self.fleet.config
        self.agents = {agent.id: agent for agent in config.agents.values() if agent.enabled}

    def begin(self) -> None:
        """Events of the operator's that the first runs find: one for each agent, one for many."""
        fleet = self.fleet
        for number, name in enumerate(self.agents):
            mark = f"mark-{number:012x}-0"
            task = {"taskId": mark, "assignedTo": name, "title": "Begin"}
            fleet.bus.emit(fleet.author, "task-created", task)
        prices = {"competitor": "Cursor", "oldPrice": "$40", "newPrice": "$20"}
        fleet.bus.emit(fleet.author, "pricing-change", prices | {"source": "mark-ffffffffffff-0"})

    def act(self, asked: Asked) -> Sequence[Turn]:
        """What a run does: one fact for all, two for one agent each, a post and a report."""
        match = TASK.search(asked.everything())
        assert match
        agent, run = self.agents[match[1]], match[2]
        names = list(self.agents)
        at = names.index(agent.id)
        first, second = (names[(at + step) % len(names)] for step in (1, 2))
        marks = [f"mark-{run[-12:]}-{number}" for number in range(3)]
        calls = [
            self.emit(_own_type(agent), marks[0]),
            self.emit("task-created", marks[1], assignedTo=first),
            [*self.emit("customer-intel", marks[2]), "--to", second],
            ["fleet", "post", _own_channel(agent), f"I am {agent.id}, see {marks[0]}"],
            ["fleet", "report", f"did what {agent.id} does"],
        ]
        return [bash(" && ".join(map(shlex.join, calls))), say("Done.")]

    def emit(self, type_: str, mark: str, **said: str) -> list[str]:
        """A call that emits an event of that type; its text fields are `mark`."""
        schema = self.fleet.schemas.get(type_)
        words = {
            name: "7" if schema.properties[name] == "integer" else mark for name in schema.required
        }
        return [
            "fleet",
            "emit",
            type_,
            *(f"{name}={word}" for name, word in (words | said).items()),
        ]


def _own_type(agent: Agent) -> str:
    wanted = [one.event for one in agent.expects.any_of if one.event]
    return next((name for name in wanted if name != "task-created"), "customer-intel")


def _own_channel(agent: Agent) -> str:
    wanted = [one.post for one in agent.expects.any_of if one.post]
    return wanted[0] if wanted else agent.channels[0]


def play_until(
    cli: Path, root: Path, *, every: int, each: int, only: Sequence[str] = ()
) -> "Played":
    """`fleet up` until every agent has ended `each` runs, then drained."""
    plays: list[Play] = []
    with MessagesStub(plays) as server:
        home = GrowthFleet(root, cli, server, every=every, only=only)
        plays.append(Play(home.act))
        home.begin()
        with running(home) as up:
            seconds = 60 + each * len(home.agents) * 10
            assert until(lambda: _least(home) >= each, seconds), up.said()
            assert home.call("stop", "--drain").returncode == 0
            assert up.process.wait(120) == 0, up.said()
    return Played(home)


def _least(home: GrowthFleet) -> int:
    return min(len(home.ended(agent)) for agent in home.agents)


class Played:
    """What is on record after it, and what the model was asked."""

    def __init__(self, home: GrowthFleet) -> None:
        self.home = home
        self.runs = list(reversed(home.runs()))
        self.events = list(home.fleet.store.read("events", 0, 100_000).records)

    def check(self) -> None:
        """Everything that the proofs claim."""
        assert {run.outcome for run in self.runs} == {"ok"}, [
            (run.agent, run.outcome, run.reason) for run in self.runs if run.outcome != "ok"
        ]
        assert {one.session for one in self.home.stub.asked} == {run.id for run in self.runs}
        emitted = Counter(event.body["run"] for event in self.events)
        assert emitted == {None: len(self.home.agents) + 1} | {run.id: 3 for run in self.runs}
        assert self.most_at_once() <= self.home.fleet.config.concurrency
        for agent in self.home.agents.values():
            self.check_slots(agent)
            self.check_delivered(agent)
        for run in self.runs:
            self.check_asked(run)
        verified = self.home.call("verify")
        assert verified.returncode == 0, verified.stdout

    def check_slots(self, agent: Agent) -> None:
        """Every slot from the first to the last has one record, and it says what became of it."""
        fires = [fire.body for fire in self.home.fires() if fire.body["agent"] == agent.id]
        slots = sorted(datetime.fromisoformat(str(fire["slot"])) for fire in fires)
        assert {late - soon for soon, late in pairwise(slots)} <= {
            timedelta(seconds=self.home.every)
        }
        results = {str(fire["result"]) for fire in fires}
        assert results <= {"started", "coalesced", "skipped_overlap", "stopping"}
        started = [fire["run"] for fire in fires if fire["result"] == "started"]
        assert sorted(map(str, started)) == sorted(r.id for r in self.runs if r.agent == agent.id)

    def check_delivered(self, agent: Agent) -> None:
        """What was emitted before its last run began and concerns it was shown to it, once."""
        runs = [run for run in self.runs if run.agent == agent.id]
        told = json.loads((self._folder(runs[-1]) / "manifest.json").read_text())["heads"]["events"]
        due = [event.ref for event in self.events if event.seq <= told and concerns(agent, event)]
        shown = [ref for run in runs for ref in run.delivered]
        assert sorted(shown) == sorted(due), agent.id

    def check_asked(self, run: Run) -> None:
        """The events section of the request that really came names those events and no others."""
        system = self.home.asked(run.id)[0].system()
        section = system.partition("## Events for you\n")[2].partition("\n## ")[0]
        marks = {event.ref: mark_of(event) for event in self.events}
        assert sorted(LINE.findall(section)) == sorted(run.delivered)
        assert set(MARK.findall(section)) == {marks[ref] for ref in run.delivered}

    def most_at_once(self) -> int:
        """How many runs were alive together, by their records."""
        moments = [(run.started, 1) for run in self.runs] + [(run.ended, -1) for run in self.runs]
        changes = [change for _, change in sorted(moments, key=lambda one: str(one[0]))]
        return max(accumulate(changes))

    def deliveries(self) -> int:
        """How often an event was shown."""
        return sum(run.events_shown for run in self.runs)

    def _folder(self, run: Run) -> Path:
        return self.home.root / "state" / "run" / run.id


def concerns(agent: Agent, event: Record) -> bool:
    """Whether `event` is addressed to `agent`, or of its interests and not its own."""
    to = event.body["to_agent"]
    if to is not None:
        return bool(to == agent.id)
    return event.body["type"] in agent.interests and event.body["from_agent"] != agent.id


def mark_of(event: Record) -> str:
    """The text by which the event is known in a prompt."""
    payload: Any = event.body["payload"]
    found = MARK.search(json.dumps(payload))
    assert found
    return found[0]


def test_events_reach_whom_they_concern(cli: Path, tmp_path: Path) -> None:
    """Three agents of the growth fleet, twice: no slot without a record, each event shown once."""
    played = play_until(cli, tmp_path / "home", every=8, each=2, only=SLICE)

    played.check()
    assert len(played.runs) >= 6
    assert played.deliveries() >= 9


@pytest.mark.prove
@pytest.mark.timeout(1200)
def test_the_whole_growth_fleet_misses_nothing(cli: Path, tmp_path: Path) -> None:
    """Fifteen agents, three times: 45 real processes; the same claims, over the whole fleet."""
    played = play_until(cli, tmp_path / "home", every=40, each=3)

    played.check()
    assert len(played.home.agents) == 15
    assert len(played.runs) >= 45
    assert played.deliveries() >= 150
