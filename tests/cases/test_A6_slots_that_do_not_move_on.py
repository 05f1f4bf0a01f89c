"""Triggers at the changes to and from summer time."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from fleet.config.model import Agent, Schedule
from fleet.runner.trigger import SlotTrigger

# Two common ones; half an hour; a gap at midnight; one that ends the day; one across a midnight.
CHANGES = {
    "Europe/Berlin": ("2027-03-28T01:00Z", "2027-10-31T01:00Z"),
    "America/New_York": ("2027-03-14T07:00Z", "2027-11-07T06:00Z"),
    "Australia/Lord_Howe": ("2027-10-02T15:30Z", "2027-04-03T15:00Z"),
    "Africa/Cairo": ("2027-04-29T22:00Z", "2027-10-28T21:00Z"),
    "America/Nuuk": ("2027-03-28T01:00Z", "2027-10-31T01:00Z"),
    "America/St_Johns": ("2010-03-14T03:31Z", "2010-11-07T02:31Z"),
}
EXPRESSIONS = (
    "* * * * *",
    "*/15 * * * *",
    "0 * * * *",
    "30 */2 * * *",
    "0 0 * * *",
    "15,45 1-3 * * *",
    "59 23 * * *",
    "0 2 1,15 * 0",
)


@pytest.mark.parametrize("zone", CHANGES)
def test_the_next_fire_is_later_than_the_last(zone: str) -> None:
    """A6: 8 expressions over both changes: 200 successive fires increase strictly in UTC.

    Asked as the scheduler asks, with the last fire and the moment at which it came.
    """
    for cron in EXPRESSIONS:
        agent = Agent("a", "", "", "p.j2", Path("/x"), (Schedule(cron=cron),))
        trigger = SlotTrigger(agent, ZoneInfo(zone))
        for change in CHANGES[zone]:
            last: datetime | None = None
            now = datetime.fromisoformat(change) - timedelta(hours=30)
            for _ in range(200):
                fire = trigger.get_next_fire_time(last, now)
                assert fire is not None
                assert fire.astimezone(UTC) > now.astimezone(UTC), (cron, change, last)
                last = now = fire
