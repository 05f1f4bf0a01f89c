"""One look at the schedules: what came due is noticed, decided and launched.

It knows no signals, threads or processes; the loop calls it again and again, and so does the
simulator, under a clock and with a launcher of its own.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol, TypeVar
from zoneinfo import ZoneInfo

from fleet.alerts import raise_alert
from fleet.config.model import Agent
from fleet.errors import Held, NotStarted, TryAgain
from fleet.records import new_id
from fleet.runner import launch, money, settle
from fleet.runner.decide import decide, summed
from fleet.runner.situation import Asked, gather
from fleet.runner.slots import Slots
from fleet.runner.state import GATE, START, AgentState, Decision, Slot, State
from fleet.runner.waiting import Waiting
from fleet.runner.wakes import Wakes, waits
from fleet.status import LOW_DISK_FIX, next_due
from fleet.wiring import Fleet

T = TypeVar("T")
LASTS = timedelta(minutes=1)  # one agent's trouble of so long needs a person
STEP_BACK = timedelta(minutes=1)  # a clock that goes back so far was set, and due times are stale


class Launcher(Protocol):
    """What starts runs."""

    def running(self) -> Mapping[str, str]:
        """The id of each agent's live run."""

    def start(self, fleet: Fleet, agent: Agent, decision: Decision, run: str) -> bool:
        """Launch the reserved `run`; False when it could not be prepared.

        Raises:
            TryAgain: the store refused; no run is on record and nothing is reserved any more.
        """


class Asker(Protocol):
    """What asks the agents' gates whether a run is worth it."""

    def ask(self, fleet: Fleet, agents: Sequence[Agent]) -> Mapping[str, str]:
        """Ask those of `agents`, and take what was answered: "" worth a run, else why not.

        It is called at every look, with nobody too, and never waits.

        Raises:
            TryAgain: the store refused something; the next look goes on.
        """


