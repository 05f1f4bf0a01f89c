"""P14: schedules follow crontab(5); a daily one fires once per local calendar day.

All of it as `fleet next` prints it.
"""

import json
import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from fleets import Scripted

DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


def upcoming(home: Scripted, start: str, days: int) -> dict[str, list[datetime]]:
    """Each agent's slots, as printed, which must be in order."""
    done = home.call("next", "--days", str(days), "--from", start, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, list[datetime]] = {name: [] for name in home.fleet.config.agents}
    last = None
    for line in done.stdout.splitlines():
        slot = json.loads(line)
        due = datetime.fromisoformat(slot["due"])
        assert last is None or last <= due
        last = due
        found[slot["agent"]].append(datetime.fromisoformat(slot["slot"]))
    return found


def one_of(text: str, least: int, most: int) -> set[int]:
    """The numbers of a field that is `*`, `*/n`, `a-b` or a list: crontab(5), written anew."""
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        begin, end = (least, most) if span == "*" else (int(first), int(last or first))
        found |= set(range(begin, end + 1, int(step or 1)))
    return found


def matching(cron: str, start: datetime, days: int) -> Iterator[datetime]:
    """Every minute that `cron` names, by looking at each."""
    minute, hour, day, month, weekday = cron.split()
    minutes, hours = one_of(minute, 0, 59), one_of(hour, 0, 23)
    months, dates = one_of(month, 1, 12), one_of(day, 1, 31)
    weekdays = {number % 7 for number in one_of(weekday, 0, 7)}
    for n in range(days):
        date = start + timedelta(days=n)
        by_date, by_day = date.day in dates, date.isoweekday() % 7 in weekdays
        fits = by_date and by_day if "*" in {day[0], weekday[0]} else by_date or by_day
        if date.month in months and fits:
            yield from (
                date.replace(hour=h, minute=m) for h in sorted(hours) for m in sorted(minutes)
            )


def a_cron(rng: random.Random) -> str:
    """A random expression of all forms, not too dense."""
    day = rng.choice(["*", f"{rng.randrange(1, 29)}", "1,15", "10-20/3", "*/9", "31"])
    weekday = rng.choice(["*", "1-5", "0", "7", "6,0", "2", "*/3"])
    month = rng.choice(["*", "*", "*", "2,12", "*/5", "6-8"])
    return f"{rng.randrange(60)} {rng.choice(['0', '7-9', '*/7', '23'])} {day} {month} {weekday}"


def test_printed_slots_are_those_of_crontab(scripted: Scripted) -> None:
    """40 expressions over 400 days, minute for minute as a reading of crontab(5) says."""
    rng = random.Random(14)
    crons = {f"a{n}": a_cron(rng) for n in range(40)}
    for name, cron in crons.items():
        scripted.agent(name, "true", schedule=json.dumps(cron))

    found = upcoming(scripted, "2026-12-31T23:59:59+00:00", 400)

    start = datetime(2027, 1, 1, tzinfo=UTC)
    for name, cron in crons.items():
        assert found[name] == list(matching(cron, start, 400)), cron


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
def test_a_daily_schedule_fires_once_a_local_day(scripted: Scripted, zone: str) -> None:
    """Over a year with its two clock changes, at any time of day, gaps and repeats included."""
    path = scripted.root / "fleet.yaml"
    path.write_text(path.read_text().replace("timezone: UTC", f"timezone: {zone}"))
    times = ["0 0", "30 1", "0 2", "15 2", "30 2", "59 2", "0 3", "45 12", "59 23"]
    for n, time in enumerate(times):
        scripted.agent(f"a{n}", "true", schedule=json.dumps(f"{time} * * *"))
    scripted.agent("word", "true", schedule='"@daily"')

    found = upcoming(scripted, "2026-12-31T23:59:59", 366)

    first = datetime(2027, 1, 1, tzinfo=UTC).date()
    dates = {first + timedelta(days=n) for n in range(366)}
    for name, slots in found.items():
        days = Counter(slot.date() for slot in slots)
        assert set(days.values()) == {1}, name
        assert dates - set(days) <= {max(dates)}, name
    assert {slot.time().isoformat() for slot in found["a7"]} == {"12:45:00"}


@pytest.mark.parametrize(
    ("zone", "start", "offsets"),
    [
        ("Europe/Berlin", "2027-10-31T00:50:00+02:00", ["+02:00", "+01:00"]),
        ("Australia/Lord_Howe", "2027-04-03T23:50:00+11:00", ["+11:00", "+10:30"]),
    ],
)
def test_an_hour_that_comes_twice_is_printed_twice(
    scripted: Scripted, zone: str, start: str, offsets: list[str]
) -> None:
    """P14: its slots come in order, none due before itself, and both views tell them apart."""
    path = scripted.root / "fleet.yaml"
    path.write_text(path.read_text().replace("timezone: UTC", f"timezone: {zone}"))
    for name, jitter in (("sharp", "0s"), ("late", "40m")):
        scripted.agent(name, "true", f"jitter: {jitter}", schedule='"0,15,30,45 * * * *"')

    done = scripted.call("next", "--from", start, "--days", "0.15", "--json")
    slots = [json.loads(line) for line in done.stdout.splitlines()]
    text = scripted.call("next", "--from", start, "--days", "0.15").stdout.splitlines()

    moments = [
        (datetime.fromisoformat(one["slot"]), datetime.fromisoformat(one["due"])) for one in slots
    ]
    assert all(slot <= due for slot, due in moments)
    dues = [due.astimezone(UTC) for _, due in moments]
    assert dues == sorted(dues)
    sharp = [slot.astimezone(UTC) for (slot, _), one in zip(moments, slots, strict=True)
             if one["agent"] == "sharp"]  # fmt: skip
    steps = {later - before for before, later in pairwise(sharp)}
    assert steps == {timedelta(minutes=15)}
    assert [line.split()[:2] for line in text] == [[one["due"], one["agent"]] for one in slots]
    for wall in ("01:45:00",) if zone.startswith("Australia") else ("02:00:00", "02:15:00"):
        told = [line.split()[0] for line in text if f"T{wall}" in line and "sharp" in line]
        assert [line[-6:] for line in told] == offsets


def test_weekdays_count_from_sunday(scripted: Scripted) -> None:
    """`0` and `7` are Sunday, `1` is Monday, and names are the same days."""
    words = [str(number) for number in range(8)] + list(DAYS)
    for word in words:
        scripted.agent(f"on-{word}", "true", schedule=json.dumps(f"0 12 * * {word}"))

    found = upcoming(scripted, "2027-01-01", 28)

    for number, day in enumerate(DAYS):
        assert found[f"on-{number}"] == found[f"on-{day}"]
        assert [slot.isoweekday() % 7 for slot in found[f"on-{day}"]] == [number] * 4
    assert found["on-7"] == found["on-0"]
