"""Whether all of the state can be read and its parts fit each other; it mends nothing."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from fleet.errors import Finding
from fleet.identity import RESERVED_NAMES
from fleet.memory.mending import all_lost
from fleet.ops.retention import limits_of
from fleet.runs import UNPREPARED
from fleet.talk.members import is_of_two
from fleet.units import counted

if TYPE_CHECKING:
    from fleet.wiring import Fleet

PAGE = 500
RUNS = 1000  # newest runs whose folders are looked for


def verify(fleet: "Fleet") -> list[Finding]:
    """Every damaged record and document by file and line, then what no file of the home explains.

    What stands in quarantine is history: a note, no fault.

    Raises:
        BadHome: the operator's files have errors and no good config is known.
    """
    return [
        *fleet.store.verify(),
        *_lanes(fleet),
        *_memories(fleet),
        *_run_folders(fleet),
        *_orphans(fleet),
    ]


def _lanes(fleet: "Fleet") -> Iterator[Finding]:
    """Cursors that do not stand on the log below them: it was replaced or restored."""
    for agent in fleet.config.agents:
        yield from fleet.bus.lane_check(agent)


def _memories(fleet: "Fleet") -> Iterator[Finding]:
    """Documents of memories whose logs do not hold what they hold."""
    for gone in all_lost(fleet.store):
        yield gone.finding()


def _run_folders(fleet: "Fleet") -> Iterator[Finding]:
    """Runs on record whose files are gone: their records stand, what they printed does not."""
    runs = fleet.runs.list(None, RUNS)
    launched = [run for run in runs if not run.open and run.outcome not in UNPREPARED]
    gone = [run.id for run in launched if not fleet.places.run_folder(run.id).is_dir()]
    if gone:
        what = f"the files of {counted(len(gone), 'run')} of the newest {len(runs)} are gone"
        yield Finding("note", f"state/run/{gone[0]}", 0, f"{what} ({limits_of(fleet.config)})")


def _orphans(fleet: "Fleet") -> Iterator[Finding]:
    """State of agents and channels that the home no longer has: kept, and said."""
    config = fleet.config
    agents = {name for agent in config.agents for name in config.names_of(agent)}
    for prefix, known in (("channels/", config.channels), ("runs/", agents)):
        for stream in _pages(fleet.store.streams, prefix):
            name = stream.removeprefix(prefix)
            if name not in known and not is_of_two(name, config):
                yield Finding("note", f"state/{stream}", 0, f"history of {name}, which has no file")
    for key in _pages(fleet.store.keys, "cursors/"):
        agent = key.removeprefix("cursors/")
        if agent not in agents | RESERVED_NAMES:  # `operator`: how far `on_alert` has told
            yield Finding("note", f"state/{key}.json", 0, f"places of {agent}, which has no file")


def _pages(list_page: Callable[[str, str, int], list[str]], prefix: str) -> Iterator[str]:
    after = ""
    while page := list_page(prefix, after, PAGE):
        yield from page
        after = page[-1]
