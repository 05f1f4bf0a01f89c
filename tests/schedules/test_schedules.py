"""Schedules follow crontab(5), and no change of the clock costs or doubles a day."""

import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest

from fleet import schedules

BERLIN = ZoneInfo("Europe/Berlin")
# Two common ones; half an hour; a gap at midnight; one that ends the day; one across a midnight.
CHANGES = {
    "Europe/Berlin": ("2027-03-28T01:00Z", "2027-10-31T01:00Z"),
    "America/New_York": ("2027-03-14T07:00Z", "2027-11-07T06:00Z"),
    "Australia/Lord_Howe": ("2027-10-02T15:30Z", "2027-04-03T15:00Z"),
    "Africa/Cairo": ("2027-04-29T22:00Z", "2027-10-28T21:00Z"),
    "America/Nuuk": ("2027-03-28T01:00Z", "2027-10-31T01:00Z"),
    "America/St_Johns": ("2010-03-14T03:31Z", "2010-11-07T02:31Z"),
}


@dataclass(frozen=True)
class Plan:
    cron: str | None = None
    every: float | None = None
    offset: float = 0.0


def at(text: str) -> datetime:
    """The instant that `text` names."""
    return datetime.fromisoformat(text)


def slots(plan: Plan, after: datetime, count: int, zone: ZoneInfo = BERLIN) -> list[datetime]:
    """The next `count` slots."""
    found = []
    for _ in range(count):
        slot = schedules.next_after(plan, after, zone)
        assert slot is not None
        found.append(slot)
        after = slot
    return found


def local(found: list[datetime]) -> list[str]:
    """Weekday, day and wall clock of each slot."""
    return [slot.strftime("%a %d %H:%M") for slot in found]


@pytest.mark.parametrize("cron", ["0 2 * * 0", "0 2 * * 7", "0 2 * * sun", "0 2 * * SUN"])
def test_sunday_is_0_and_7_and_its_name(cron) -> None:
    """Every way to write Sunday is a Sunday."""
    found = slots(Plan(cron), at("2027-01-01T00:00+01:00"), 3)

    assert local(found) == ["Sun 03 02:00", "Sun 10 02:00", "Sun 17 02:00"]


@pytest.mark.parametrize(
    ("cron", "days"),
    [
        ("0 9 * * 1-5", {"Mon", "Tue", "Wed", "Thu", "Fri"}),
        ("0 9 * * mon-fri", {"Mon", "Tue", "Wed", "Thu", "Fri"}),
        ("0 9 * * */2", {"Sun", "Tue", "Thu", "Sat"}),
        ("0 9 * * 5-7", {"Fri", "Sat", "Sun"}),
        ("0 9 * * 6,0", {"Sat", "Sun"}),
    ],
)
def test_weekdays_count_from_sunday(cron, days) -> None:
    """Numbers, names, ranges and steps of weekdays mean the days that cron means."""
    found = slots(Plan(cron), at("2027-01-01T00:00+01:00"), 30)

    assert {slot.strftime("%a") for slot in found} == days


def test_day_of_month_or_day_of_week() -> None:
    """With both day fields given a slot is due on the days of either."""
    found = slots(Plan("0 12 13 * fri"), at("2027-09-01T00:00+02:00"), 6)

    assert local(found) == [
        "Fri 03 12:00",
        "Fri 10 12:00",
        "Mon 13 12:00",
        "Fri 17 12:00",
        "Fri 24 12:00",
        "Fri 01 12:00",
    ]


