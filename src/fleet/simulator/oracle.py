"""Whether a play kept what the runner promises, by the schedules and the records alone.

It asks no part of the engine: which slots came due is computed from `schedules.slots`, what became
of them is read from the logs.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import cast
from zoneinfo import ZoneInfo

from fleet import schedules
from fleet.config.model import Budget
from fleet.logs import between
from fleet.records import Body, made_at
from fleet.simulator.launcher import Started
from fleet.simulator.play import Play, Stall
from fleet.wiring import Fleet

HAIR = 1e-6  # dollars
CATCHES_UP = 6 * 3600.0  # seconds after a stall in which its slots may still be started


def faults(play: Play) -> list[str]:
    """One line for each broken promise; none when the play kept them all."""
    told = _Told(play)
    return [
        *told.silent_slots(),
        *told.double_starts(),
        *told.over_the_cap(),
        *told.over_budget(),
        *told.bursts_after_stalls(),
    ]


def slots_due(play: Play) -> dict[str, list[datetime]]:
    """By agent the nominal instants of every slot that came due while somebody watched."""
    zone = ZoneInfo(play.fleet.config.timezone)
    found: dict[str, set[datetime]] = defaultdict(set)
    for one in play.told.in_force:
        late = schedules.jitter(one.agent.id, one.agent.jitter)
        begin, end = (datetime.fromtimestamp(wall, UTC) for wall in (one.since, one.until))
        for instant in schedules.slots(one.agent.schedule, begin, zone):
            if instant + late > end:
                break
            found[one.agent.id].add(instant.astimezone(UTC))
    return {name: sorted(some) for name, some in found.items()}


class _Told:
    """What the records of a play say."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self._fleet = play.person
        self._fires = list(_bodies(self._fleet, "fires"))
        self._due = slots_due(play)

    # Every slot has its word ---------------------------------------------------------------------

    def silent_slots(self) -> Iterator[str]:
        """Slots that came due and of which no record says what became of them."""
        said = {(one["agent"], one["slot"]) for one in self._fires}
        full = len(self._play.launcher.live()) >= self._fleet.config.concurrency
        for agent, instants in self._due.items():
            waiting = self._open(agent) if full else set()
            for instant in instants:
                name = instant.isoformat()
                if (agent, name) not in said and name not in waiting:
                    yield f"{agent} {name}: nothing says what became of it"

    def _open(self, agent: str) -> set[str]:
        """Slots that wait for a free place when the play ends."""
        body = self._fleet.store.get(f"schedule/{agent}")[0] or {}
        return {str(entry["slot"]) for entry in cast("list[Body]", body.get("open") or [])}

    # Once --------------------------------------------------------------------------------------

    def double_starts(self) -> Iterator[str]:
        """Attempts of a slot for which two runs are on record."""
        runs = [
            (name.removeprefix("runs/"), str(body["slot"]), body["attempt"], str(body["run"]))
            for name in self._fleet.store.streams("runs/", "", 10_000)
            for body in _bodies(self._fleet, name)
            if body["op"] == "started"
        ]
        for (agent, slot, attempt), count in Counter(one[:3] for one in runs).items():
            if count > 1:
                yield f"{agent} {slot} attempt {attempt}: {count} runs started"
        said = {(one["agent"], one["slot"], one["attempt"]): one["run"] for one in self._fires
                if one["op"] == "fire" and one["result"] == "started"}  # fmt: skip
        for agent, slot, attempt, run in runs:
            if said.get((agent, slot, attempt)) != run:
                yield f"{agent} {slot} attempt {attempt}: run {run} has no fire"

    # Places and money ----------------------------------------------------------------------------

    def over_the_cap(self) -> Iterator[str]:
        """Starts with which more runs were alive than `concurrency` allows, or two of an agent."""
        most, started = self._fleet.config.concurrency, self._play.launcher.started
        ended = self._play.launcher.ended
        for one in started:
            if one.alive > most:
                yield f"{one.agent} {one.run}: {one.alive} runs alive, {most} may be"
        for agent, some in _by_agent(started).items():
            for before, after in pairwise(some):
                if ended.get(before.run, after.elapsed + 1) > after.elapsed:
                    yield f"{agent} {after.run}: started while {before.run} was alive"

    def over_budget(self) -> Iterator[str]:
        """Starts whose reservation passed the budget of their local day, agent's or fleet's."""
        config, costs = self._fleet.config, self._costs()
        yield from self._passed("the fleet", self._play.launcher.started, config.budget, costs)
        for name, some in _by_agent(self._play.launcher.started).items():
            yield from self._passed(name, some, config.agents[name].budget, costs)

    def _passed(
        self, whose: str, starts: Iterable[Started], budget: Budget, costs: dict[str, float | None]
    ) -> Iterator[str]:
        if budget.per_day is None:
            return
        before: dict[str, list[Started]] = defaultdict(list)
        for one in starts:
            day = before[self._day(one.run)]
            spent = sum(self._counts(other, one.elapsed, costs) for other in day)
            if spent + one.reserved > budget.per_day + HAIR:
                yield f"{whose}: ${spent:.2f} and ${one.reserved:.2f} of ${budget.per_day:.2f}"
            day.append(one)

    def _counts(self, one: Started, elapsed: float, costs: dict[str, float | None]) -> float:
        """What an earlier run counted for at that time: its cost, or what it was reserved."""
        is_over = self._play.launcher.ended.get(one.run, elapsed + 1) <= elapsed
        cost = costs.get(one.run)
        return one.reserved if cost is None or not is_over else cost

    def _costs(self) -> dict[str, float | None]:
        return {
            str(body["run"]): cast("float | None", body["cost_usd"])
            for name in self._fleet.store.streams("runs/", "", 10_000)
            for body in _bodies(self._fleet, name)
            if body["op"] == "ended"
        }

    def _day(self, run: str) -> str:
        wall = made_at(run) or 0.0
        zone = ZoneInfo(self._fleet.config.timezone)
        return datetime.fromtimestamp(wall, zone).date().isoformat()

    # After a stall -------------------------------------------------------------------------------

    def bursts_after_stalls(self) -> Iterator[str]:
        """Agents that were started more than once for what came due while nobody watched."""
        starts = _by_agent(self._play.launcher.started)
        steps = [one.at for one in self._play.told.faults if one.kind == "step"]
        for stall in self._play.told.stalls:
            until = min((at for at in steps if at > stall.ended), default=stall.ended + CATCHES_UP)
            for agent, instants in self._due.items():
                late = schedules.jitter(agent, self._fleet.config.agents[agent].jitter)
                missed = {at.isoformat() for at in instants if _within(at, late, stall)}
                begun = {
                    one.slot for one in starts.get(agent, ())
                    if one.slot in missed and stall.ended <= one.elapsed <= until
                }  # fmt: skip
                if len(begun) > 1:
                    yield f"{agent} started for {', '.join(sorted(begun))} after one stall"


def _within(at: datetime, late: timedelta, stall: Stall) -> bool:
    return stall.since < (at + late).timestamp() <= stall.until


def _by_agent(starts: Iterable[Started]) -> dict[str, list[Started]]:
    found: dict[str, list[Started]] = defaultdict(list)
    for one in starts:
        found[one.agent].append(one)
    return found


def _bodies(fleet: Fleet, stream: str) -> Iterator[Body]:
    return (record.body for record in between(fleet.store, stream, 0, fleet.store.head(stream)))
