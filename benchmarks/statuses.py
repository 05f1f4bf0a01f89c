"""What `fleet status` costs with a year behind a home: a process from nothing, caches warm."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import homes
import years
from measuring import cpu_of
from table import Row

from fleet.records import Body
from fleet.wiring import Fleet

ROUNDS = 7
MOST = 0.3  # seconds
FIRES, ALERTS, SORTS = years.RUNS, 5000, 100


def rows(folder: Path) -> Iterator[Row]:
    """Wall clock and CPU, beside a command that reads nothing."""
    fleet = years.home(folder, years.YEAR)
    if not fleet.store.head("alerts"):
        _furnish(fleet)
    env = {"FLEET_HOME": str(fleet.root), "PATH": "/usr/bin:/bin"}
    for words in (["status"], ["status", "--json"]):
        wall, cpu = _best(words, env)
        _, bare = _best(["version"], env)
        what = f"{' '.join(words)}, a year, {len(fleet.config.agents)} agents"
        gate, peer = f"<= {MOST}", f"fleet version: {bare * 1000:.0f} ms"
        yield Row(f"{what}, wall", f"{wall * 1000:.0f} ms", gate=gate, number=wall)
        yield Row(f"{what}, CPU", f"{cpu * 1000:.0f} ms", peer, cpu / bare, gate, cpu)


def _best(words: list[str], env: dict[str, str]) -> tuple[float, float]:
    """The least wall clock and the least CPU of some calls after one unmeasured."""
    taken: list[tuple[float, float]] = []
    for _ in range(ROUNDS + 1):
        begin = time.perf_counter()
        cpu = cpu_of([sys.executable, "-m", "fleet", *words], env)
        taken.append((time.perf_counter() - begin, cpu))
    walls, cpus = zip(*taken[1:], strict=True)
    return min(walls), min(cpus)


def _furnish(fleet: Fleet) -> None:
    """A record for every slot of the year, and alerts of which a hundred sorts are open."""
    agents = list(fleet.config.agents)
    fires = (_fire(agents[number % len(agents)], number) for number in range(FIRES))
    homes.write_over(fleet, "fires", fires, FIRES, years.YEAR)
    homes.write_over(fleet, "alerts", map(_alert, range(ALERTS)), ALERTS, years.YEAR)


def _fire(agent: str, number: int) -> Body:
    result = "started" if number % 3 else "skipped_overlap"
    said: Body = {"op": "fire", "agent": agent, "slot": f"hand:{number}", "attempt": 1}
    return said | {"due": "", "result": result, "run": str(number), "detail": ""}


def _alert(number: int) -> Body:
    what, done = "agents answered each other 6 times with nothing new", "further answers wait"
    said: Body = {"op": "alert", "kind": "loop", "subject": f"strategy#{number % SORTS}"}
    return said | {"what": what, "done": done, "fix": "fleet read strategy shows it"}
