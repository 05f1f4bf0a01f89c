"""Which new events wake whom: each is read once for all agents and opens at most one wake for each.

It opens slots and starts nothing. What was opened stands in the agents' own documents, so that
looking at an event twice, as after a crash, opens nothing twice.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from fleet.bus.events import ALWAYS_WAKE, STREAM, is_for
from fleet.config.model import Agent
from fleet.ports import Store, read_kept
from fleet.records import Record
from fleet.runner import lead
from fleet.runner.situation import moment
from fleet.runner.slots import Slots
from fleet.runs import Run
from fleet.wiring import Fleet

MOST = 5000  # events read in one look; the next one goes on
NOTED_EVERY = timedelta(minutes=1)  # how far it looked
AFTER_FAILURE = 60.0  # seconds in which no wake follows a run that failed, whatever its cooldown


def wakes(agent: Agent, record: Record) -> bool:
    """Whether the event is one that wakes the agent; what it emitted itself never is.

    What fleet delivers in an agent's name (a reminder that it wrote to itself) is.
    """
    if not agent.enabled or not is_for(record, agent):
        return False
    body, on = record.body, agent.wake_on
    addressed = body.get("to_agent") is not None
    if addressed and body.get("type") in ALWAYS_WAKE:
        return True
    if on is None or body.get("from_agent") in {agent.id, *agent.formerly}:
        return False
    return body.get("type") in on.types or (addressed and on.addressed)


def waits(fleet: Fleet, agent: Agent) -> Record | None:
    """The first event that wakes the agent and that no run of it which succeeded was shown."""
    floor = fleet.runs.last_ok_advance(agent.id)
    waiting = fleet.bus.waiting(agent.id, floor)
    return next((record for record in waiting if wakes(agent, record)), None)


def after(fleet: Fleet, agent: Agent, run: Run) -> None:
    """Open a wake for an agent that was woken before if its ended `run` left what wakes it.

    A run is shown a part of much, and one that fails consumes nothing: without this an agent that
    has no schedule would wait for the next event. What was opened before gets another attempt.
    """
    slots = Slots(fleet.store)
    if run.ended is None or not slots.was_woken(agent.id):
        return
    first = waits(fleet, agent)
    if first is None:
        return
    wait = cooldown_of(agent)
    since = datetime.fromisoformat(run.started or run.ended)
    if run.row is None or not run.row.advances:
        since, wait = datetime.fromisoformat(run.ended), max(wait, AFTER_FAILURE)
    now = moment(fleet)
    if not slots.open_wake(agent.id, first.seq, cooldown_of(agent), now):
        slots.wake_again(agent.id, max(now, since + timedelta(seconds=wait)), now)


def cooldown_of(agent: Agent) -> float:
    """Seconds between the starts of two wakes of the agent."""
    return agent.wake_on.cooldown if agent.wake_on else 0.0


class Wakes:
    """The events that were not looked at yet, and the agents that are owed a wake."""

    def __init__(self) -> None:
        self.looked: int | None = None  # number of the newest event that was looked at
        self._owed: dict[str, int] = {}  # by agent, the event that woke it
        self._noted: int | None = None  # how far, as the next runner would know it
        self._noted_at: datetime | None = None

    def begin(self, fleet: Fleet) -> int:
        """Go on where this runner, or the one before it, looked last; the newest event's number.

        In a home that was never led nothing is looked at that is there already.
        """
        head = fleet.store.head(STREAM)
        if self.looked is None:
            said = lead.remembered(fleet.store, STREAM)
            self.looked = said if isinstance(said, int) else head
        self._by_type = _by_type(fleet.config.agents.values())
        return head

    def look(self, fleet: Fleet, now: datetime) -> Sequence[str]:
        """Read the new events; the agents that are owed a wake now. A retracted event wakes nobody.

        Raises:
            TryAgain: the store refused; the same look may be repeated.
        """
        looked, head = self.looked or 0, fleet.store.head(STREAM)
        if head < looked:  # another log stands there now
            self.looked = head
        elif looked < head:
            batch = read_kept(fleet.store, STREAM, looked, MOST)
            woken = self._woken(fleet, batch.records)
            if woken:
                fleet.store.sync(STREAM)  # a wake leads to a launch
            self._owed = woken | self._owed
            self.looked = batch.upto
        self._note(fleet.store, now)
        return list(self._owed)

    def open(self, fleet: Fleet, agent: str, now: datetime) -> None:
        """Open the wake that the agent is owed."""
        known = fleet.config.agents.get(agent)
        if known:
            Slots(fleet.store).open_wake(agent, self._owed[agent], cooldown_of(known), now)
        del self._owed[agent]

    def _woken(self, fleet: Fleet, records: Iterable[Record]) -> dict[str, int]:
        """By agent the first event of `records` that wakes it."""
        woken: dict[str, int] = {}
        gone: frozenset[int] | None = None
        for record in records:
            for agent in self._candidates(fleet, record):
                if agent.id not in woken and wakes(agent, record):
                    gone = fleet.retractions.of(STREAM) if gone is None else gone
                    woken |= {} if record.seq in gone else {agent.id: record.seq}
        return woken

    def _candidates(self, fleet: Fleet, record: Record) -> Iterable[Agent]:
        to = record.body.get("to_agent")
        if to is None:
            return self._by_type.get(str(record.body.get("type")), ())
        agent = fleet.config.agents.get(str(to))
        return (agent,) if agent else ()

    def _note(self, store: Store, now: datetime) -> None:
        """Keep, now and then, how far all of it is done."""
        done = min((seq - 1 for seq in self._owed.values()), default=self.looked)
        lately = self._noted_at is not None and abs(now - self._noted_at) < NOTED_EVERY
        if done == self._noted or lately:
            return
        store.sync(STREAM)
        lead.note(store, {STREAM: done})
        self._noted, self._noted_at = done, now


def _by_type(agents: Iterable[Agent]) -> dict[str, list[Agent]]:
    """Whom a broadcast event of each type may wake."""
    found: dict[str, list[Agent]] = {}
    for agent in agents:
        for name in agent.wake_on.types if agent.wake_on else ():
            found.setdefault(name, []).append(agent)
    return found