@pytest.mark.parametrize(
    ("word", "cron"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@Daily", "0 0 * * *"),
    ],
)
def test_words_stand_for_their_fields(word, cron) -> None:
    """Each word of cron is the expression that it stands for."""
    assert schedules.parse(word) == cron


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has 0 fields, not 5"),
        ("   ", "has 0 fields, not 5"),
        ("0 0 * *", "has 4 fields, not 5"),
        ("0 0 0 * * *", "has 6 fields, not 5"),
        ("*/90 * * * *", "minute '*/90' steps by 90"),
        ("0 */24 * * *", "hour '*/24' steps by 24"),
        ("*/0 * * * *", "steps by 0"),
        ("60 * * * *", "minute '60' is not in 0-59"),
        ("0 24 * * *", "hour '24' is not in 0-23"),
        ("0 0 0 * *", "day of month '0' is not in 1-31"),
        ("0 0 * 13 *", "month '13' is not in 1-12"),
        ("0 0 * * 8", "weekday '8' is not in 0-7"),
        ("0 0 * * sunday", "weekday 'SUNDAY' is not in 0-7"),
        ("0 22-2 * * *", "hour '22-2' runs backwards: write 22-23,0-2"),
        ("0 9 * * fri-sun", "write 5-7,0"),
        ("5/15 * * * *", "write 5-59/15"),
        ("1,,2 * * * *", "minute '' is not crontab(5)"),
        ("-5 * * * *", "is not crontab(5)"),
        ("0 0 ? * *", "is not crontab(5)"),
        ("0 0 L * *", "day of month 'L' is not in 1-31"),
        ("0 0 * * 1#2", "is not crontab(5)"),
        ("@reboot", "is not among @yearly"),
        ("@every 5m", "is not among @yearly"),
        ("every day", "has 2 fields"),
        ("0 0 31 2 *", "never fires"),
        ("0 0 30,31 feb *", "never fires"),
        ("0 0 31 4,6,9,11 *", "never fires"),
        ("9" * 6000 + " * * * *", "is too long"),
        ("0\n0 * * * * 1", "has 7 fields"),
        ("٣ * * * *", "is not crontab(5)"),
    ],
)
def test_what_is_not_crontab_is_one_line(text, reason) -> None:
    """Each text that cron would refuse, or that can never be due, gives one line that says why."""
    with pytest.raises(ValueError, match=re.escape(reason)) as refused:
        schedules.parse(text)

    assert "\n" not in str(refused.value)


def test_a_rare_day_is_not_never() -> None:
    """29 February comes, if only each fourth year."""
    found = slots(Plan("0 0 29 2 *"), at("2027-01-01T00:00+01:00"), 3)

    assert [slot.year for slot in found] == [2028, 2032, 2036]


@pytest.mark.parametrize("zone", CHANGES)
def test_every_minute_is_every_minute(zone) -> None:
    """`* * * * *` leaves no minute out and doubles none, whatever the clocks do."""
    for change in CHANGES[zone]:
        start = at(change) - timedelta(hours=2)
        found = slots(Plan("* * * * *"), start, 240, ZoneInfo(zone))

        steps = {
            after.astimezone(UTC) - before.astimezone(UTC) for before, after in pairwise(found)
        }
        assert steps == {timedelta(minutes=1)}


@pytest.mark.parametrize("zone", CHANGES)
@pytest.mark.parametrize("minute_of_day", range(0, 1440, 30))
def test_a_daily_schedule_fires_once_per_local_day(zone, minute_of_day) -> None:
    """Whatever its time, a daily slot comes once for each day around both changes.

    A time that the clock jumps over is due at the next minute that exists: on that day, or at the
    next midnight where the gap ends the day.
    """
    hour, minute = divmod(minute_of_day, 60)
    for change in CHANGES[zone]:
        start = (at(change) - timedelta(days=3)).astimezone(ZoneInfo(zone)).replace(hour=0)
        found = slots(Plan(f"{minute} {hour} * * *"), start, 6, ZoneInfo(zone))

        nominal = [slot - timedelta(minutes=1) if is_midnight(slot) else slot for slot in found]
        days = Counter(slot.date() for slot in (nominal if minute_of_day else found))
        assert set(days.values()) == {1}
        assert max(days) - min(days) == timedelta(days=5)
        clock = f"{hour:02}:{minute:02}"
        assert sum(slot.strftime("%H:%M") != clock for slot in found) <= 1


def is_midnight(slot: datetime) -> bool:
    """Whether a day begins with `slot`."""
    return (slot.hour, slot.minute) == (0, 0)


def test_midnight_and_morning_keep_their_local_time_in_spring() -> None:
    """Berlin, spring 2027: midnight on each of four days, eight o'clock stays eight o'clock."""
    start = at("2027-03-27T12:00+01:00")

    assert local(slots(Plan("0 0 * * *"), start, 4)) == [
        "Sun 28 00:00",
        "Mon 29 00:00",
        "Tue 30 00:00",
        "Wed 31 00:00",
    ]
    assert local(slots(Plan("0 8 * * *"), start, 2)) == ["Sun 28 08:00", "Mon 29 08:00"]


def test_a_time_in_the_gap_comes_at_its_end_and_once() -> None:
    """02:00, 02:30 and 03:00 do not become three slots on the day that has no 02:30."""
    found = slots(Plan("0,30 2,3 * * *"), at("2027-03-28T00:00+01:00"), 3)

    assert local(found) == ["Sun 28 03:00", "Sun 28 03:30", "Mon 29 02:00"]


