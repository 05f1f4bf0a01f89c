"""Plays of the simulator for tests: homes that exist in memory only, and bad days."""

from datetime import UTC, datetime
from pathlib import Path

from fleet.config.model import Agent, HomeConfig, Limits, Schedule
from fleet.simulator.courses import Invented
from fleet.simulator.faults import plan
from fleet.simulator.play import Play
from fleet.simulator.trouble import befall

DAY = 86400.0
SPRING = datetime(2027, 3, 26, 11, tzinfo=UTC)  # the clocks of Berlin change on the 28th
AUTUMN = datetime(2027, 10, 29, 11, tzinfo=UTC)  # and on the 31st


def home(root: Path, agents: dict[str, dict[str, object]], **fields: object) -> HomeConfig:
    """A home with these agents: `home(root, {"a": {"schedule": hourly()}}, concurrency=2)`."""
    some = {
        name: Agent(name, f"agents/{name}.yaml", "", "p.j2", root, **said)  # type: ignore[arg-type]
        for name, said in agents.items()
    }
    limits = Limits(min_free=0)
    return HomeConfig(root, "1", agents=some, limits=limits, **fields)  # type: ignore[arg-type]


def hourly(offset: float = 0.0) -> tuple[Schedule, ...]:
    """Each hour, so many seconds past it."""
    return (Schedule(every=3600.0, offset=offset),)


def troubled(config: HomeConfig, seed: int, days: float) -> Play:
    """A play of `days` round a change of the clock in which everything goes wrong at some time."""
    play = Play(config, SPRING if seed % 2 else AUTUMN, Invented(config), seed=seed)
    befall(play, plan(seed, config, days))
    play.run(days * DAY)
    return play
