"""One function's truth about every agent, run, claim, lag and alert, for every screen.

It reads and computes; what a terminal makes of it, and what the runner does about it, is elsewhere.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from fleet import alerts
from fleet.folds import damaged
from fleet.ports import Cache, Store
from fleet.records import Body
from fleet.status.agents import each, states
from fleet.status.anomalies import anomalies
from fleet.status.due import due_slots, next_due
from fleet.status.health import (
    DEGRADED,
    DOWN,
    LOW_DISK_FIX,
    OK,
    failed,
    health,
    in_all,
    low_disk,
    runner,
)
from fleet.status.held import held
from fleet.status.lenient import lenient
from fleet.status.money import of_all
from fleet.status.sources import Sources
from fleet.status.waits import FIRES
from fleet.whereabouts import LEADER, original

__all__ = [
    "DEGRADED",
    "DOWN",
    "FIRES",
    "LOW_DISK_FIX",
    "OK",
    "Sources",
    "due_slots",
    "failed",
    "health",
    "lenient",
    "low_disk",
    "next_due",
    "runner",
    "states",
    "status",
]

STREAMS = 1000  # logs that are looked at


def status(sources: Sources) -> Body:
    """What `status --json` prints: health, agents, running, alerts, runner and what is beside them.

    `health` is "ok", "degraded" (a broken config, a full disk, an agent whose last run failed, an
    account at its limit or without a login, lines or documents that cannot be read, or an open
    alert that needs a person) or "down" (no runner is alive). `alerts` are the open ones. An
    agent's `state` is "running", "halted", "paused", "disabled", "failing" or "waiting"; `failing`
    says so whatever its state is; its `not_started` is None, or says why its last slot did not
    start a run, or for what it waits: {slot, result, detail, waits, until}. `accounts` has those
    that are held, see `held`. `copy_of` is None, or in a copy of a home where its agents run:
    {host, path}. `anomalies` are what of an agent is far from its own history (see
    `status.anomalies`). `cost_today` is what ended runs cost, those of unknown cost what they were
    reserved, `reserved` what runs that go on may cost, `money` the same of all. `warning` is one
    line, `damaged` counts the lines that cannot be read, by log, `unreadable` has a line for each
    such document: what it says counts as nothing.
    """
    open_runs = {run.agent: run for run in sources.runs.open()}
    now = datetime.fromtimestamp(sources.store.now().wall, UTC)
    day = sources.ledger.day(now)
    leader = runner(sources.store, sources.config.state)
    agents = list(each(sources, open_runs, day, leader))
    told = alerts.open_ones(sources.store, sources.cache)
    lines = dict(_damaged(sources.store, sources.cache))
    accounts = held(sources)
    return {
        "health": in_all(sources, leader, agents, lines, told),
        "agents": agents,
        "accounts": accounts,
        "money": of_all(sources, day),
        "running": [run.as_json() for run in open_runs.values()],
        "alerts": [alert.as_json() for alert in told],
        "anomalies": list(anomalies(sources, agents, now, alive=bool(leader["alive"]))),
        "runner": leader,
        "copy_of": _copy_of(sources),
        "warning": sources.trouble,
        "unreadable": list(sources.unread.values()),
        "damaged": lines,
    }


def _copy_of(sources: Sources) -> Body | None:
    there = original(sources.store.get(LEADER)[0], sources.config.state)
    return {"host": there.host, "path": there.path} if there else None


def _damaged(store: Store, cache: Cache) -> Iterator[tuple[str, int]]:
    """Each log with lines that cannot be read, and how many."""
    for stream in store.streams("", "", STREAMS):
        if lines := damaged(store, cache, stream):
            yield stream, lines
