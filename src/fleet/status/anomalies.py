"""What of an agent is far from its own history: cost, turns and posts of its last run, or silence.

It compares an agent with nobody else, and calls nothing bad: a person looks.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import fmean, median, quantiles
from typing import NamedTuple

from fleet.records import Body
from fleet.runs.tally import Figures, Tally, tally
from fleet.status.sources import Sources
from fleet.talk.posted import posted
from fleet.units import age

HISTORY = 30  # successes before the last run that it is compared with
LEAST = 8  # fewer say nothing
FAR = 3.5  # modified z-score
TIMES = 2.0  # as much, or as little, as usual
OVERDUE = 3.0  # usual intervals without a success
EXPLAINED = frozenset(
    {"gated", "quiet_hours", "waiting_for_limit", "auth_blocked", "over_budget", "daily_runs"}
)
"""Results of a slot that say why an agent is silent."""
LONGEST = 1.5  # of the interval that nine of ten do not exceed: weekends are no silence


class Measure(NamedTuple):
    """A number of a run, and the least difference that is worth a word."""

    name: str
    least: float
    said: str


COST = Measure("cost", 0.05, "its last run cost ${:.2f}, usually about ${:.2f}")
TURNS = Measure("turns", 5, "its last run took {:g} turns, usually about {:g}")
POSTS = Measure("posts", 3, "its last run posted {:g} messages, usually about {:g}")


def anomalies(
    sources: Sources, agents: Sequence[Body], now: datetime, *, alive: bool
) -> Iterator[Body]:
    """Everything unusual: {agent, measure, what, value, usual, run}.

    Args:
        sources: what `status` looks at.
        agents: what it says of each agent.
        now: the moment, aware.
        alive: whether a runner is: without one everybody is silent.
    """
    store, cache, config = sources.store, sources.cache, sources.config
    tallies = {agent: tally(store, cache, config.names_of(agent)) for agent in config.agents}
    runs = {one.run for known in tallies.values() for one in known.newest}
    posts = posted(store, cache, config.channels, runs)
    for said in agents:
        agent = str(said["id"])
        yield from of_runs(agent, tallies[agent], posts)
        if alive and config.agents[agent].schedule and _may_run(said):
            yield from silence(agent, tallies[agent], now)


def _may_run(said: Body) -> bool:
    """Whether nothing that a person or the agent's own file said holds it back."""
    held = said["not_started"]
    why = held.get("result") if isinstance(held, dict) else None
    return said["state"] in {"waiting", "failing"} and why not in EXPLAINED


def of_runs(agent: str, tally: Tally, posts: dict[str, int]) -> Iterator[Body]:
    """What is unusual about the agent's last run: {agent, measure, what, value, usual, run}.

    Args:
        agent: its id.
        tally: its runs.
        posts: messages by run, as far as they are known.
    """
    if not tally.newest:
        return
    *before, last = tally.newest
    good = [one for one in before if one.ok][-HISTORY:]
    for measure in (COST, TURNS, POSTS):
        now = _value(last, measure, posts)
        history = [value for one in good if (value := _value(one, measure, posts)) is not None]
        if now is None or not is_far(now, history, measure.least):
            continue
        usual = median(history)
        if now > usual or last.ok:  # a run that failed did less: that is said elsewhere
            what = measure.said.format(now, usual)
            yield _anomaly(agent, measure.name, what, value=now, usual=usual, run=last.run)


def silence(agent: str, tally: Tally, now: datetime) -> Iterator[Body]:
    """Whether an agent that should run has had no success for far longer than usual.

    That is more than `OVERDUE` times its median interval between two successes, and longer than
    `LONGEST` times the interval that nine of ten do not exceed.
    """
    ends = [datetime.fromisoformat(one.ended) for one in tally.newest if one.ok][-HISTORY - 1 :]
    gaps = [(after - before).total_seconds() for before, after in pairwise(ends)]
    if len(gaps) < LEAST:
        return
    quiet, usual = (now - ends[-1]).total_seconds(), median(gaps)
    if quiet > max(OVERDUE * usual, LONGEST * quantiles(gaps, n=10, method="inclusive")[-1]):
        what = f"no success for {age(quiet)}, usually one every {age(usual)}"
        yield _anomaly(agent, "silence", what, value=quiet, usual=usual)


def is_far(value: float, history: Sequence[float], least: float) -> bool:
    """Whether `value` is far from the values of `history`.

    It is above or below all of them by `least` or more, at least twice or at most half their
    median, and has a modified z-score above 3.5: 0.6745 (x - median) / MAD, after B. Iglewicz and
    D. Hoaglin, How to Detect and Handle Outliers (ASQC, 1993). Where more than half are equal, and
    the MAD is 0, the mean absolute deviation stands in for it: (x - median) / (1.2533 MeanAD).
    """
    if len(history) < LEAST:
        return False
    usual = median(history)
    off = abs(value - usual)
    inside = min(history) - least < value < max(history) + least
    if inside or usual / TIMES < value < usual * TIMES:
        return False
    deviations = [abs(one - usual) for one in history]
    if mad := median(deviations):
        return 0.6745 * off / mad > FAR
    return off > FAR * 1.2533 * fmean(deviations)


def _value(one: Figures, measure: Measure, posts: dict[str, int]) -> float | None:
    if measure is POSTS:
        return posts.get(one.run)
    return one.cost if measure is COST else one.turns


def _anomaly(agent: str, measure: str, what: str, **more: float | str | None) -> Body:
    return {"agent": agent, "measure": measure, "what": what, "run": None, **more}
