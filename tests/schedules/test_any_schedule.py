"""What holds for any schedule in any zone at any time, drawn; known changes are elsewhere."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo, available_timezones

from hypothesis import given, settings
from hypothesis import strategies as st

from fleet import schedules
from fleet.config.model import Schedule

# Zones whose clocks change by decree, or not, or by half an hour; all of them are tried.
ZONES = st.sampled_from(sorted(zone for zone in available_timezones() if "/" in zone))
MOMENTS = st.datetimes(datetime(1995, 1, 1), datetime(2037, 12, 1), timezones=st.just(UTC))  # noqa: DTZ001
MINUTE, HOUR = st.integers(0, 59), st.integers(0, 23)


@st.composite
def crons(draw: st.DrawFn) -> str:
    """An expression of any form that is due at least each month."""
    minute = draw(st.one_of(MINUTE.map(str), st.sampled_from(["*", "*/7", "0,30", "5-9"])))
    hour = draw(st.one_of(HOUR.map(str), st.sampled_from(["*", "*/2", "1-3", "0,23"])))
    day = draw(st.sampled_from(["*", "1", "1,15", "*/9", "28"]))
    weekday = draw(st.sampled_from(["*", "0", "7", "mon-fri", "2,4"]))
    return f"{minute} {hour} {day} * {weekday}"


@settings(max_examples=80, deadline=None)
@given(crons(), ZONES, MOMENTS)
def test_slots_move_on(cron: str, zone: str, begin: datetime) -> None:
    """Sixty successive slots increase strictly in UTC, and each is what its own search gives."""
    schedule = (Schedule(cron=cron),)
    coming = schedules.slots(schedule, begin, ZoneInfo(zone))
    found = [at.astimezone(UTC) for at in islice(coming, 60)]

    assert len(found) == 60
    assert all(before < after for before, after in pairwise([begin, *found]))
    middle = found[29]
    again = schedules.next_after(schedule[0], middle, ZoneInfo(zone))
    assert again is not None
    assert again.astimezone(UTC) == found[30]


@settings(max_examples=100, deadline=None)
@given(HOUR, MINUTE, ZONES, MOMENTS)
def test_daily_is_once_a_day(hour: int, minute: int, zone: str, begin: datetime) -> None:
    """P14: thirty days in any zone: one slot for each local calendar day that there was."""
    there = ZoneInfo(zone)
    schedule = (Schedule(cron=f"{minute} {hour} * * *"),)

    coming = schedules.slots(schedule, begin, there)
    found = [at.astimezone(there) for at in islice(coming, 30)]

    days = Counter(_day_of(at, hour, minute) for at in found)
    assert set(days.values()) == {1}
    between = [min(days) + timedelta(days=n) for n in range((max(days) - min(days)).days)]
    assert [day for day in between if day not in days] == [
        day for day in between if not _exists(day, there)
    ]


def _day_of(at: datetime, hour: int, minute: int) -> date:
    """The day whose `hour:minute` it is: its own, or that of a time which was jumped over."""
    if (at.hour, at.minute) == (hour, minute):
        return at.date()
    for day in (at.date(), at.date() - timedelta(days=1)):
        wall = datetime(day.year, day.month, day.day, hour, minute, tzinfo=at.tzinfo)
        there = wall.astimezone(UTC).astimezone(at.tzinfo)
        if there.replace(tzinfo=None) != wall.replace(tzinfo=None):
            return day
    raise AssertionError(f"{at} is not at {hour}:{minute}, and no clock jumped over that")


def _exists(day: date, zone: ZoneInfo) -> bool:
    """Whether the zone ever had that day: some crossed the date line."""
    hours = [datetime(day.year, day.month, day.day, hour, tzinfo=zone) for hour in range(24)]
    return any(one.astimezone(UTC).astimezone(zone).date() == day for one in hours)
