"""A runner without processes: the real engine, launches and ends, and a test that is the agents."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from unittest import mock

from ends import Ends
from fleet.config.model import Agent
from fleet.records import Body, Record
from fleet.runner import launch, settle
from fleet.runner.engine import Engine
from fleet.runner.slots import Slots
from fleet.runner.state import Decision
from fleet.runs import Run, Verdict
from fleet.wiring import Fleet, open_fleet
from fleets import Scripted
from people import OPERATOR, in_run


class Unspawned(Ends):
    """The home over the memory store; a run is alive from its launch until the test ends it."""

    def __init__(self, home: Scripted) -> None:
        super().__init__(home)
        self.said: list[str] = []
        self.answers: dict[str, str] = {}  # what gates say: "" for yes; one that is not here waits
        self.asked: list[str] = []
        self._alive: dict[str, str] = {}
        self.engine = Engine(self.fleet, self, self, self.said.append)

    # What the engine asks -----------------------------------------------------------------------

    def running(self) -> Mapping[str, str]:
        """See `Launcher.running`."""
        return dict(self._alive)

    def start(self, fleet: Fleet, agent: Agent, decision: Decision, run: str) -> bool:
        """See `Launcher.start`: everything is prepared, and no process is started."""
        slot = decision.slot
        with mock.patch.object(launch, "_spawn"):
            live = launch.start(
                fleet, agent, run, slot=slot.name, attempt=slot.attempt, cause=slot.cause,
                caught_up=decision.caught_up,
            )  # fmt: skip
        if live:
            self._alive[agent.id] = run
        return live is not None

    def ask(self, _fleet: Fleet, agents: Sequence[Agent]) -> Mapping[str, str]:
        """See `Asker.ask`."""
        self.asked += [agent.id for agent in agents]
        return {one.id: self.answers[one.id] for one in agents if one.id in self.answers}

    # What a test does ---------------------------------------------------------------------------

    def look(self, seconds: float = 0.0) -> list[str]:
        """So much later the engine looks; who is alive then, sorted."""
        self.clock.advance(seconds)
        self.engine.look(self.now)
        return sorted(self._alive)

    def over(self, agent: str, outcome: str = "ok") -> Run:
        """The agent's live run ends so, with all that follows."""
        run = settle.finish(self.fleet, agent, self._alive.pop(agent), Verdict(outcome))
        self.engine.refresh(agent)
        return run

    def emit(self, *, to: str | None = None, author: str = "") -> Record:
        """An event `note`, by a person or in a run of `author`."""
        who = in_run(author) if author else OPERATOR
        return self.fleet.bus.emit(who, "note", {"n": "1"}, to=to)

    def restart(self) -> None:
        """Another runner goes on: all that the process knew is lost, what runs lives on."""
        self.engine = Engine(self.fleet, self, self, self.said.append)

    def reload(self, home: Scripted) -> None:
        """The operator's files are read again."""
        fresh = open_fleet(home.root, env={})
        assert fresh.config
        fresh.__dict__ |= {"store": self.fleet.store, "cache": self.fleet.cache}
        self.fleet = fresh
        self.engine.use(fresh)

    def fires(self, agent: str) -> list[Body]:
        """What is on record about the agent's slots, oldest first."""
        records = self.fleet.store.read("fires", 0, 10_000).records
        return [record.body for record in records if record.body.get("agent") == agent]

    def results(self, agent: str) -> list[tuple[object, object]]:
        """Of these the slot and the result."""
        return [(fire["slot"], fire["result"]) for fire in self.fires(agent)]

    def wakes(self, agent: str) -> list[tuple[str, int, timedelta]]:
        """The agent's open wakes: name, attempt, and how far off they are due."""
        some = Slots(self.fleet.store).open(agent)
        return [(one.name, one.attempt, one.due - self.now) for one in some if one.is_wake]

    @property
    def moment(self) -> datetime:
        """The moment it is."""
        return self.now
