"""When agents are due, and what would hold a slot back; it settles and starts nothing."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from heapq import merge
from zoneinfo import ZoneInfo

from fleet import schedules
from fleet.config.model import Agent, HomeConfig
from fleet.controls import Controls
from fleet.records import Body


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
