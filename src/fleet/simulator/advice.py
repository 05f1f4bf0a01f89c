"""What a forecast suggests to change, a line each; it changes nothing."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from zoneinfo import ZoneInfo

from fleet.simulator.forecast import Coming, Forecast
from fleet.units import counted, format_duration

DAY = 86400.0
HAIR = 0.005  # dollars that count for nothing
IDLE_RUNS = 6  # from so many runs on it can be said that an agent wakes in vain
IDLE_SHARE = 0.4  # of its runs that found nothing
INTERVALS = (1, 2, 3, 4, 6, 8, 12, 24)  # hours that divide a day
BUSY = 0.8  # of all places' time


def advice(known: Forecast) -> list[str]:
    """What would do, the most telling first."""
    return [
        *_budgets(known),
        *_crowds(known),
        *(line for one in known.agents for line in _of(one, known)),
        *_busy(known),
    ]


# Money and places ----------------------------------------------------------------------------


def _budgets(known: Forecast) -> Iterator[str]:
    spent = {day: known.cost_of(day) for day in known.costs}
    if said := _reached(known.config.budget.per_day, spent):
        yield f"the fleet's budget.per_day {said}: raise it in fleet.yaml, or wake less"
    by_agent = {
        one.agent.id: _reached(
            one.agent.budget.per_day,
            {day: costs.get(one.agent.id, 0.0) for day, costs in known.costs.items()},
        )
        for one in known.agents
    }
    for name, said in by_agent.items():
        if said:
            yield f"{name}: budget.per_day {said}"


def _reached(most: float | None, spent: Mapping[date, float]) -> str:
    """When a budget of the day is used up, and by what would be spent; "" when it suffices."""
    full = [day for day, cost in spent.items() if most is not None and cost > most + HAIR]
    if most is None or not full:
        return ""
    when = f"on {full[0]}" if len(full) == 1 else f"on {len(full)} days from {full[0]} on"
    return f"is reached {when}: ${max(spent.values()):.2f} of ${most:.2f}"


def _crowds(known: Forecast) -> Iterator[str]:
    """The minute of the hour in which most agents meet."""
    if not known.crowds:
        return
    zone = ZoneInfo(known.config.timezone)
    by_minute = Counter(one.at.astimezone(zone).minute for one in known.crowds)
    minute, often = by_minute.most_common(1)[0]
    worst = max(
        (one for one in known.crowds if one.at.astimezone(zone).minute == minute),
        key=lambda one: (one.waits, len(one.agents)),
    )
    when = f"{worst.at.astimezone(zone):%H:%M}"
    yield (
        f"{len(worst.agents)} agents are due at :{minute:02} (as at {when}) for "
        f"{counted(known.config.concurrency, 'place')}, {counted(often, 'time')}, the last waits "
        f"{format_duration(round(worst.waits))}: give some of them jitter, an offset or another "
        "minute"
    )


def _busy(known: Forecast) -> Iterator[str]:
    seconds = sum(one.runs * one.past.seconds for one in known.agents)
    share = seconds / (known.days * DAY * known.config.concurrency)
    if share >= BUSY:
        places = counted(known.config.concurrency, "place")
        yield f"{places} would be busy {share:.0%} of the time: raise concurrency, or wake less"


# One agent -----------------------------------------------------------------------------------


def _of(one: Coming, known: Forecast) -> Iterator[str]:
    yield from _idle(one, known.days)
    agent, gap = one.agent, one.gap
    if not agent.schedule and agent.wake_on is None:
        yield f"{agent.id}: never due: it has no schedule and no wake_on"
    elif agent.schedule and not one.slots:
        yield f"{agent.id}: not due within {known.days:g} days"
    if gap is not None and agent.timeout > gap:
        yield (
            f"{agent.id}: timeout {format_duration(agent.timeout)} is longer than its interval of "
            f"{format_duration(gap)}: a slow run skips its next slot"
        )
    per_day, most = one.slots / known.days, agent.max_runs_per_day
    if most is not None and per_day > most:
        yield f"{agent.id}: {per_day:.0f} slots a day, max_runs_per_day is {most}"


def _idle(one: Coming, days: float) -> Iterator[str]:
    runs, idle = len(one.past.runs), one.past.idle
    if runs < IDLE_RUNS or idle < IDLE_SHARE * runs or not one.slots:
        return
    daily = max(1, round(one.slots / days))
    vain = round(daily * idle / runs)
    wakes = "daily wakes" if daily > 1 else "wakes"
    count = f"{vain} of {daily}" if daily > 1 else f"{idle} of {runs}"
    line = f"{one.agent.id}: {count} {wakes} found nothing (idle)"
    hours = _interval(daily - vain)
    yield f"{line}: every {hours}h would do" if daily > 1 and 24 / daily < hours else line


def _interval(wakes: int) -> int:
    """The longest interval, in hours, that gives at least so many wakes a day."""
    fitting: Sequence[int] = [hours for hours in INTERVALS if hours * max(1, wakes) <= DAY / 3600]
    return fitting[-1] if fitting else 1
