"""Runs that are imagined: they are on record like any others, and no process is started for them.

What follows from an end is the runner's own `settle.follow`.
"""

import heapq
from collections.abc import Mapping
from random import Random
from typing import NamedTuple

from fleet.config.model import Agent
from fleet.cursors import ADDRESSED, BROADCAST
from fleet.errors import TryAgain
from fleet.identity import SYSTEM
from fleet.logs import place_at, record_at
from fleet.records import Body, Draft, Place, parse_ref, rfc3339
from fleet.runner import launch, settle
from fleet.runner.state import Decision
from fleet.runs import Run, Verdict
from fleet.runs.outcome import free_where_nothing_ran
from fleet.runs.run import places_body
from fleet.simulator.clock import Clock
from fleet.simulator.courses import Course, Courses
from fleet.wiring import Fleet

EVENTS = "events"
LOST = Verdict("killed", "its keeper was killed; what was left of it was ended", lost=True)


class Started(NamedTuple):
    """One start, as whoever launched it saw it.

    Attributes:
        elapsed: when, in seconds of the play.
        wall: the same by the wall clock.
        agent: whose run.
        slot: of which slot.
        attempt: which attempt of it.
        run: its id.
        reserved: dollars that were set aside for it.
        alive: how many runs were alive then, itself included.
    """

    elapsed: float
    wall: float
    agent: str
    slot: str
    attempt: int
    run: str
    reserved: float
    alive: int


class Live(NamedTuple):
    """A run that is going on: `ends` in seconds of the play; `shown` where its prompt reached."""

    run: str
    agent: str
    ends: float
    course: Course
    shown: Place
    hops: int


class Imagined:
    """The launcher of a play.

    Attributes:
        started: every start, in order.
        ended: by run when it ended, in seconds of the play.
        fates: how the next runs go whatever their courses say, by agent; under "" anybody's.
    """

    def __init__(self, clock: Clock, courses: Courses, rng: Random) -> None:
        self._clock = clock
        self._courses = courses
        self._rng = rng
        self._live: dict[str, Live] = {}  # by agent
        self._ends: list[tuple[float, str, str]] = []
        self.started: list[Started] = []
        self.ended: dict[str, float] = {}
        self.fates: dict[str, list[Course]] = {}

    def running(self) -> Mapping[str, str]:
        """The id of each agent's live run."""
        return {agent: live.run for agent, live in self._live.items()}

    def start(self, fleet: Fleet, agent: Agent, decision: Decision, run: str) -> bool:
        """Put the reserved `run` on record and let it go on; see `engine.Launcher`."""
        slot = decision.slot
        try:
            settle_lanes(fleet, agent.id)
            fleet.runs.start(
                SYSTEM,
                agent.id,
                run,
                slot=slot.name,
                attempt=slot.attempt,
                caught_up=decision.caught_up,
            )
            launch.hold(fleet, agent, run)
        except TryAgain:
            settle.release(fleet, run)
            raise
        self.go_on(fleet, agent, run, self._fate(agent), _hops(fleet, slot.cause))
        held = fleet.ledger.held(run)
        cost, alive = held.cost if held else 0.0, len(self._live)
        now = self._clock
        self.started.append(
            Started(now.elapsed, now.wall, agent.id, slot.name, slot.attempt, run, cost, alive)
        )
        return True

    def go_on(self, fleet: Fleet, agent: Agent, run: str, course: Course, hops: int = 0) -> None:
        """Let `run` be alive from now on, for as long as its course says."""
        shown = place_at(fleet.store, EVENTS, fleet.store.head(EVENTS))
        if course.seconds >= agent.timeout:
            course = Course(agent.timeout, Verdict("timeout", "its timeout has passed"))
        ends = self._clock.elapsed + course.seconds
        self._live[agent.id] = Live(run, agent.id, ends, course, shown, hops)
        heapq.heappush(self._ends, (ends, agent.id, run))

    def _fate(self, agent: Agent) -> Course:
        for name in (agent.id, ""):
            if self.fates.get(name):
                return self.fates[name].pop(0)
        return self._courses.course(agent, self._rng)

    # Ending ------------------------------------------------------------------------------------

    def next_end(self) -> float | None:
        """When the next run ends, in seconds of the play."""
        while self._ends and not self._is_live(*self._ends[0]):
            heapq.heappop(self._ends)
        return self._ends[0][0] if self._ends else None

    def over(self) -> list[Live]:
        """The runs that are over and not on record as ended, the first end first."""
        now = self._clock.elapsed
        return sorted((one for one in self._live.values() if one.ends <= now), key=_end)

    def end(self, fleet: Fleet, live: Live, verdict: Verdict | None = None) -> Run:
        """Record the end of a run, `verdict` instead of its own, and what follows from it.

        Raises:
            TryAgain: the store refused; the same may be repeated.
        """
        self._emit(fleet, live)
        run = self._finish(fleet, live.agent, live.run, verdict or live.course.verdict, live.shown)
        self._live.pop(live.agent, None)
        return run

    def lose(self, fleet: Fleet, run: Run) -> None:
        """A run is on record that is not alive: whoever launched it was killed. Raises as `end`."""
        self._finish(fleet, run.agent, run.id, LOST, Place(0))

    def _finish(self, fleet: Fleet, agent: str, run: str, verdict: Verdict, shown: Place) -> Run:
        held = fleet.ledger.held(run)
        lanes = {ADDRESSED: shown, BROADCAST: shown} if shown.seq else {}
        fleet.runs.finish(
            agent,
            run,
            free_where_nothing_ran(verdict),
            ended=rfc3339(self._clock.wall),
            context={"advance": places_body(lanes)},
            reserved=held.sum if held else None,
        )
        self.ended.setdefault(run, self._clock.elapsed)
        return settle.follow(fleet, agent, run)

    def freeze(self, seconds: float) -> None:
        """The machine slept: whatever is alive ends so much later."""
        for live in list(self._live.values()):
            self._live[live.agent] = live._replace(ends=live.ends + seconds)
            heapq.heappush(self._ends, (live.ends + seconds, live.agent, live.run))

    def live(self, agent: str | None = None) -> list[Live]:
        """The runs that are alive, of one agent or of all."""
        return [one for one in self._live.values() if agent in {None, one.agent}]

    def _is_live(self, ends: float, agent: str, run: str) -> bool:
        live = self._live.get(agent)
        return live is not None and (live.run, live.ends) == (run, ends)

    def _emit(self, fleet: Fleet, live: Live) -> None:
        """Append what the run has to say, once, unless the chain that woke it is too long."""
        if live.hops > fleet.config.limits.hops:
            return
        for number, one in enumerate(live.course.emits):
            body: Body = {
                "op": "event",
                "type": one.type,
                "from_agent": live.agent,
                "to_agent": one.to_agent,
                "payload": {},
                "cause": None,
                "hops": live.hops,
                "run": live.run,
            }
            fleet.store.append(EVENTS, [Draft(body, key=f"{live.run}/{number}")])


def settle_lanes(fleet: Fleet, agent: str) -> None:
    """Let the agent's lanes stand where its last success brought them, as before each launch."""
    fleet.bus.apply_advance(agent, fleet.runs.last_ok_advance(agent))


def _end(live: Live) -> tuple[float, str]:
    return live.ends, live.agent


def _hops(fleet: Fleet, cause: str) -> int:
    """How many wakes what the run emits is away from what set the chain off."""
    if not cause:
        return 1
    record = record_at(fleet.store, EVENTS, parse_ref(cause, "events#1")[1])
    hops = record.body.get("hops") if record else None
    return (hops if isinstance(hops, int) else 0) + 1
