"""A home with a year behind it beside one with a week: equal in what waits for each agent.

Written in batches, a run's records as fleet itself writes them.
"""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import homes
import reading

from fleet.context import build, made_body
from fleet.cursors import Cursors, channel_lane
from fleet.identity import SYSTEM, Author
from fleet.logs import place_at
from fleet.records import Body, new_id, rfc3339
from fleet.runs import Runs, Verdict
from fleet.stores.ram import RamCache, RamStore
from fleet.wiring import Fleet, open_fleet

YEAR, WEEK = 365.0, 7.0  # days
EVENTS, MESSAGES, RUNS = reading.LONG, 100_000, 20_000  # in a year
UNREAD = 40  # messages of each channel
_RECORDS = 3  # of a run
_HASH = "0" * 64


def home(folder: Path, days: float) -> Fleet:
    """The growth home with the last `days` of a year's history, made once in `folder`."""
    root, part = folder / f"days-{days:.0f}", days / YEAR
    if root.exists():
        return open_fleet(root, env={})
    shutil.copytree(reading.history(folder, int(EVENTS * part)), root)
    fleet = open_fleet(root, env={})
    for channel in fleet.config.channels:
        count = int(MESSAGES * part) // len(fleet.config.channels)
        bodies = homes.operations(count)
        homes.write_over(fleet, channel_lane(channel), bodies, count, days)
    for agent in fleet.config.agents:
        _read_up(fleet, agent)
    for agent in fleet.config.agents:
        count = int(RUNS * part) // len(fleet.config.agents)
        bodies = _runs(fleet, agent, count)
        homes.write_over(fleet, f"runs/{agent}", bodies, count * _RECORDS, days)
    return fleet


def _read_up(fleet: Fleet, agent: str) -> None:
    """The agent has read everything but the newest messages."""
    lanes = map(channel_lane, fleet.config.channels)
    store = fleet.store
    unread = {lane: place_at(store, lane, store.head(lane) - UNREAD) for lane in lanes}
    Cursors(store).advance(agent, unread)


def _runs(fleet: Fleet, agent: str, count: int) -> Iterator[Body]:
    """The records of `count` runs, each told what this agent would be told now."""
    told = build(fleet.sources(), fleet.config.agents[agent], run=new_id(time.time())).manifest
    facts = told["facts"]
    assert isinstance(facts, dict)
    made = made_body(told | {"config_blob": _HASH}, {"context.md": _HASH, "prompt.md": _HASH})
    store = RamStore()
    runs = Runs(store, RamCache(), fleet.places)
    runs.start(SYSTEM, agent, "model", slot=rfc3339(time.time()), context=facts, made=made)
    author = Author(agent, "model", "", agent=True)
    runs.report(author, "mailed 4 leads, two answered, one bounced and was taken off the list")
    ended = Verdict("ok", cost_usd=0.04, tokens_in=9000, tokens_out=800, turns=6)
    still: Body = facts | {"advance": {}}  # what waits now waits after them too
    runs.finish(agent, "model", ended, ended=rfc3339(time.time()), context=still)
    model = [record.body for record in store.read(f"runs/{agent}", 0, _RECORDS).records]
    for _ in range(count):
        run = new_id(time.time())
        yield from (body | {"run": run} for body in model)
