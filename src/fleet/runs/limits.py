"""How the CLI words a usage limit, and when it says that it ends; account groups wait elsewhere."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_TELLS = re.compile(
    r"(?:You['\u2019]ve|You have) hit your .{0,60}?limit|usage limit reached|\d-hour limit reached"
    r"|Request rejected \(429\)|rate_limit_error",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"limit reached\|(\d{10})(?!\d)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = re.compile(
    r"resets?\s+(?:at\s+)?(?:(?P<month>[a-z]{3})[a-z]*\.?\s+(?P<day>\d{1,2})(?:,|\s+at)?\s+)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>[ap]m)?(?:\s*\((?P<zone>[\w/+-]+)\))?",
    re.IGNORECASE,
)


def tells_of_limit(text: str) -> bool:
    """Whether `text` says that a usage limit was hit (a warning at 91 % does not)."""
    return _TELLS.search(text) is not None


def limit_ends(text: str, now: datetime) -> float | None:
    """Seconds since the epoch at which the limit in `text` ends; None when it does not say.

    Reads `resets 4:20am (Europe/Warsaw)`, `resets Oct 3 at 5pm`, `limit reached|1749924000`; a
    time without a zone is meant in UTC. Always the first such moment after `now`.
    """
    epoch = _EPOCH.search(text)
    if epoch:
        return float(epoch[1])
    clock = _CLOCK.search(text)
    if clock is None:
        return None
    local = now.astimezone(_zone(clock["zone"]))
    try:
        return _first_after(clock, local).timestamp()
    except ValueError:  # the 31st of June, 25 o'clock: words like any others
        return None


def _first_after(clock: re.Match[str], now: datetime) -> datetime:
    hour = int(clock["hour"])
    if clock["half"]:
        hour = hour % 12 + (12 if clock["half"].lower() == "pm" else 0)
    moment = now.replace(hour=hour, minute=int(clock["minute"] or 0), second=0, microsecond=0)
    if not clock["month"]:
        return moment if moment > now else moment + timedelta(days=1)
    month = _MONTHS.index(clock["month"].lower()) + 1
    moment = moment.replace(month=month, day=int(clock["day"]))
    return moment if moment > now - timedelta(days=1) else moment.replace(year=moment.year + 1)


def _zone(name: str | None) -> tzinfo:
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError):
        return UTC
