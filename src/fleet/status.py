"""One function's truth about every agent, run, claim, lag and alert, for every screen.

It reads and computes; what a terminal makes of it, and what the runner does about it, is elsewhere.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from heapq import merge
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from fleet import alerts, processes, schedules
from fleet.config.model import Agent, HomeConfig
from fleet.controls import Controls
from fleet.folds import damaged
from fleet.ports import Cache, Store, read_kept
from fleet.records import Body
from fleet.whereabouts import LEADER, is_here, original

if TYPE_CHECKING:
    from fleet.bus import Bus
    from fleet.claims import Claims
    from fleet.runs import Run, Runs

OK, DEGRADED, DOWN = "ok", "degraded", "down"
FIRES = "fires"  # the log in which the runner says what became of each slot
FIRES_SEEN = 500  # newest records of it among which an agent's last one is looked for
LOW_DISK_FIX = "free disk space (fleet trim says what could go), or lower limits.min_free"
STREAMS = 1000  # logs that are looked at
ALERTS = 20  # newest alerts that are shown
RUNS_A_DAY = 300  # runs of one agent that are summed for its cost of the day


@dataclass(frozen=True, slots=True)
class Sources:
    """What `status` reads; `warning` is what is wrong with the operator's files, or ""."""

    config: HomeConfig
    store: Store
    cache: Cache
    bus: "Bus"
    runs: "Runs"
    claims: "Claims"
    controls: Controls
    warning: str


def status(sources: Sources) -> Body:
    """What `status --json` prints: health, agents, running, alerts, runner and what is beside them.

    `health` is "ok", "degraded" (a broken config, a full disk, an agent whose last run failed, or
    lines that cannot be read) or "down" (no runner is alive). An agent's `state` is "running",
    "halted", "paused", "disabled", "failing" or "waiting"; `failing` says so whatever its state
    is; its `not_started` is None, or says why its last slot did not start a run: {slot, result,
    detail}. `copy_of` is None, or in a copy of a home where its agents run: {host, path}.
    `warning` is one line, `damaged` counts the lines that cannot be read, by log.
    """
    now = datetime.fromtimestamp(sources.store.now().wall, UTC)
    open_runs = {run.agent: run for run in sources.runs.open()}
    last_fires = _last_fires(sources.store)
    agents = [
        _agent(sources, agent, open_runs.get(agent.id), now)
        | {"not_started": _not_started(last_fires.get(agent.id))}
        for agent in sources.config.agents.values()
    ]
    leader = runner(sources.store, sources.config.state)
    lines = dict(_damaged(sources.store, sources.cache))
    return {
        "health": _health(sources, leader, agents, lines),
        "agents": agents,
        "running": [run.as_json() for run in open_runs.values()],
        "alerts": [
            {"ref": record.ref, "at": record.at, **record.body}
            for record in alerts.recent(sources.store, ALERTS)
        ],
        "runner": leader,
        "copy_of": _copy_of(sources),
        "warning": sources.warning,
        "damaged": lines,
    }


def _copy_of(sources: Sources) -> Body | None:
    there = original(sources.store.get(LEADER)[0], sources.config.state)
    return {"host": there.host, "path": there.path} if there else None


def runner(store: Store, state: Path) -> Body:
    """Who leads: {alive, pid, since}; alive only if pid, start time and boot match.

    In a copy of a home nobody does: the process that it names leads the other one.
    """
    body = store.get(LEADER)[0]
    note = (body or {}).get("runner")
    said = note if isinstance(note, dict) and is_here(body, state) else {}
    alive = bool(said) and processes.is_alive(said["pid"], said["start"], said["boot"])
    return {"alive": alive, "pid": said.get("pid"), "since": said.get("since")}


def health(sources: Sources) -> str:
    """The word of `status` alone: what awareness says about the system."""
    failing = any(
        failed(last)
        for agent in sources.config.agents
        if (last := sources.runs.last_ended(agent)) is not None
    )
    return _word(sources, failing=failing)


def _word(sources: Sources, *, failing: bool) -> str:
    return DEGRADED if failing or sources.warning or low_disk(sources.config) else OK


def failed(run: "Run") -> bool:
    """Whether an ended run was no success; one that was stopped is neither."""
    return run.outcome != "killed" and run.row is not None and not run.row.advances


def low_disk(config: HomeConfig) -> str:
    """One line when less than `limits.min_free` is free, so that nothing may start; else ""."""
    room = os.statvfs(config.state if config.state.exists() else config.root)
    free, least = room.f_bavail * room.f_frsize, config.limits.min_free
    return "" if free >= least else f"{free >> 20} MiB are free, limits.min_free is {least >> 20}"


