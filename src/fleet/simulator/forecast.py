"""What the schedules of a home will bring: runs, dollars, tokens and crowds, by what was so far.

Nothing that passes counts (pauses, halts, limits, breakers): it is about the files as they are.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from fleet.config.model import Agent, HomeConfig
from fleet.records import Body
from fleet.runner import money
from fleet.runner.ahead import Ahead, slots_ahead
from fleet.runner.state import AgentState, State
from fleet.simulator.past import Past, look_back
from fleet.simulator.queue import Collision, Turn, collisions, turns
from fleet.wiring import Fleet


@dataclass(frozen=True, slots=True)
class Coming:
    """What is to come of one agent, on average.

    Attributes:
        agent: whose.
        past: what it did lately.
        slots: how many of its schedule come due.
        held: how many of them do not start by themselves, by the reason that the files give.
        runs: how many runs start, wakes included.
        wakes: how many of them events bring about.
        cost_each: dollars of one run.
        cost_known: whether runs have said so; else it is what a run is reserved.
        tokens_each: of one run; None when unknown.
        gap: the least seconds between two of its slots; None with less than two.
    """

    agent: Agent
    past: Past
    slots: int
    held: Mapping[str, int]
    runs: float
    wakes: float
    cost_each: float
    cost_known: bool
    tokens_each: float | None
    gap: float | None

    @property
    def cost(self) -> float:
        """Dollars of all of them."""
        return self.runs * self.cost_each

    def as_json(self) -> Body:
        """The object of this agent that `--json` prints."""
        tokens = None if self.tokens_each is None else round(self.runs * self.tokens_each)
        return {
            "id": self.agent.id,
            "slots": self.slots,
            "held": dict(self.held),
            "runs": round(self.runs, 1),
            "wakes": round(self.wakes, 1),
            "cost": round(self.cost, 2),
            "cost_each": round(self.cost_each, 4),
            "cost_known": self.cost_known,
            "tokens": tokens,
            "seconds_each": round(self.past.seconds),
            "seen_runs": len(self.past.runs),
            "idle_runs": self.past.idle,
            "budget": self.agent.budget.per_day,
        }


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is to come of a home from `begin` on, for `days`; `costs` by local day and agent."""

    config: HomeConfig
    begin: datetime
    days: float
    agents: Sequence[Coming]
    costs: Mapping[date, Mapping[str, float]]
    runs: Mapping[date, float]
    crowds: Sequence[Collision]
    past: Mapping[str, Past] = field(default_factory=dict)

    @property
    def until(self) -> datetime:
        """The end of it."""
        return self.begin + timedelta(days=self.days)

    @property
    def history(self) -> float:
        """How many days the records reach back on which it stands; 0 without any."""
        return max((one.days for one in self.past.values()), default=0.0)

    def cost_of(self, day: date) -> float:
        """Dollars of a local day, which may be a part of one at both ends."""
        return sum(self.costs.get(day, {}).values())


def forecast(fleet: Fleet, now: datetime, days: float) -> Forecast:
    """What is to come of the home within `days` after `now`, on average."""
    config, past = fleet.config, look_back(fleet, now)
    enabled = [agent.id for agent in config.agents.values() if agent.enabled]
    end = now + timedelta(days=days)
    ahead = [one for one in slots_ahead(config, clean(enabled), now, days) if one.due < end]
    by_agent: dict[str, list[Ahead]] = defaultdict(list)
    for one in ahead:
        by_agent[one.agent].append(one)
    coming = [
        _coming(fleet, config.agents[name], past[name], by_agent[name], days) for name in enabled
    ]
    starting = [one for one in ahead if not one.held]
    costs, runs = _by_day(config, now, days, coming, starting)
    return Forecast(config, now, days, coming, costs, runs, _crowds(config, starting, past), past)


def clean(agents: Sequence[str]) -> State:
    """The state of a home in which nothing holds anybody back."""
    return State(agents={name: AgentState() for name in agents})


def _coming(fleet: Fleet, agent: Agent, past: Past, ahead: Sequence[Ahead], days: float) -> Coming:
    held = Counter(one.held for one in ahead if one.held)
    # What quiet hours hold back is one run at their end.
    ends = {one.decision.until for one in ahead if one.held == "quiet_hours"}
    by_schedule = float(len(ahead) - sum(held.values()) + len(ends))
    if past.starts is not None:
        by_schedule = len(ahead) * past.starts
    if agent.max_runs_per_day is not None:
        by_schedule = min(by_schedule, agent.max_runs_per_day * max(1.0, days))
    wakes = past.wakes * days
    need = money.need(fleet, agent)
    cost = past.cost
    gaps = [(after.due - one.due).total_seconds() for one, after in pairwise(ahead)]
    return Coming(
        agent=agent,
        past=past,
        slots=len(ahead),
        held=held,
        runs=by_schedule + wakes,
        wakes=wakes,
        cost_each=need.cost if cost is None else cost,
        cost_known=cost is not None,
        tokens_each=past.tokens,
        gap=min(gaps, default=None),
    )


def _by_day(
    config: HomeConfig,
    begin: datetime,
    days: float,
    coming: Sequence[Coming],
    starting: Sequence[Ahead],
) -> tuple[dict[date, dict[str, float]], dict[date, float]]:
    """Dollars by local day and agent, and runs by local day; wakes fall on all days alike."""
    zone = ZoneInfo(config.timezone)
    parts = _parts(begin, days, zone)
    per_slot = Counter(one.agent for one in starting)
    costs: dict[date, dict[str, float]] = {day: defaultdict(float) for day in parts}
    runs: dict[date, float] = dict.fromkeys(parts, 0.0)
    slots = Counter((one.agent, one.due.astimezone(zone).date()) for one in starting)
    for one in coming:
        name, by_schedule = one.agent.id, one.runs - one.wakes
        for day, part in parts.items():
            share = slots[name, day] / per_slot[name] if per_slot[name] else part / days
            count = by_schedule * share + one.wakes * part / days
            costs[day][name] += count * one.cost_each
            runs[day] += count
    return costs, runs


def _parts(begin: datetime, days: float, zone: ZoneInfo) -> dict[date, float]:
    """The local days that are touched, each with how many days of it are: the ends are less."""
    found: dict[date, float] = {}
    moment, end = begin.astimezone(zone), begin + timedelta(days=days)
    while moment < end:
        tomorrow = moment.date() + timedelta(days=1)
        midnight = datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=zone)
        upto = min(midnight.timestamp(), end.timestamp())
        found[moment.date()] = (upto - moment.timestamp()) / 86400
        moment = datetime.fromtimestamp(upto, zone)
    return found


def _crowds(
    config: HomeConfig, starting: Sequence[Ahead], past: Mapping[str, Past]
) -> list[Collision]:
    slots = [(one.due, one.agent) for one in starting]
    seconds = {name: one.seconds for name, one in past.items()}
    some: Sequence[Turn] = list(turns(config, slots, seconds))
    return collisions(config, some)