def test_a_time_that_comes_twice_is_due_at_the_first() -> None:
    """02:30 in autumn is due before the clock goes back, and not again."""
    found = slots(Plan("30 2 * * *"), at("2027-10-31T00:00+02:00"), 2)

    assert [slot.isoformat() for slot in found] == [
        "2027-10-31T02:30:00+01:00".replace("+01", "+02"),
        "2027-11-01T02:30:00+01:00",
    ]


def test_every_hour_follows_the_clock_as_it_runs() -> None:
    """An hourly schedule has 25 slots on the long day and 23 on the short one."""
    hourly = Plan("0 * * * *")
    long, short = at("2027-10-30T23:59+02:00"), at("2027-03-27T23:59+01:00")

    assert sum(slot.day == 31 for slot in slots(hourly, long, 30)) == 25
    assert sum(slot.day == 28 for slot in slots(hourly, short, 30)) == 23


def test_a_day_that_a_zone_left_out_has_no_slot() -> None:
    """Samoa had no 30 December 2011, so nothing is due for it, and 31 has one slot."""
    found = slots(Plan("0 8 * * *"), at("2011-12-28T12:00-10:00"), 3, ZoneInfo("Pacific/Apia"))

    assert local(found) == ["Thu 29 08:00", "Sat 31 08:00", "Sun 01 08:00"]


def test_every_stands_on_a_grid_from_the_epoch() -> None:
    """A process that starts anew each 4 hours fires `every 6h` 8 times in 48 hours, not 12 or 0."""
    plan, begin = Plan(every=21600, offset=600), at("2027-01-01T00:30Z")

    fired = []
    for start in (begin + timedelta(hours=4 * step) for step in range(12)):
        due = schedules.next_after(plan, start, BERLIN)
        if due and due <= start + timedelta(hours=4):
            fired.append(due.astimezone(UTC).strftime("%H:%M"))

    assert fired == ["06:10", "12:10", "18:10", "00:10"] * 2


@pytest.mark.parametrize("every", [0.1, 1, 7, 3600, 86400])
def test_a_slot_is_later_than_what_it_follows(every) -> None:
    """A grid never gives the instant it was asked after."""
    found = slots(Plan(every=every), at("2027-01-01T00:00Z"), 50)

    steps = {round((after - before).total_seconds(), 6) for before, after in pairwise(found)}
    assert steps == {every}


def test_the_host_zone_changes_nothing(monkeypatch) -> None:
    """The instants are those of the schedule's zone, whatever TZ says."""
    after = at("2027-05-01T00:00Z")
    found = set()
    for zone in ("UTC", "Asia/Tokyo"):
        monkeypatch.setenv("TZ", zone)
        found.add(schedules.next_after(Plan("0 8 * * *"), after, BERLIN))

    assert {slot and slot.isoformat() for slot in found} == {"2027-05-01T08:00:00+02:00"}


def test_a_naive_moment_is_refused() -> None:
    """A time without a zone cannot be put in order with slots."""
    with pytest.raises(ValueError, match="without a time zone"):
        schedules.next_after(Plan("0 8 * * *"), datetime(2027, 1, 1), BERLIN)  # noqa: DTZ001


def test_several_schedules_keep_their_order_in_an_hour_that_comes_twice() -> None:
    """Berlin, autumn: each of 02:00 and 02:30 comes twice, and all four one after the other."""
    plans = [Plan("0 * * * *"), Plan("30 * * * *")]
    found = list(islice(schedules.slots(plans, at("2027-10-30T23:59Z"), BERLIN), 6))

    assert [f"{slot:%H:%M}" for slot in found] == [
        "00:00", "00:30", "01:00", "01:30", "02:00", "02:30",
    ]  # fmt: skip
    assert {slot.tzinfo for slot in found} == {UTC}


def test_a_clock_that_is_changed_at_noon_leaves_no_day_out() -> None:
    """Juba had no 12:00 to 13:00 on 15 January 2000, and that day has its slots."""
    start, juba = at("2000-01-14T12:00+02:00"), ZoneInfo("Africa/Juba")

    assert local(slots(Plan("0 8,12 * * *"), start, 3, juba)) == [
        "Sat 15 08:00",
        "Sat 15 13:00",
        "Sun 16 08:00",
    ]
