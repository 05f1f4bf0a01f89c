"""Durations, sizes, moments and counts as people write them; this module knows no clock."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

_SECONDS = {"w": 604800.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}  # largest first
_BYTES = {
    "": 1,
    "b": 1,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "tib": 1 << 40,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
}
_YEARS = (1970, 2999)
_NUMBER = r"(\d{1,15}(?:\.\d{1,6})?)"
_PART = re.compile(_NUMBER + r"([wdhms])", re.ASCII)
_DURATION = re.compile(rf"(?:{_NUMBER}[wdhms])+", re.ASCII)
_SIZE = re.compile(_NUMBER + r" ?([A-Za-z]*)", re.ASCII)
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)


def parse_duration(text: str) -> float:
    """Seconds of `90s`, `30m`, `6h`, `7d`, `2w`, `1h30m`, `1.5h` or `0`; never negative.

    Raises:
        ValueError: not a duration, or its units are not given once each, largest first.
    """
    if text == "0":
        return 0.0
    if not _DURATION.fullmatch(text):
        raise ValueError(f"'{text}' is not a duration: write it like 90s, 30m, 6h, 7d or 1h30m")
    parts = _PART.findall(text)
    units = [unit for _, unit in parts]
    if units != [unit for unit in _SECONDS if unit in units]:
        raise ValueError(f"'{text}' is not a duration: name each unit once, the largest first")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def format_duration(seconds: float) -> str:
    """The shortest text that `parse_duration` reads back to the millisecond: `2h`, `1h30m`."""
    millis = round(seconds * 1000)
    text = ""
    for unit in ("d", "h", "m"):
        count, millis = divmod(millis, int(_SECONDS[unit] * 1000))
        text += f"{count}{unit}" if count else ""
    return text + f"{millis / 1000:g}s" if millis or not text else text


def age(seconds: float) -> str:
    """How long that is in its largest whole unit, up to days: `42s`, `5m`, `2h`, `3d`."""
    for unit in ("d", "h", "m"):
        if seconds >= _SECONDS[unit]:
            return f"{int(seconds // _SECONDS[unit])}{unit}"
    return f"{max(0, int(seconds))}s"


def counted(number: int, noun: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def parse_size(text: str) -> int:
    """Bytes of `64KiB`, `1GiB`, `2MB` or `4096`.

    Raises:
        ValueError: not a size.
    """
    match = _SIZE.fullmatch(text)
    scale = _BYTES.get(match[2].lower()) if match else None
    if match is None or scale is None:
        raise ValueError(f"'{text}' is not a size: write it like 64KiB, 20MiB or 1GiB")
    return int(float(match[1]) * scale)


def format_size(size: int) -> str:
    """Bytes as people read them: `512 B`, `4.2 MiB`."""
    if size < 1 << 10:
        return f"{size} B"
    scale, unit = next(
        (scale, unit)
        for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
        if size >= scale
    )
    return f"{size / scale:.1f} {unit}"


def parse_moment(text: str, *, now: "datetime", zone: "tzinfo") -> "datetime":
    """An instant as people write one, aware, in `zone` unless it names another offset.

    `3h` is that long before `now`; `03:00` the last time the clock showed it; `2026-11-30` that
    day's midnight; `2026-11-30T03:00` that local time; an RFC 3339 instant itself; `now` is `now`.

    Raises:
        ValueError: none of these, or outside of 1970 to 2999.
    """
    try:
        moment = _moment(text, now, zone)
        years = moment.year, moment.astimezone(now.tzinfo).year
    except OverflowError:
        years = (0, 0)
    if not all(_YEARS[0] <= year <= _YEARS[1] for year in years):
        raise ValueError(f"'{text}' is out of bounds: name a moment of the years 1970 to 2999")
    return moment


def parse_ahead(text: str, *, now: "datetime", zone: "tzinfo") -> "datetime":
    """An instant ahead as people write one, aware: the forms of `parse_moment`, seen from behind.

    `3d` is that long after `now`, whatever clocks do meanwhile; `03:00` the next time the clock
    shows it. A date or an instant is itself, also one that is past.

    Raises:
        ValueError: none of these, or outside of 1970 to 2999.
    """
    from datetime import datetime, timedelta

    if _DURATION.fullmatch(text):
        try:
            return datetime.fromtimestamp(now.timestamp() + parse_duration(text), zone)
        except (OverflowError, ValueError, OSError):
            raise ValueError(f"'{text}' is too far ahead") from None
    if clock := _CLOCK.fullmatch(text):
        local = now.astimezone(zone)
        at = local.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0)
        coming = (at.replace(fold=0), at.replace(fold=1), at.replace(fold=0) + timedelta(days=1))
        return next(one for one in coming if one.timestamp() > now.timestamp())
    try:
        return parse_moment(text, now=now, zone=zone)
    except ValueError as fault:
        raise ValueError(str(fault).replace("3h (ago)", "3d (from now)")) from None


def _moment(text: str, now: "datetime", zone: "tzinfo") -> "datetime":
    from datetime import datetime, timedelta

    if text == "now":
        return now.astimezone(zone)
    if _DURATION.fullmatch(text):
        return (now - timedelta(seconds=parse_duration(text))).astimezone(zone)
    if clock := _CLOCK.fullmatch(text):
        local = now.astimezone(zone)
        at = local.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0)
        return at if at <= local else at - timedelta(days=1)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"'{text}' is no moment: write 3h (ago), 03:00, 2026-11-30 or 2026-11-30T03:00+01:00"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)
