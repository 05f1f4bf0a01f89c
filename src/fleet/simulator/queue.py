"""How long slots wait when more agents are due than may run at once; it starts nothing."""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import NamedTuple

from fleet.config.model import HomeConfig
from fleet.runner.decide import RANK


class Turn(NamedTuple):
    """One slot's place in the queue: when it is due, and when a place is free for it."""

    due: datetime
    agent: str
    begins: datetime


class Collision(NamedTuple):
    """More agents are due in one minute than may run at once.

    Attributes:
        at: the first due instant of them.
        agents: who, in the order in which they get a place.
        waits: seconds until the last of them does.
    """

    at: datetime
    agents: tuple[str, ...]
    waits: float


def turns(
    config: HomeConfig, slots: Sequence[tuple[datetime, str]], seconds: Mapping[str, float]
) -> Iterator[Turn]:
    """Each slot with when it gets a place: by priority, then by age.

    Args:
        config: says how many places there are, and the priorities.
        slots: (due, agent) in the order of time.
        seconds: by agent how long a run takes.
    """
    free = [slots[0][0]] * config.concurrency if slots else []
    waiting: list[tuple[int, datetime, str]] = []
    coming = iter((*slots, None))
    upcoming = next(coming)
    while upcoming or waiting:
        now = free[0] if waiting or not upcoming else max(free[0], upcoming[0])
        while upcoming and upcoming[0] <= now:
            due, agent = upcoming
            heapq.heappush(waiting, (RANK[config.agents[agent].priority], due, agent))
            upcoming = next(coming)
        _, due, agent = heapq.heappop(waiting)
        begins = max(due, free[0])
        heapq.heapreplace(free, begins + timedelta(seconds=seconds[agent]))
        yield Turn(due, agent, begins)


def collisions(config: HomeConfig, some: Iterable[Turn]) -> list[Collision]:
    """The minutes in which more agents are due than there are places, in the order of time."""
    ordered = sorted(some, key=lambda one: (_minute(one), one.begins))
    groups = (list(group) for _, group in groupby(ordered, _minute))
    return [
        Collision(
            min(one.due for one in group),
            tuple(dict.fromkeys(one.agent for one in group)),
            max((one.begins - one.due).total_seconds() for one in group),
        )
        for group in groups
        if len({one.agent for one in group}) > config.concurrency
    ]


def _minute(one: Turn) -> datetime:
    return one.due.replace(second=0, microsecond=0)
