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
from fleet.records import Body, made_at, wall_of
from fleet.runs.outcome import NOT_STARTED
from fleet.simulator.launcher import Started
from fleet.simulator.play import Play, Stall
from fleet.wiring import Fleet

HAIR = 1e-6  # dollars
PROMPT = 2.0  # seconds from when a slot may start until it does
CATCHES_UP = 6 * 3600.0  # seconds after a stall in which its slots may still be started


def faults(play: Play) -> list[str]:
    """One line for each broken promise; none when the play kept them all."""
    told = _Told(play)
    return [
        *told.silent_slots(),
        *told.unknown_words(),
        *told.waited_for_nothing(),
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


def fires(play: Play) -> list[Body]:
    """What the log `fires` says of slots: what became of them, and what they waited for."""
    found = _bodies(play.person, "fires")
    return [body for body in found if body["op"] in {"fire", "deferred"}]


class _Told:
    """What the records of a play say."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self._fleet = play.person
        self._fires = fires(play)
        self._due = slots_due(play)
        self._stalls = play.told.stalls

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

    def unknown_words(self) -> Iterator[str]:
        """Slots of which something is said that the outcome table does not have."""
        for one in self._fires:
            if one["result"] != "started" and one["result"] not in NOT_STARTED:
                yield f"{one['agent']} {one['slot']}: {one['result']} is no result"

    def waited_for_nothing(self) -> Iterator[str]:
        """Slots that started late though a place was free, and nothing says why."""
        settled = {_name(one): one for one in self._fires if one["op"] == "fire"}
        deferred = {_name(one) for one in self._fires if one["op"] == "deferred"}
        for one in self._play.launcher.started:
            fire = settled.get((one.agent, one.slot, one.attempt))
            if not fire or _name(fire) in deferred or not one.slot[:1].isdigit():
                continue
            due = wall_of(str(fire["due"]))
            seen = any(stall.since < one.wall and due <= stall.until for stall in self._stalls)
            waited = one.wall - due
            if waited > PROMPT and not seen and self._was_free(one.elapsed - waited, one.elapsed):
                yield f"{one.agent} {one.slot}: started {waited:.0f} s late, and a place was free"

    def _was_free(self, since: float, until: float) -> bool:
        """Whether a place was free for longer than `PROMPT` between two moments of the play."""
        started, ended = self._play.launcher.started, self._play.launcher.ended
        changes = [(one.elapsed, 1) for one in started]
        changes += [(ended[one.run], -1) for one in started if one.run in ended]
        alive, last = 0, since
        for at, change in sorted(changes):
            is_free = alive < self._fleet.config.concurrency
            if at > since and is_free and min(at, until) - max(last, since) > PROMPT:
                return True
            alive, last = alive + change, at
            if at > until:
                break
        return False

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


def _name(fire: Body) -> tuple[object, object, object]:
    return fire["agent"], fire["slot"], fire["attempt"]


def _by_agent(starts: Iterable[Started]) -> dict[str, list[Started]]:
    found: dict[str, list[Started]] = defaultdict(list)
    for one in starts:
        found[one.agent].append(one)
    return found


def _bodies(fleet: Fleet, stream: str) -> Iterator[Body]:
    return (record.body for record in between(fleet.store, stream, 0, fleet.store.head(stream)))
