"""What `status` says of each agent; a fact that is the whole fleet's is not here."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from fleet.config.model import Agent
from fleet.ledger import Day
from fleet.records import Body
from fleet.status import waits
from fleet.status.due import next_due
from fleet.status.health import failed
from fleet.status.money import of_agent
from fleet.status.sources import Sources

if TYPE_CHECKING:
    from fleet.runs import Run


def states(sources: Sources) -> dict[str, str]:
    """The `state` of every agent, as in `status`."""
    running = {run.agent: run for run in sources.runs.open()}
    return {
        name: _state(sources, agent, running.get(name), sources.runs.last_ended(name))
        for name, agent in sources.config.agents.items()
    }


def each(
    sources: Sources, open_runs: "Mapping[str, Run]", day: Day, leader: Body
) -> Iterator[Body]:
    """The object of every agent, in the order of the config; `open_runs` by agent."""
    now = datetime.fromtimestamp(sources.store.now().wall, UTC)
    said = waits.said_of(sources.store)
    held: dict[str, list[str]] = {}
    for claim in sources.claims.live():
        if not claim.key.startswith(("agent:", "cap:")):
            held.setdefault(claim.holder, []).append(claim.key)
    for agent in sources.config.agents.values():
        slots, run = waits.open_slots(sources.store, agent.id), open_runs.get(agent.id)
        around = waits.Around(now, leader, run.id if run else "", sources.config.timezone)
        yield _agent(sources, agent, run, day) | {
            "next_due": _next_due(sources, agent, slots, now),
            "claims": held.get(agent.id, []),
            "not_started": waits.not_started(agent.id, slots, said, around),
        }


def _agent(sources: Sources, agent: Agent, running: "Run | None", day: Day) -> Body:
    last = sources.runs.last_ended(agent.id)
    return {
        "id": agent.id,
        "state": _state(sources, agent, running, last),
        "failing": agent.enabled and last is not None and failed(last),
        "last_outcome": last.outcome if last else None,
        "last_ended": last.ended if last else None,
        "lag": sources.bus.lag(agent.id, sources.runs.last_ok_advance(agent.id)),
        **of_agent(sources, agent, day),
    }


def _next_due(sources: Sources, agent: Agent, slots: list[Body], now: datetime) -> str | None:
    """When the agent is due next: by its schedule, or by an open slot that has to wait."""
    zone = ZoneInfo(sources.config.timezone)
    if not agent.enabled:
        return None
    by_schedule = next_due(agent, zone, now)
    moments = [*([by_schedule] if by_schedule else []), *waits.moments_ahead(slots, now)]
    return min(moments).astimezone(zone).isoformat(timespec="seconds") if moments else None


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
