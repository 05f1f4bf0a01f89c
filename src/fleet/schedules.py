"""When a schedule is due: crontab(5) and fixed grids, in a time zone; the only door of cronsim.

cronsim finds the days and reads the fields; what daylight-saving changes do to them is decided
here. Nothing here waits, and nothing knows what runs.

A schedule that names hours fires each of its times once per local calendar day: a time that the
clock jumps over is due at the next minute that exists, a time that comes twice is due at the
first. A schedule for every hour follows the clock as it runs.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import NamedTuple, Protocol
from zlib import crc32
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

MAX_EXPRESSION = 500  # characters
WORDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
_TERM = re.compile(r"(?:\*|([0-9A-Z]{1,9})(?:-([0-9A-Z]{1,9}))?)(/[0-9]{1,9})?", re.ASCII)


class Schedule(Protocol):
    """What `next_after` needs to know: `cron`, or `every` and `offset` in seconds."""

    @property
    def cron(self) -> str | None:
        """A crontab(5) expression or one of `WORDS`."""

    @property
    def every(self) -> float | None:
        """Seconds between two slots."""

    @property
    def offset(self) -> float:
        """Seconds from the epoch to a slot of the grid."""


class _Field(NamedTuple):
    name: str
    low: int
    high: int
    words: str = ""

    def number(self, word: str) -> int:
        """The value of a number or of a name like MON; ValueError when it is neither."""
        index = self.words.find(word) if len(word) == 3 and word.isalpha() else -1  # noqa: PLR2004
        value = index // 4 + (self.name == "month") if index >= 0 else int(word)
        if not self.low <= value <= self.high:
            raise ValueError
        return value


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"),
    _Field("weekday", 0, 7, "SUN MON TUE WED THU FRI SAT"),
)


def parse(text: str) -> str:
    """The expression `text` as five fields.

    Raises:
        ValueError: one line that says what is wrong; also for one that never fires.
    """
    expression = WORDS.get(text.strip().lower(), text)
    if len(text) > MAX_EXPRESSION:
        raise ValueError(f"a schedule of {len(text)} characters is too long")
    if expression.strip().startswith("@"):
        raise ValueError(f"{text!r} is not among {', '.join(WORDS)}")
    fields = expression.upper().split()
    if len(fields) != len(_FIELDS):
        raise ValueError(
            f"{text!r} has {len(fields)} fields, not 5 (minute hour day-of-month month weekday)"
        )
    for field, value in zip(_FIELDS, fields, strict=True):
        for term in value.split(","):
            if fault := _fault(field, term):
                raise ValueError(f"{text!r}: {field.name} {term!r} {fault}")
    cron = " ".join(fields)
    try:
        next(CronSim(cron, datetime(2024, 1, 1)))  # noqa: DTZ001 - a wall clock without a zone
    except (CronSimError, StopIteration):
        raise ValueError(f"{text!r} never fires: there is no such day in these months") from None
    return cron


def weekdays(cron: str) -> frozenset[int]:
    """The days of the week that five fields name, 0 for Sunday; none when they name no days."""
    field, days = _FIELDS[-1], set[int]()
    for term in cron.rsplit(maxsplit=1)[-1].split(","):
        found = _TERM.fullmatch(term)
        if found and found[1]:
            first = field.number(found[1])
            days.update(range(first, (field.number(found[2]) if found[2] else first) + 1))
    return frozenset(day % 7 for day in days)


def next_after(schedule: Schedule, after: datetime, zone: ZoneInfo) -> datetime | None:
    """The first slot later than `after` (aware), in `zone`; None when there is none in 50 years.

    Raises:
        ValueError: `after` is naive, or the schedule is not valid.
    """
    if after.tzinfo is None:
        raise ValueError("a moment without a time zone has no place in a schedule")
    moment = after.astimezone(UTC)
    if schedule.every is not None:
        return _next_on_grid(schedule.every, schedule.offset, moment).astimezone(zone)
    found = _next_by_clock(_read(schedule.cron or ""), moment, zone)
    return found.astimezone(zone) if found else None


def slots(schedules: Sequence[Schedule], after: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """The slots of several schedules together, later than `after`, in order, each once, in UTC.

    In a zone of their own two moments compare, and are added to, by what the clock shows, which is
    the same twice on the day on which it is set back.
    """

    def following(schedule: Schedule, slot: datetime) -> datetime | None:
        found = next_after(schedule, slot, zone)
        return found.astimezone(UTC) if found else None

    upcoming = [following(schedule, after) for schedule in schedules]
    while due := [slot for slot in upcoming if slot is not None]:
        nearest = min(due)
        yield nearest
        upcoming = [
            following(schedule, nearest) if slot == nearest else slot
            for schedule, slot in zip(schedules, upcoming, strict=True)
        ]


def jitter(name: str, most: float) -> timedelta:
    """The share of `most` seconds by which `name` wakes late: the same after every restart."""
    return timedelta(seconds=most * (crc32(name.encode()) % 1000) / 1000)


def _next_on_grid(every: float, offset: float, after: datetime) -> datetime:
    step = round(every * 1_000_000)
    if step <= 0:
        raise ValueError(f"an interval of {every:g} s never ends")
    shift = round(offset * 1_000_000)
    since = (after - _EPOCH) // timedelta(microseconds=1) - shift
    return _EPOCH + timedelta(microseconds=(since // step + 1) * step + shift)


def _next_by_clock(cron: str, after: datetime, zone: ZoneInfo) -> datetime | None:
    """The earliest slot after `after`; a change of the clock may carry one into the next day."""
    today = after.astimezone(zone).date()
    near = [today - _DAY, today, today + _DAY]
    if slots := [slot for day in near for slot in _later(cron, zone, day, after)]:
        return min(slots)
    for day in _days(cron, today):
        if later := _later(cron, zone, day, after):
            return later[0]
    return None


def _later(cron: str, zone: ZoneInfo, day: date, after: datetime) -> tuple[datetime, ...]:
    """The first slot of `day` after `after`, or nothing."""
    slots = _slots(cron, zone, day)
    index = bisect_right(slots, after)
    return slots[index : index + 1]


@lru_cache(maxsize=512)
def _slots(cron: str, zone: ZoneInfo, day: date) -> tuple[datetime, ...]:
    """The slots of one local calendar day, sorted, in UTC."""
    if next(_days(cron, day - _DAY), None) != day or _left_out(day, zone):
        return ()
    sim = CronSim(cron, datetime.combine(day, time()))
    walls = [
        datetime.combine(day, time(hour, minute))
        for hour in sorted(sim.hours)
        for minute in sorted(sim.minutes)
    ]
    every_hour = len(sim.hours) == 24  # noqa: PLR2004
    place = _as_it_runs if every_hour else _once
    return tuple(sorted({instant for wall in walls for instant in place(wall, zone)}))


def _days(cron: str, after: date) -> Iterator[date]:
    """The days after `after` on which `cron` is due."""
    days = " ".join(["0", "0", *cron.split()[2:]])
    return (moment.date() for moment in CronSim(days, datetime.combine(after, time())))


def _once(wall: datetime, zone: ZoneInfo) -> tuple[datetime, ...]:
    while _skipped(wall, zone):
        wall += timedelta(minutes=1)
    return (wall.replace(tzinfo=zone).astimezone(UTC),)


def _as_it_runs(wall: datetime, zone: ZoneInfo) -> tuple[datetime, ...]:
    if _skipped(wall, zone):
        return ()
    return tuple(wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))


def _left_out(day: date, zone: ZoneInfo) -> bool:
    """Whether `zone` never had the day, as where it crossed the date line."""
    return all(_skipped(datetime.combine(day, time(hour)), zone) for hour in (0, 12))


def _skipped(wall: datetime, zone: ZoneInfo) -> bool:
    """Whether the clocks of `zone` never show `wall`."""
    there = wall.replace(tzinfo=zone).astimezone(UTC)
    return there.astimezone(zone).replace(tzinfo=None) != wall


@lru_cache(maxsize=512)
def _read(text: str) -> str:
    return parse(text)


def _fault(field: _Field, term: str) -> str:
    """What is wrong with one term of a field, "" when nothing is."""
    match = _TERM.fullmatch(term)
    if not match:
        return "is not crontab(5): use numbers, names, *, ranges a-b, steps a-b/n and commas"
    try:
        first = field.number(match[1]) if match[1] else field.low
        last = field.number(match[2]) if match[2] else first if match[1] else field.high
    except ValueError:
        return f"is not in {field.low}-{field.high}"
    if last < first:
        rest = f"{field.low}-{last}" if last > field.low else f"{last}"
        return f"runs backwards: write {first}-{field.high},{rest}"
    step = int(match[3][1:]) if match[3] else 1
    if match[3] and match[1] and not match[2]:
        return f"steps from one value: write {first}-{field.high}/{step}"
    if not 1 <= step <= field.high - field.low:
        return f"steps by {step}, past {field.low}-{field.high}: write {first}, or use every:"
    return ""
