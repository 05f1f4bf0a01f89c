"""Durations, sizes and moments mean what people write."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet import units

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)  # 10:30 in Berlin


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("30m", 1800),
        ("6h", 21600),
        ("7d", 604800),
        ("2w", 1209600),
        ("1h30m", 5400),
        ("1d12h", 129600),
        ("1.5h", 5400),
        ("0.5s", 0.5),
        ("0", 0),
        ("0s", 0),
    ],
)
def test_durations_are_read(text, seconds) -> None:
    """Each way to write a duration gives its seconds."""
    assert units.parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "20", "h", "-1h", "1 h", "30m1h", "1h2h", "1y", "1H", "٣h", "1h\n", "1e3s", "inf"]
)
def test_nonsense_is_no_duration(text) -> None:
    """A bare number, a sign, a wrong order or an unknown unit is refused in one line."""
    with pytest.raises(ValueError, match="is not a duration"):
        units.parse_duration(text)


@settings(deadline=None)
@given(st.integers(0, 10**10))
def test_a_duration_reads_back(millis) -> None:
    """What is shown can be typed again and means the same."""
    assert round(units.parse_duration(units.format_duration(millis / 1000)) * 1000) == millis


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59.9, "59s"), (60, "1m"), (7199, "1h"), (90000, "1d"), (-3, "0s")],
)
def test_an_age_has_one_unit(seconds, text) -> None:
    """An age is its largest whole unit, and the future is 0s."""
    assert units.age(seconds) == text


@pytest.mark.parametrize(
    ("text", "size"),
    [("64KiB", 65536), ("1GiB", 1 << 30), ("2MB", 2_000_000), ("4096", 4096), ("1.5 mib", 1572864)],
)
def test_sizes_are_read(text, size) -> None:
    """Binary and decimal units give bytes."""
    assert units.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "-1", "64 Ki B", "1XiB", "much"])
def test_nonsense_is_no_size(text) -> None:
    """An unknown unit or a sign is refused in one line."""
    with pytest.raises(ValueError, match="is not a size"):
        units.parse_size(text)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("now", "2026-11-30T10:30:00+01:00"),
        ("3h", "2026-11-30T07:30:00+01:00"),
        ("03:00", "2026-11-30T03:00:00+01:00"),
        ("23:00", "2026-11-29T23:00:00+01:00"),
        ("2026-11-28", "2026-11-28T00:00:00+01:00"),
        ("2026-07-01T12:00", "2026-07-01T12:00:00+02:00"),
        ("2026-11-30T03:00:00Z", "2026-11-30T03:00:00+00:00"),
    ],
)
def test_moments_are_read(text, moment) -> None:
    """Each way to write a moment gives an aware instant, local words in the home's zone."""
    assert units.parse_moment(text, now=NOW, zone=BERLIN).isoformat() == moment


@pytest.mark.parametrize("text", ["", "yesterday-ish", "25:00", "2026-13-01", "3"])
def test_nonsense_is_no_moment(text) -> None:
    """Anything else is refused with the forms that there are."""
    with pytest.raises(ValueError, match="is no moment"):
        units.parse_moment(text, now=NOW, zone=BERLIN)


@pytest.mark.parametrize(("number", "text"), [(0, "0 errors"), (1, "1 error"), (2, "2 errors")])
def test_one_is_singular(number: int, text: str) -> None:
    """A count of one has no s."""
    assert units.counted(number, "error") == text


@pytest.mark.parametrize("text", ["999999999999d", "0001-01-01", "3000-01-01", "9999-12-31T23:59"])
def test_a_moment_out_of_bounds_is_refused(text: str) -> None:
    """What no clock of a fleet ever shows is a ValueError, never an overflow."""
    with pytest.raises(ValueError, match="out of bounds"):
        units.parse_moment(text, now=NOW, zone=BERLIN)


@pytest.mark.parametrize(
    ("text", "now", "then"),
    [
        ("3d", "2026-11-30T10:30", "2026-12-03T10:30"),
        ("90s", "2026-11-30T10:30", "2026-11-30T10:31:30"),
        ("11:00", "2026-11-30T10:30", "2026-11-30T11:00"),
        ("10:30", "2026-11-30T10:30", "2026-12-01T10:30"),
        ("03:00", "2026-11-30T10:30", "2026-12-01T03:00"),
        ("2026-12-04", "2026-11-30T10:30", "2026-12-04T00:00"),
        ("2026-12-04T08:00+00:00", "2026-11-30T10:30", "2026-12-04T09:00"),
        ("2026-11-01", "2026-11-30T10:30", "2026-11-01T00:00"),
        ("1d", "2026-10-24T12:00", "2026-10-25T11:00"),  # 25 hours long: a day is 24 of them
        ("12:00", "2026-10-24T12:00", "2026-10-25T12:00"),
        ("02:30", "2027-03-28T01:59", "2027-03-28T03:30"),  # a time that does not exist
        ("02:30", "2026-10-25T01:59", "2026-10-25T02:30"),  # the first of two
    ],
)
def test_a_moment_ahead_is_read(text, now, then) -> None:
    """A duration counts from now in hours that pass, a clock time is the next one, in the zone."""
    here = datetime.fromisoformat(now).replace(tzinfo=BERLIN)
    wanted = datetime.fromisoformat(then).replace(tzinfo=BERLIN)

    found = units.parse_ahead(text, now=here.astimezone(UTC), zone=BERLIN)

    assert found.timestamp() == wanted.timestamp()
    assert found.tzinfo is not None


def test_the_second_of_two_equal_times_is_ahead_in_the_first() -> None:
    """While the clock shows an hour for the second time, its times of that hour are the later."""
    now = datetime(2026, 10, 25, 2, 40, tzinfo=BERLIN, fold=1)

    ahead = units.parse_ahead("02:45", now=now.astimezone(UTC), zone=BERLIN)
    tomorrow = units.parse_ahead("02:35", now=now.astimezone(UTC), zone=BERLIN)

    assert ahead.timestamp() - now.timestamp() == 300
    assert tomorrow.date() == datetime(2026, 10, 26, tzinfo=BERLIN).date()


@pytest.mark.parametrize("text", ["", "soon", "25:00", "3 days", "9" * 12 + "d", "9999-12-31"])
def test_nonsense_is_no_moment_ahead(text) -> None:
    """What no clock shows is refused in one line that says what to write."""
    with pytest.raises(ValueError, match=r"write 3d|too far ahead|out of bounds"):
        units.parse_ahead(text, now=NOW, zone=BERLIN)
