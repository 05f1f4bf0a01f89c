"""What building a context costs, warm: beside reading and parsing its sources, and by log length.

The sources of one context are the files that its building opens, caches left out; of the event log
only as many of the newest lines as are shown.
"""

import json
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import homes
import reading
import years
from measuring import alternately
from table import Row

from fleet.config.model import Agent
from fleet.context import Context, Take, build
from fleet.cursors import Cursors, channel_lane
from fleet.identity import SYSTEM
from fleet.logs import place_at
from fleet.records import new_id, rfc3339
from fleet.runs.outcome import Verdict
from fleet.wiring import Fleet, open_fleet

MESSAGES, UNREAD = 100, 40
RUNS = 5
TURNS = 15
TAIL = 64 << 10  # bytes that hold the newest events


def rows(folder: Path) -> Iterator[Row]:
    """All fifteen agents of the growth home: beside their sources, and by length of history."""
    year, week = (years.home(folder, days) for days in (years.YEAR, years.WEEK))
    fleets = [furnished(reading.history(folder, count)) for count in (reading.LONG, reading.SHORT)]
    long, short = fleets
    sources = long.sources()
    agents = list(long.config.agents.values())
    watch = _Watch()
    files = {agent.id: _sources(watch, long, agent) for agent in agents}
    ours, peer = _each(
        [(partial(_built, sources, agent), partial(_parse, files[agent.id])) for agent in agents]
    )
    yield Row(
        f"context, warm, {len(agents)} agents, 5 x {MESSAGES}, CPU",
        f"{ours * 1000:.1f} ms",
        f"reading and parsing: {peer * 1000:.1f} ms",
        ours / peer,
        "<= 2",
    )
    yield _beside("  the same with", long, f"{reading.LONG:,} events", short, f"{reading.SHORT:,}")
    yield _beside("context, warm, with", year, "a year of history", week, "a week", "<= 1.3")
    yield _beside(
        "  in a new process", year, "a year of history", week, "a week", "<= 1.3", new=True
    )


def _beside(  # noqa: PLR0917 - two homes and their names
    what: str,
    long: Fleet,
    more: str,
    short: Fleet,
    less: str,
    gate: str = "<= 1.2",
    *,
    new: bool = False,
) -> Row:
    """A context of every agent in two homes; `new` each time as if a process had just begun."""
    agents = list(long.config.agents.values())

    def built(fleet: Fleet, agent: Agent) -> Context:
        return _built((open_fleet(fleet.root, env={}) if new else fleet).sources(), agent)

    ours, peer = _each(
        [(partial(built, long, agent), partial(built, short, agent)) for agent in agents]
    )
    return Row(
        f"{what} {more}",
        f"{ours * 1000:.1f} ms",
        f"{less}: {peer * 1000:.1f} ms",
        ours / peer,
        gate,
    )


def furnished(root: Path) -> Fleet:
    """The home with five full channels and a few runs of every agent behind it."""
    fleet = open_fleet(root, env={})
    for channel in fleet.config.channels:
        homes.write_channel(fleet, channel, homes.operations(MESSAGES))
        place = place_at(fleet.store, f"channels/{channel}", MESSAGES - UNREAD)
        for agent in fleet.config.agents:
            Cursors(fleet.store).advance(agent, {channel_lane(channel): place})
    for agent in fleet.config.agents:
        for number in range(RUNS):
            wall = fleet.store.now().wall
            run = new_id(wall)
            fleet.runs.start(SYSTEM, agent, run, slot=rfc3339(wall))
            ended = Verdict("ok", cost_usd=0.04, tokens_in=9000, tokens_out=800, turns=6)
            fleet.runs.finish(agent, run, ended, ended=rfc3339(wall + number))
    return fleet


def _each(pairs: Sequence[tuple[Callable[[], object], ...]]) -> tuple[float, float]:
    """The mean over all agents of the median seconds of both calls."""
    taken = [alternately(pair, TURNS) for pair in pairs]
    return statistics.mean(one[0] for one in taken), statistics.mean(one[1] for one in taken)


def _built(take: Take, agent: Agent) -> Context:
    return build(take, agent, run="019b2e00-0000-7000-8000-000000000001")


# The sources --------------------------------------------------------------------------------------


class _Watch:
    """Notes every file that this process opens while `on`; a hook can never be taken away."""

    def __init__(self) -> None:
        self.on = False
        self.opened: dict[str, None] = {}
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.on and event == "open" and isinstance(arguments[0], str | Path):
            self.opened[str(arguments[0])] = None


def _sources(watch: _Watch, fleet: Fleet, agent: Agent) -> list[Path]:
    """The files of the home that building this agent's context opens, caches left out."""
    _built(fleet.sources(), agent)
    watch.opened.clear()
    watch.on = True
    _built(fleet.sources(), agent)
    watch.on = False
    root = fleet.root
    found = [Path(path) for path in watch.opened if path.startswith(str(root))]
    return [path for path in found if path.is_file() and root / "state/cache" not in path.parents]


def _parse(files: list[Path]) -> None:
    for path in files:
        if path.suffix == ".jsonl":
            for line in _newest(path) if path.parent.name == "events" else path.open("rb"):
                json.loads(line)
        elif path.suffix == ".json":
            json.loads(path.read_bytes())
        else:
            path.read_text("utf-8")


def _newest(path: Path) -> list[bytes]:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL))
        return file.read().splitlines()[-homes.LAST :]
