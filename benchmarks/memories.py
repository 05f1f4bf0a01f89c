"""What adding a lesson costs beyond its syncs, and that a year of them makes none dearer."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

import homes
from measuring import alternately
from table import Row

from fleet.memory import Memory
from fleet.records import Draft
from fleet.stores.files.cache import FilesCache
from fleet.wiring import Fleet, open_fleet

WEEK, YEAR = 100, 5_000  # changes in the log
TURNS = 60
NUMBERS = count()


def rows(folder: Path) -> Iterator[Row]:
    """Two agents of one home: one has kept a week of changes, the other a year of them."""
    fleet = homes.growth(folder / "memory")
    for agent, changes in (("outreach", WEEK), ("retention", YEAR)):
        _remember(fleet, agent, changes)
    week, year = (_adding(fleet, agent) for agent in ("outreach", "retention"))
    short, long = alternately([week, year], TURNS)
    what = f"lesson added after {YEAR:,} changes, CPU"
    peer = f"after {WEEK}: {short * 1000:.2f} ms"
    yield Row(what, f"{long * 1000:.2f} ms", peer, long / short, "<= 1.3")
    whole, syncs = alternately([year, partial(_bare, fleet)], TURNS, time.perf_counter)
    beyond = (whole - syncs) * 1000
    peer = f"its appends and syncs alone: {syncs * 1000:.1f} ms"
    yield Row("  beyond its syncs", f"{beyond:.1f} ms", peer, None, "<= 10", beyond)
    begin = time.process_time()
    _memory(fleet, "cache-of-nobody").state("retention")
    yield Row(f"memory of {YEAR:,} changes without caches", f"{time.process_time() - begin:.2f} s")


def _remember(fleet: Fleet, agent: str, changes: int) -> None:
    said = {"op": "lesson", "category": "success", "from_agent": agent, "run": None}
    words = ("low", "medium", "high")
    drafts = [
        Draft({**said, "importance": words[n % 3], "text": f"{n}: short lines get more answers"})
        for n in range(changes)
    ]
    fleet.store.append(f"memory-log/{agent}", drafts)


def _adding(fleet: Fleet, agent: str) -> Callable[[], object]:
    """Adds another lesson at each call."""
    author = open_fleet(fleet.root, env={}, as_agent=agent).author

    def add() -> object:
        text = f"lesson {next(NUMBERS)}: short subject lines get more answers than long ones"
        return _memory(fleet).learn(author, text)

    return add


def _memory(fleet: Fleet, cache: str = "cache") -> Memory:
    """The memories as a new process sees them: what is cached stands in files."""
    return Memory(fleet.store, FilesCache(fleet.root / "state" / cache), fleet.config)


def _bare(fleet: Fleet) -> None:
    """One record and one document of the same sizes, durable."""
    body, _ = fleet.store.get("memory/retention")
    assert body is not None
    fleet.store.append("memory-log/bare", [Draft({"op": "x", "text": "x" * 200})])
    fleet.store.put("memory/bare", body, expect=None)
