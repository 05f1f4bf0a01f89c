"""One play: the real engine under a clock that jumps from one moment that matters to the next.

It decides nothing and judges nothing; what happened is kept for whoever looks at it afterwards.
"""

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import count
from random import Random
from typing import NamedTuple

from fleet.config.model import Agent, HomeConfig
from fleet.errors import TryAgain
from fleet.records import new_id
from fleet.runner import consequences, settle
from fleet.runner.engine import Engine
from fleet.runs import Verdict
from fleet.simulator.clock import Clock
from fleet.simulator.courses import Courses
from fleet.simulator.disk import Disk, Killed
from fleet.simulator.faults import Fault
from fleet.simulator.launcher import Imagined
from fleet.wiring import Fleet
from fleet.wiring.plays import in_memory, simulated

TICK = 900.0  # seconds between two looks at most
SOON = 30.0  # seconds until what the store refused is tried again
GRID = 1.0  # seconds: the runner looks so often while nothing tells it to


class InForce(NamedTuple):
    """A schedule and the stretch of the wall clock in which somebody watched it.

    Attributes:
        agent: whose, as its file was then.
        since: wall clock of the look from which it counted.
        until: the latest that the wall clock showed at a look.
    """

    agent: Agent
    since: float
    until: float


class Stall(NamedTuple):
    """Nobody watched, from one wall clock to another; `ended` in seconds of the play."""

    since: float
    until: float
    ended: float


@dataclass(slots=True)
class Told:
    """What happened in a play, as seen from outside of the engine.

    Attributes:
        in_force: which schedules counted when.
        stalls: when nobody watched.
        lines: what the runner said.
        faults: what went wrong, as it happened.
    """

    in_force: list[InForce] = field(default_factory=list)
    stalls: list[Stall] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


