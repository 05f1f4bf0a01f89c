"""The runner's engine with 1,000 agents: how late it launches, and what it costs while idle.

Real time, the memory store and a launcher that starts no process: what is measured is noticing,
deciding, reserving, recording and settling. A week and a day are played beside it, under a clock
that jumps.
"""

import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import measuring
from table import Row

from fleet.config.model import Agent, Budget, HomeConfig, Limits, Schedule
from fleet.errors import TryAgain
from fleet.records import wall_of
from fleet.runner.engine import Engine
from fleet.runs import Verdict
from fleet.simulator import oracle
from fleet.simulator.courses import Course
from fleet.simulator.launcher import Imagined
from fleet.simulator.play import Play
from fleet.stores.clock import system_clock
from fleet.stores.ram import RamCache, RamStore
from fleet.wiring import Fleet
from fleet.wiring.plays import simulated

AGENTS, PLACES, LASTS = 1000, 50, 0.5
SPAN, IDLE = 20.0, 20.0  # seconds in which all of them come due once; in which nobody does
LOOKS = 0.2  # seconds between two looks, as `fleet up` while something runs
QUIET = 1.0  # and while nothing does
LATE, CPU, MEMORY, DAY = 1.0, 5.0, 200, 60.0


def rows(folder: Path) -> Iterator[Row]:
    """Launches, idling, and a day that is played."""

    def taken(word: str) -> dict[str, float]:
        found: dict[str, float] = measuring.in_child("engine", word, str(folder))
        return found

    for word, how in (("spread", f"within {SPAN:.0f} s"), ("together", "at once")):
        said = taken(word)
        what, p99, silent = f"engine, {AGENTS} due {how}", said["p99"], said["silent"]
        peer = f"{PLACES} places, runs of {LASTS:g} s"
        yield Row(f"{what}: p99", f"{p99 * 1000:.0f} ms", peer, None, f"<= {LATE:g}", p99)
        yield Row(f"{what}: silent slots", f"{silent:.0f}", "", None, "<= 0", silent)
    said = taken("idle")
    what, cpu, rss = f"engine, {AGENTS} agents idle", said["cpu"], said["rss"]
    yield Row(f"{what}: CPU", f"{cpu:.2f} % of a core", "", None, f"<= {CPU:g}", cpu)
    yield Row(f"{what}: RSS", f"{rss:.0f} MiB", "", None, f"<= {MEMORY}", rss)
    said = taken("day")
    what, cpu = f"a day of {AGENTS} hourly agents, played", said["cpu"]
    peer = f"{said['started']} runs, {said['faults']} faults"
    yield Row(what, f"{cpu:.0f} s of CPU", peer, None, f"<= {DAY:g}", cpu)


class Steady:
    """Every run takes as long and costs as much."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def course(self, agent: Agent, rng: Random) -> Course:
        """See `Courses`."""
        del agent
        spread = rng.uniform(0.5, 1.5) if self._seconds > 1 else 1.0
        verdict = Verdict("ok", cost_usd=0.1, tokens_in=1000, tokens_out=10)
        return Course(spread * self._seconds, verdict)

    def gated(self, agent: Agent, rng: Random) -> str:
        """See `Courses`."""
        del agent, rng
        return ""


class RealTime:
    """The host's clock as a launcher of plays reads it."""

    @property
    def elapsed(self) -> float:
        """See `Clock`."""
        return time.monotonic()

    @property
    def wall(self) -> float:
        """See `Clock`."""
        return time.time()


class Nobody:
    """There are no gates to ask."""

    def ask(self, *_: object) -> dict[str, str]:
        """See `Asker`."""
        return {}


def home(root: Path, every: float, offset: float, spread: float) -> HomeConfig:
    """All agents, due each `every` seconds, the first one at `offset`, spread over `spread`."""
    budget = Budget(per_run=0.5, per_day=50.0)
    agents = {
        name: Agent(name, f"agents/{name}.yaml", "", "p.j2", root, budget=budget,
                    schedule=(Schedule(every=every, offset=offset + n * spread / AGENTS),))
        for n, name in enumerate(f"a{n:04}" for n in range(AGENTS))
    }  # fmt: skip
    return HomeConfig(root, "1", timezone="Europe/Berlin", concurrency=PLACES, agents=agents,
                      limits=Limits(min_free=0), budget=Budget(per_day=1e6))  # fmt: skip


