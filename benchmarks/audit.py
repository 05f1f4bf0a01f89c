"""What an incident's questions cost with a year behind a home: each a process from nothing.

The index is filled once, which is a row of its own, and is warm for what follows.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import years
from measuring import cpu_of
from table import Row

from fleet.audit.index import Index
from fleet.wiring import Fleet

ROUNDS = 5
MOST = 0.5  # seconds
FILLED = 60.0  # seconds


def rows(folder: Path) -> Iterator[Row]:
    """Filling the index, then each question."""
    fleet = years.home(folder, years.YEAR)
    yield _filling(fleet)
    run = fleet.runs.list(None, 1)[0]
    log = f"runs/{run.agent}"
    old = f"{log}#{fleet.store.head(log) // 2}"
    questions = {
        "find, two words, newest 20": ["find", "competitor 42"],
        "find, a rare text of long ago": ["find", f"number {years.EVENTS // 3}"],
        "find, by author and type": ["find", "pricing", "--agent", "competitor-watch"],
        "events --where, nothing": ["events", "--where", "competitor=nobody"],
        "seen, by every run of a year": ["seen", next(ref for ref in run.shown if "#" in ref)],
        "explain, the newest run": ["explain", run.id],
        "explain, a run of half a year ago": ["explain", old],
        "timeline --since 3h": ["timeline", "--since", "3h"],
        "timeline, the newest": ["timeline"],
        "timeline of one agent": ["timeline", run.agent],
        "show, a record of half a year ago": ["show", old],
    }
    for name, words in questions.items():
        seconds = min(_asked(fleet, words) for _ in range(ROUNDS))
        gate = f"<= {MOST}"
        yield Row(f"{name}, CPU", f"{seconds * 1000:.0f} ms", gate=gate, number=seconds)


def _filling(fleet: Fleet) -> Row:
    begin = time.process_time()
    with Index(fleet) as index:
        index.refresh()
    seconds = time.process_time() - begin
    size = (fleet.places.cache / "audit.sqlite").stat().st_size >> 20
    said = f"{seconds:.0f} s, {size} MiB"
    return Row("filling the index of a year, CPU", said, gate=f"<= {FILLED:.0f}", number=seconds)


def _asked(fleet: Fleet, words: list[str]) -> float:
    env = {"FLEET_HOME": str(fleet.root), "PATH": "/usr/bin:/bin"}
    return cpu_of([sys.executable, "-m", "fleet", *words], env)
