"""Our trigger for APScheduler: an agent's own slots, not APScheduler's cron.

APScheduler's cron numbers weekdays from Monday, ANDs the two day fields and skips whole days at
daylight-saving changes (measured), so it only rings; what is due is read from the watermarks.
"""

from datetime import datetime
from zoneinfo import ZoneInfo

from apscheduler.triggers.base import BaseTrigger

from fleet import schedules
from fleet.config.model import Agent


class SlotTrigger(BaseTrigger):  # type: ignore[misc]  # the library has no types
    """Fires at each due instant (nominal plus the agent's jitter) of one agent."""

    def __init__(self, agent: Agent, zone: ZoneInfo) -> None:
        self._agent = agent
        self._zone = zone

    def get_next_fire_time(
        self, previous_fire_time: datetime | None, now: datetime
    ) -> datetime | None:
        """The first due instant after the last one, or after `now` at the start; in UTC."""
        agent = self._agent
        late = schedules.jitter(agent.id, agent.jitter)
        after = (previous_fire_time or now) - late
        nominal = next(schedules.slots(agent.schedule, after, self._zone), None)
        return nominal + late if nominal else None