class Engine:
    """The open slots of a home and when each agent is due next."""

    def __init__(
        self,
        fleet: Fleet,
        launcher: Launcher,
        gates: Asker,
        echo: Callable[[str], None],
        new_run: Callable[[float], str] = new_id,
    ) -> None:
        self._new_run = new_run
        self._launcher = launcher
        self._gates = gates
        self._wakes = Wakes()
        self._echo = echo
        self._waiting = Waiting()
        self._deferred: set[tuple[str, str, int, str]] = set()
        self.due: dict[str, datetime | None] = {}
        self._bells: list[tuple[datetime, str]] = []  # the same as a heap
        self._unnoticed: set[str] = set()  # whose slots have to be noticed
        self.stopping = False
        self._arrived = False
        self._faults: dict[str, str] = {}  # what was refused in this look, by agent
        self._troubled: dict[str, tuple[datetime, str]] = {}  # since when, and what
        self._newest: datetime | None = None
        self.use(fleet)

    def use(self, fleet: Fleet) -> None:
        """Go on with `fleet`, whose files may have been edited; everything is read anew."""
        self._fleet = fleet
        self._newest = None

    def look(self, now: datetime) -> None:
        """Notice what came due, decide, launch what may start, record why the rest did not.

        What the store or the disk refuses for one agent holds nobody else; the next look goes on.

        Raises:
            TryAgain: what all of them need was refused; nothing was lost.
        """
        if self._newest is None:
            self.begin(now)
        elif self._newest - now > STEP_BACK:
            self._echo("the clock was set back: due times are computed anew")
            self.begin(now)
        self._newest = now
        self._notice_due(now)
        for name in self._wakes.look(self._fleet, now):
            self._alone(name, partial(self._wake, name, now))
        self._enact(self._decisions(now), now)
        self._tell_faults(now)

    def refresh(self, *names: str) -> None:
        """Read again the slots of `names` (of everybody): a run that ended may have a retry."""
        slots = Slots(self._fleet.store)
        for name in names or {*self._waiting.slots, *self._fleet.config.agents}:
            self._alone(name, partial(self._reread, slots, name))

    @property
    def next_look(self) -> datetime | None:
        """When something comes due, or what waits is decided anew, as far as that is known."""
        known = [*(due for due, _ in self._bells[:1]), self._waiting.next_moment()]
        moments = [one for one in known if one and (not self._newest or one > self._newest)]
        return min(moments, default=None)

    # One agent's trouble ----------------------------------------------------------------------

    def _alone(self, name: str, step: Callable[[], T]) -> T | None:
        """Take a step that is about one agent; None when it was refused, which is told."""
        try:
            return step()
        except TryAgain as fault:
            self._faults.setdefault(name, str(fault))
            return None

    def _tell_faults(self, now: datetime) -> None:
        """Say each new one; one that lasts needs a person."""
        since = {name: self._troubled.get(name, (now, "")) for name in self._faults}
        for name, fault in self._faults.items():
            if fault != since[name][1]:
                self._echo(f"{name} is held back: {fault}")
            if now - since[name][0] > LASTS:
                raise_alert(
                    self._fleet.store,
                    kind="held-back",
                    subject=name,
                    what=f"{name} cannot be looked after: {fault}",
                    done="its slots wait, the others go on",
                    fix="fleet doctor and fleet verify say what is wrong",
                    key=f"held-back/{name}/{since[name][0].isoformat()}",
                )
        self._troubled = {name: (since[name][0], self._faults[name]) for name in self._faults}
        self._faults = {}

    def begin(self, now: datetime) -> None:
        """Read the open slots of everybody; the watermarks of new agents begin now."""
        self._newest = now
        self.due.clear()
        self._bells.clear()
        self._unnoticed = {agent.id for agent in self._scheduled()}
        self._waiting.clear()
        slots = Slots(self._fleet.store)
        for name in slots.known():
            if not self._arrived:
                self._alone(name, partial(slots.arrive, name, now))
            self._alone(name, partial(self._reread, slots, name))
        self._arrived = True
        newest = self._wakes.begin(self._fleet)
        self._notice_due(now)
        for agent in self._fleet.config.agents.values():
            if agent.enabled and agent.wake_on:
                self._alone(agent.id, partial(slots.begin_wakes, agent.id, newest))

    # Noticing ---------------------------------------------------------------------------------

    def _scheduled(self) -> Iterator[Agent]:
        """The agents whose slots come due."""
        agents = self._fleet.config.agents.values()
        return (agent for agent in agents if agent.enabled and agent.schedule)

    def _notice_due(self, now: datetime) -> None:
        """Notice the slots that came due, of agents too of whom nobody could say when they are."""
        while self._bells and self._bells[0][0] <= now:
            self._unnoticed.add(heapq.heappop(self._bells)[1])
        for name in sorted(self._unnoticed):
            self._alone(name, partial(self._notice, self._fleet.config.agents[name], now))

    def _reread(self, slots: Slots, name: str) -> None:
        self._waiting.keep(name, slots.open(name))

    def _notice(self, agent: Agent, now: datetime) -> None:
        zone = ZoneInfo(self._fleet.config.timezone)
        self._waiting.keep(agent.id, Slots(self._fleet.store).notice(agent, zone, now))
        self.due[agent.id] = due = next_due(agent, zone, now)
        self._unnoticed.discard(agent.id)
        if due:
            heapq.heappush(self._bells, (due, agent.id))

    def _wake(self, name: str, now: datetime) -> None:
        self._wakes.open(self._fleet, name, now)
        self._reread(Slots(self._fleet.store), name)

    def _finish_taken(self) -> None:
        """Finish what a runner that died left half done: a taken slot whose run is on record."""
        running = set(self._launcher.running().values())
        for name, some in list(self._waiting.slots.items()):
            for slot in [one for one in some if one.run and one.run not in running]:
                self._alone(name, partial(self._finish, name, slot))

    def _finish(self, name: str, slot: Slot) -> None:
        slots = Slots(self._fleet.store)
        names = self._fleet.config.names_of(name)
        if any(self._fleet.runs.exists(one, slot.run) for one in names):
            self._fleet.runs.sync(name)
            slots.started(name, slot, slot.run)
            self._drop(name, slot)
        else:
            slots.give_back(name, slot)
            self._waiting.mark(name, slot, run="")

    # Deciding ---------------------------------------------------------------------------------

    def _decisions(self, now: datetime) -> list[Decision]:
        self._finish_taken()
        running = self._launcher.running()
        slots = self._waiting.at_hand(
            self._fleet.config,
            now,
            max(0, self._fleet.config.concurrency - len(running)),
            all_of_them=self.stopping,
        )
        asked = Asked(slots, running, self._waiting.memos, stopping=self.stopping)
        if not asked.slots:
            self._gates.ask(self._fleet, ())
            return []
        state, faults = gather(self._fleet, asked, now)
        self._faults = {**faults, **self._faults}
        decisions = decide(self._fleet.config, state, now)
        while learned := self._served(decisions, state) or self._answered(decisions, state):
            state = replace(state, agents={**state.agents, **learned})
            decisions = decide(self._fleet.config, state, now)
        self._waiting.settle_down(decisions, now)
        return decisions

    def _served(self, decisions: Iterable[Decision], state: State) -> dict[str, AgentState]:
        """The agents whose wake would start though nothing waits for it any more.

        It costs a look at their lanes, so only those are asked that would start.
        """
        starting = [one.agent for one in decisions if one.slot.is_wake and _would_start(one)]
        served = [name for name in starting if self._alone(name, partial(self._is_served, name))]
        return {name: replace(state.agents[name], news=False) for name in served}

    def _is_served(self, name: str) -> bool:
        return waits(self._fleet, self._fleet.config.agents[name]) is None

    def _answered(self, decisions: Iterable[Decision], state: State) -> dict[str, AgentState]:
        """The agents whose gate was asked and has answered; the others wait."""
        asking = [one.agent for one in decisions if one.result == GATE]
        agents = [self._fleet.config.agents[name] for name in asking]
        answers = self._gates.ask(self._fleet, agents)
        for name, answer in answers.items():
            self._waiting.learn(name, gate=answer)
        return {name: replace(state.agents[name], gate=said) for name, said in answers.items()}

    def _enact(self, decisions: Iterable[Decision], now: datetime) -> None:
        refused: list[Decision] = []
        places = True
        for one in decisions:
            if one.result == START:
                places = places and self._alone(one.agent, partial(self._launch, one)) is not False
            elif one.closes:
                refused.append(one)
            elif one.defers:
                self._alone(one.agent, partial(self._defer, one))
        self._settle(refused, now)

    def _settle(self, refused: list[Decision], now: datetime) -> None:
        for name in dict.fromkeys(one.agent for one in refused):
            some = [one for one in refused if one.agent == name]
            self._alone(name, partial(self._refuse, name, some, now))
        if low := next((one.detail for one in refused if one.result == "low_disk"), ""):
            self._tell_low_disk(low, now)

    def _refuse(self, name: str, some: list[Decision], now: datetime) -> None:
        Slots(self._fleet.store).settle(name, some)
        memo = self._waiting.memos.get(name)
        for one in some:
            self._drop(name, one.slot)
        self._waiting.go_on(name, memo, min(one.slot.due for one in some), now)
        for line in summed(some):
            self._echo(line)
        self._tell_budgets(some)

    def _defer(self, one: Decision) -> None:
        if one.until is not None and one.until != one.slot.held:
            Slots(self._fleet.store).hold(one.agent, one.slot, one.until)
            self._waiting.hold(one.agent, one.slot, one.until)
        if one.result == "gated":
            self._waiting.learn(one.agent, gate=None)
        mark = (one.agent, one.slot.name, one.slot.attempt, one.result)
        if mark not in self._deferred:
            Slots(self._fleet.store).deferred(one)
            self._deferred.add(mark)
            self._tell_budgets([one])
            self._echo(f"{one.agent} waits ({one.result}): {one.detail}")

    def _tell_budgets(self, refused: Iterable[Decision]) -> None:
        for name in dict.fromkeys(one.agent for one in refused if one.result == "over_budget"):
            money.tell(self._fleet, self._fleet.config.agents[name], refused=True)

    def _tell_low_disk(self, how_low: str, now: datetime) -> None:
        today = now.astimezone(ZoneInfo(self._fleet.config.timezone)).date()
        raise_alert(
            self._fleet.store,
            kind="low-disk",
            subject="fleet",
            what=f"the disk is nearly full: {how_low}",
            done="nothing starts until there is room",
            fix=LOW_DISK_FIX,
            key=f"low-disk/{today}",
        )

    # Launching --------------------------------------------------------------------------------

    def _launch(self, one: Decision) -> bool:
        """Start one run; False when there is no place under the cap."""
        fleet, slots, slot = self._fleet, Slots(self._fleet.store), one.slot
        agent = fleet.config.agents[one.agent]
        run = self._new_run(fleet.store.now().wall)
        try:
            launch.reserve(fleet, agent, run)
        except Held as held:
            if not slot.is_wake:
                self._close(one, "skipped_overlap", str(held))
            return True
        except NotStarted as fault:
            if fault.reason == "cap":
                return False
            self._close(one, fault.reason, fault.what)
            return True
        if not slots.take(agent.id, slot, run):
            settle.release(fleet, run)
            self._drop(agent.id, slot)
            return True
        self._waiting.mark(agent.id, slot, run=run)  # whatever happens now, the next look finds out
        started = self._launcher.start(fleet, agent, one, run)
        slots.started(agent.id, slot, run)
        self._drop(agent.id, slot)
        if started:
            self._echo(f"{agent.id} started {run}" + (" (catch-up)" if one.caught_up else ""))
        else:
            self._echo(f"{agent.id} could not be prepared: see fleet runs {agent.id}")
        return True

    def _close(self, one: Decision, result: str, detail: str) -> None:
        refused = Decision(one.agent, one.slot, result, detail, defers=one.slot.is_wake)
        if refused.closes:
            Slots(self._fleet.store).settle(one.agent, [refused])
            self._drop(one.agent, one.slot)
            self._tell_budgets([refused])
        else:
            self._defer(refused)

    def _drop(self, agent: str, slot: Slot) -> None:
        """The slot is closed."""
        self._waiting.drop(agent, slot)
        same = (agent, slot.name, slot.attempt)
        self._deferred = {mark for mark in self._deferred if mark[:3] != same}


def _would_start(one: Decision) -> bool:
    """Whether a run would come of it, or its gate is asked whether one should."""
    return one.result in {START, GATE}