def next_due(agent: Agent, zone: ZoneInfo, after: datetime) -> datetime | None:
    """The agent's next due instant (nominal plus its jitter) after `after`; None without one."""
    late = schedules.jitter(agent.id, agent.jitter)
    nominal = next(schedules.slots(agent.schedule, after - late, zone), None)
    return nominal + late if nominal else None


def upcoming(
    config: HomeConfig, controls: Controls, start: datetime, days: float
) -> Iterator[Body]:
    """The slots due within `days` after `start`, in order: {agent, slot, due, reason}.

    `slot` is nominal, `due` with jitter, both RFC 3339 in the home's zone; `reason` is "schedule",
    or what would hold the slot back as things stand.
    """
    zone = ZoneInfo(config.timezone)
    end = start + timedelta(days=days)
    enabled = [agent for agent in config.agents.values() if agent.enabled]
    reasons = {agent: _held_back(config, controls, agent) for agent in config.agents}
    due = merge(*(_slots_until(agent, zone, start, end) for agent in enabled))
    for instant, agent_id, slot in due:
        yield {
            "agent": agent_id,
            "slot": slot.astimezone(zone).isoformat(timespec="seconds"),
            "due": instant.astimezone(zone).isoformat(timespec="seconds"),
            "reason": reasons[agent_id],
        }


def _slots_until(
    agent: Agent, zone: ZoneInfo, start: datetime, end: datetime
) -> Iterator[tuple[datetime, str, datetime]]:
    late = schedules.jitter(agent.id, agent.jitter)
    for slot in schedules.slots(agent.schedule, start - late, zone):
        if slot + late > end:
            return
        yield slot + late, agent.id, slot


def _held_back(config: HomeConfig, controls: Controls, agent: str) -> str:
    control = controls.of(agent)
    if control.halted:
        return f"halted {control.halted}"
    if control.paused or config.paused:
        return f"paused {control.paused or 'by fleet.yaml'}"
    return "schedule"


def _health(sources: Sources, leader: Body, agents: list[Body], lines: dict[str, int]) -> str:
    if not leader["alive"]:
        return DOWN
    failing = any(agent["failing"] for agent in agents)
    return DEGRADED if lines else _word(sources, failing=failing)


def states(sources: Sources) -> dict[str, str]:
    """The `state` of every agent, as in `status`."""
    running = {run.agent: run for run in sources.runs.open()}
    return {
        name: _state(sources, agent, running.get(name), sources.runs.last_ended(name))
        for name, agent in sources.config.agents.items()
    }


def _agent(sources: Sources, agent: Agent, running: "Run | None", now: datetime) -> Body:
    last = sources.runs.last_ended(agent.id)
    due = next_due(agent, ZoneInfo(sources.config.timezone), now) if agent.enabled else None
    held = [claim for claim in sources.claims.live() if claim.holder == agent.id]
    return {
        "id": agent.id,
        "state": _state(sources, agent, running, last),
        "failing": last is not None and failed(last),
        "last_outcome": last.outcome if last else None,
        "last_ended": last.ended if last else None,
        "next_due": due.isoformat(timespec="seconds") if due else None,
        "lag": sources.bus.lag(agent.id, sources.runs.last_ok_advance(agent.id)),
        "cost_today": _cost(sources, agent.id, now),
        "claims": [claim.key for claim in held if not claim.key.startswith(("agent:", "cap:"))],
    }


def _damaged(store: Store, cache: Cache) -> Iterator[tuple[str, int]]:
    """Each log with lines that cannot be read, and how many."""
    for stream in store.streams("", "", STREAMS):
        if lines := damaged(store, cache, stream):
            yield stream, lines


def _last_fires(store: Store) -> dict[str, Body]:
    """What the newest of `FIRES_SEEN` records says about each agent's last slot."""
    after = max(0, store.head(FIRES) - FIRES_SEEN)
    records = read_kept(store, FIRES, after, FIRES_SEEN).records
    return {str(record.body.get("agent")): record.body for record in records}


def _not_started(fire: Body | None) -> Body | None:
    if fire is None or fire.get("run"):
        return None
    return {name: fire.get(name) for name in ("slot", "result", "detail")}


def _state(sources: Sources, agent: Agent, running: "Run | None", last: "Run | None") -> str:
    control = sources.controls.of(agent.id)
    if running is not None:
        return "running"
    if not agent.enabled:
        return "disabled"
    if control.halted:
        return "halted"
    if control.paused or sources.config.paused:
        return "paused"
    return "failing" if last is not None and failed(last) else "waiting"


def _cost(sources: Sources, agent: str, now: datetime) -> float:
    """Dollars of the runs that started on this local day; unknown costs count as nothing."""
    zone = ZoneInfo(sources.config.timezone)
    midnight = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    today = [
        run
        for run in sources.runs.list(agent, RUNS_A_DAY)
        if run.started and datetime.fromisoformat(run.started) >= midnight
    ]
    return round(sum(run.cost_usd or 0.0 for run in today), 6)