def busy(root: Path, span: float) -> dict[str, float]:
    """All agents come due within `span` seconds: how late each is launched."""
    begin = time.time() + 2
    fleet = simulated(home(root, 3600.0, begin % 3600, span), RamStore(system_clock), RamCache())
    launcher = Imagined(RealTime(), Steady(LASTS), Random(1))  # type: ignore[arg-type]
    engine = Engine(fleet, launcher, Nobody(), lambda _line: None)
    while len(launcher.ended) < AGENTS and time.time() < begin + 5 * SPAN:
        _pass(engine, fleet, launcher)
        next_end = launcher.next_end()
        due = engine.next_look
        moments = [LOOKS, *([next_end - time.monotonic()] if next_end else []),
                   *([due.timestamp() - time.time()] if due else [])]  # fmt: skip
        time.sleep(max(0.0, min(moments)))
    return _late(fleet, launcher)


def _pass(engine: Engine, fleet: Fleet, launcher: Imagined) -> None:
    for live in launcher.over():
        try:
            engine.refresh(launcher.end(fleet, live).agent)
        except TryAgain:
            continue
    engine.look(datetime.now(UTC))


def _late(fleet: Fleet, launcher: Imagined) -> dict[str, float]:
    """Seconds from the later of being due and of a free place to the launch."""
    records = fleet.store.read("fires", 0, 1_000_000).records
    due = {str(one.body["agent"]): wall_of(str(one.body["due"])) for one in records}
    over = sorted(one.elapsed + LASTS for one in launcher.started)  # when its run was over
    waits = []
    for n, one in enumerate(launcher.started):
        # The n-th launch has a place once all but `PLACES` - 1 of those before are over.
        free = over[n - PLACES] if n >= PLACES else 0.0
        waits.append(min(one.elapsed - free, one.wall - due[one.agent]))
    silent = sum(name not in due for name in fleet.config.agents)
    return {"silent": silent, "p99": measuring.quantile(waits, 0.99)}


def idle(root: Path) -> dict[str, float]:
    """Nobody is due: what a look each second costs, and what the process holds."""
    far = (time.time() + 1800) % 3600
    fleet = simulated(home(root, 3600.0, far, 1.0), RamStore(system_clock), RamCache())
    launcher = Imagined(RealTime(), Steady(LASTS), Random(1))  # type: ignore[arg-type]
    engine = Engine(fleet, launcher, Nobody(), lambda _line: None)
    engine.look(datetime.now(UTC))
    begin, until, refreshed = time.process_time(), time.monotonic() + IDLE, 0.0
    while time.monotonic() < until:
        if time.monotonic() - refreshed > 5:  # as `fleet up` does
            engine.refresh()
            refreshed = time.monotonic()
        engine.look(datetime.now(UTC))
        time.sleep(QUIET)
    cpu = 100 * (time.process_time() - begin) / IDLE
    return {"cpu": cpu, "rss": measuring.peak_rss() / (1 << 20)}


def day(root: Path) -> dict[str, float]:
    """A day in which each agent is due each hour, played."""
    begin = time.process_time()
    play = Play(home(root, 3600.0, 0.0, 3600.0), datetime(2027, 3, 27, 11, tzinfo=UTC),
                Steady(60.0), seed=1)  # fmt: skip
    play.run(timedelta(days=1).total_seconds())
    cpu = time.process_time() - begin
    return {"cpu": cpu, "started": len(play.launcher.started), "faults": len(oracle.faults(play))}


if __name__ == "__main__":
    works = {
        "spread": lambda root: busy(root, SPAN),
        "together": lambda root: busy(root, 0.0),
        "idle": idle,
        "day": day,
    }
    print(json.dumps(works[sys.argv[1]](Path(sys.argv[2]))))