class Play:
    """The engine of a home that exists in this process's memory only.

    Args:
        config: the home.
        begin: when the play begins, aware.
        courses: how runs go.
        seed: of everything that is drawn; the same play twice is the same.
        before: given the home before anybody looks at it.
    """

    def __init__(
        self,
        config: HomeConfig,
        begin: datetime,
        courses: Courses,
        *,
        seed: int,
        before: Callable[[Fleet, Clock], None] = lambda _fleet, _clock: None,
    ) -> None:
        self.rng = Random(seed)  # noqa: S311 - a play, no secret
        self.clock = Clock(begin)
        self._store, self._cache = in_memory(self.clock)
        before(simulated(config, self._store, self._cache), self.clock)
        self.disk = Disk(self._store)
        self.launcher = Imagined(self.clock, courses, self.rng)
        self.told = Told()
        self._courses = courses
        self._coming: list[tuple[float, int, Callable[[], None]]] = []
        self._turns = count()  # what comes at one moment comes in its own order
        self._watched: dict[str, InForce] = {}
        self._watches: HomeConfig | None = None
        self._last = self.clock.wall  # what the wall clock showed at the last look that succeeded
        self._highest = self._last
        self._stalled: float | None = None  # since which wall clock nobody watches
        self._refused = False  # the store refused something in the last pass
        self._orphans = False  # a run may be on record that nobody looks after
        self.engine: Engine | None = None
        self.start(config)

    def run(self, seconds: float) -> None:
        """Let so much time pass."""
        end = self.clock.elapsed + seconds
        self._pass()
        while self.clock.elapsed < end:
            self.clock.advance(min(self._next(), end) - self.clock.elapsed)
            while self._coming and self._coming[0][0] <= self.clock.elapsed:
                heapq.heappop(self._coming)[2]()
            self._pass()
        self._watch({})

    def later(self, seconds: float, deed: Callable[[], None]) -> None:
        """Do something when so much time has passed."""
        heapq.heappush(self._coming, (self.clock.elapsed + seconds, next(self._turns), deed))

    def ask(self, fleet: Fleet, agents: Sequence[Agent]) -> Mapping[str, str]:
        """The gates answer at once; see `engine.Asker`."""
        del fleet
        return {agent.id: self._courses.gated(agent, self.rng) for agent in agents}

    # The runner's life -------------------------------------------------------------------------

    @property
    def person(self) -> Fleet:
        """The home as a person at another terminal has it, whatever the runner's disk does."""
        return simulated(self.fleet.config, self._store, self._cache)

    def start(self, config: HomeConfig) -> None:
        """A runner begins; of an earlier one only what is in the store is left."""
        self.fleet = simulated(config, self.disk.store, self._cache)
        echo, new_run = self.told.lines.append, partial(new_id, random=self.rng.randbytes)
        self.engine = Engine(self.fleet, self.launcher, self, echo, new_run)
        self._orphans = True

    def die(self) -> None:
        """The runner is killed; what it launched goes on."""
        self.disk.left = None
        self.engine = None
        self.stall()

    def use(self, config: HomeConfig) -> None:
        """The operator's files say something else now."""
        self.fleet = self.fleet.configured(config)
        if self.engine:
            self.engine.use(self.fleet)

    def stall(self) -> None:
        """From the last look on nobody watched, until one succeeds again."""
        if self._stalled is None:
            self._stalled = self._last

    def end(self, agent: str, verdict: Verdict) -> None:
        """A person ends what is alive of the agent."""
        for live in self.launcher.live(agent):
            self.launcher.end(self.person, live, verdict)

    # When --------------------------------------------------------------------------------------

    def _next(self) -> float:
        """The next moment that matters, in seconds of the play."""
        now = self.clock.elapsed
        moments = [max(self._coming[0][0], now)] if self._coming else []
        if self.engine is None:
            return min(moments, default=now + TICK)
        last = now + (SOON if self._refused else TICK)
        if self._refused:
            return min([last, *moments])
        end, look = self.launcher.next_end(), self.engine.next_look
        known = [last if end is None else end, self.clock.until(look) if look else last]
        soonest = GRID * max(math.ceil(min(known) / GRID), math.floor(now / GRID) + 1)
        return min([last, soonest, *moments])

    # One pass of the loop ----------------------------------------------------------------------

    def _pass(self) -> None:
        if self.engine is None:
            return
        engine, self._refused = self.engine, False
        try:
            for step in (self._adopt, self._reap, self._look):
                try:
                    step(engine)
                except TryAgain as fault:
                    self._refused = True
                    self.told.lines.append(f"this pass could not finish: {fault}")
        except Killed:
            self.die()

    def _adopt(self, engine: Engine) -> None:
        """What `settle.reconcile` does: runs on record that nobody looks after are over."""
        if self.disk.full or not self._orphans:
            return
        mine = set(self.launcher.running().values())
        for run in self.fleet.runs.open():
            if run.id not in mine:
                self.launcher.lose(self.fleet, run)
        settle.finish_releases(self.fleet)
        consequences.of_the_last_runs(self.fleet)
        self._orphans = False
        engine.refresh()

    def _reap(self, engine: Engine) -> None:
        for live in self.launcher.over():
            run = self.launcher.end(self.fleet, live)
            engine.refresh(run.agent)

    def _look(self, engine: Engine) -> None:
        engine.look(self.clock.now)
        if self.disk.full:
            self._refused = self._orphans = True
            return
        if self._stalled is not None:
            self.told.stalls.append(Stall(self._stalled, self.clock.wall, self.clock.elapsed))
            self._stalled = None
        if self._watches is not self.fleet.config:
            self._watches = self.fleet.config
            self._watch(self.fleet.config.agents)
        self._last = self.clock.wall
        self._highest = max(self._highest, self._last)

    def _watch(self, agents: Mapping[str, Agent]) -> None:
        """Note whose schedule counts from now on, and whose did until the last look."""
        for name, watched in list(self._watched.items()):
            agent = agents.get(name)
            if agent is None or not agent.enabled or agent.schedule != watched.agent.schedule:
                self.told.in_force.append(watched._replace(until=self._highest))
                del self._watched[name]
        for agent in agents.values():
            if agent.enabled and agent.id not in self._watched:
                self._watched[agent.id] = InForce(agent, self.clock.wall, self.clock.wall)
