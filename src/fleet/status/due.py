"""When agents are due; it settles and starts nothing."""

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from fleet import schedules
from fleet.config.model import Agent


def due_slots(agent: Agent, zone: ZoneInfo, after: datetime) -> Iterator[tuple[datetime, datetime]]:
    """The agent's slots that come due after `after`, in order: (due, nominal), both in UTC.

    `due` is the nominal instant plus the agent's jitter.
    """
    late = schedules.jitter(agent.id, agent.jitter)
    for nominal in schedules.slots(agent.schedule, after.astimezone(UTC) - late, zone):
        yield nominal + late, nominal


def next_due(agent: Agent, zone: ZoneInfo, after: datetime) -> datetime | None:
    """The agent's next due instant after `after`; None without one."""
    return next((due for due, _ in due_slots(agent, zone, after)), None)
