"""Weekdays in schedules are crontab's."""

import json
from datetime import datetime

from fleets import Scripted

FROM = "2027-03-01"  # a Monday
WEEK = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
DAYS = {
    "0": ["Sun"],
    "7": ["Sun"],
    "sun": ["Sun"],
    "SUN": ["Sun"],
    "1": ["Mon"],
    "6": ["Sat"],
    "1-5": WEEK[:5],
    "mon-fri": WEEK[:5],
    "5-7": WEEK[4:],
    "0-6": WEEK,
    "*/2": ["Tue", "Thu", "Sat", "Sun"],
    "1-5/2": ["Mon", "Wed", "Fri"],
    "0,3,sat": ["Wed", "Sat", "Sun"],
}


def test_numbers_count_from_sunday(scripted: Scripted) -> None:
    """A2: each way to write a weekday is due on the days that cron means, never one day off."""
    for number, days in enumerate(DAYS):
        scripted.agent(f"agent{number}", "true", schedule=f'"0 9 * * {days}"')

    done = scripted.call("next", "--from", FROM, "--days", "7", "--json")

    due: dict[str, list[str]] = {}
    for slot in map(json.loads, done.stdout.splitlines()):
        due.setdefault(slot["agent"], []).append(f"{datetime.fromisoformat(slot['due']):%a}")
    assert {days: due[f"agent{number}"] for number, days in enumerate(DAYS)} == DAYS


def test_a_weekday_beside_a_day_of_the_month_means_either(scripted: Scripted) -> None:
    """A2: with both day fields given the slots of either day come, as crontab(5) says."""
    scripted.agent("either", "true", schedule='"0 9 13 * 5"')

    done = scripted.call("next", "--from", FROM, "--days", "31", "--json")

    due = [datetime.fromisoformat(json.loads(line)["due"]) for line in done.stdout.splitlines()]
    assert [moment.day for moment in due] == [5, 12, 13, 19, 26]
