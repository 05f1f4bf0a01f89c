"""How the CLI words a usage limit, and when it says that it ends; account groups wait elsewhere."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_TELLS = (
    r"(?:(?:You['\u2019]ve|You have) (?:hit|reached|exceeded) your .{0,60}?limit"
    r"|(?:(?:opus|sonnet|haiku) )?(?:usage|session|weekly|daily|monthly|opus|sonnet|\d-hour) limit "
    r"(?:has been )?reached|(?:API Error: |^)(?:rate )?limit reached"
    r"|You['\u2019]re out of (?:extra )?usage|Spending cap reached|exceeded your current quota"
    r"|Request rejected \(429\)|rate_limit_error)"
)
_ANYWHERE = re.compile(_TELLS, re.IGNORECASE | re.MULTILINE)
_ITSELF = re.compile(r"(?:API Error: (?:429 )?|Claude (?:AI |Code )?)?" + _TELLS, re.IGNORECASE)

_AGAIN = r"(?:resets?|try again|retry|regain access|available again)"
_EPOCH = re.compile(r"limit reached\|(\d{10})(?:\d{3})?(?!\d)")
_INSTANT = re.compile(
    _AGAIN + r"\s+(?:at\s+|on\s+)?(?P<date>\d{4}-\d\d-\d\d)(?:T|\s+(?:at\s+)?)(?P<time>\d\d:\d\d)"
    r"(?::\d\d(?:\.\d+)?)?\s*(?P<zone>Z|UTC|[+-]\d\d:\d\d)?",
    re.IGNORECASE,
)
_SPAN = re.compile(
    _AGAIN + r"\s+in\s+(?:about\s+)?(?P<parts>(?:\d+(?:\.\d+)?\s*[dhms][a-z]*[\s,]*(?:and\s+)?)+)",
    re.IGNORECASE,
)
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([dhms])", re.IGNORECASE)
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CLOCK = re.compile(
    _AGAIN + r"\s+(?:at\s+|on\s+)?"
    rf"(?:(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
    rf"(?:,?\s+(?P<year>\d{{4}}))?,?\s+(?:at\s+)?"
    rf"|(?P<word>tomorrow|{'|'.join(_DAYS)})[a-z]*,?\s+(?:at\s+)?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>[ap]\.?m\b\.?)?"
    r"(?:\s*\((?P<zone>[\w/+-]+)\)|\s+(?P<utc>UTC|GMT)\b)?",
    re.IGNORECASE,
)


def tells_of_limit(text: str) -> bool:
    """Whether `text` says somewhere that a usage limit was hit (a warning at 91 % does not)."""
    return _ANYWHERE.search(text) is not None


def is_limit(text: str) -> bool:
    """Whether `text` is itself the CLI's word on a limit: it begins so, no model tells of one."""
    return _ITSELF.match(text) is not None


def limit_ends(text: str, now: datetime) -> float | None:
    """Seconds since the epoch at which the limit in `text` ends; None when it does not say.

    Reads `resets 4:20am (Europe/Warsaw)`, `resets Oct 3 at 5pm`, `resets Mon 9:00`, `try again in 3
    days 4 hours`, `regain access on 2026-12-01 at 00:00 UTC`, `limit reached|1749924000`. A clock
    time without a zone is one of this machine, as the CLI means it; it is the first such moment
    after `now`.
    """
    for read in (_epoch, _instant, _span, _clock):
        try:
            ends = read(text, now)
        except (ValueError, OverflowError):  # the 31st of June, 25 o'clock: words like any others
            continue
        if ends is not None:
            return ends
    return None


def _epoch(text: str, _now: datetime) -> float | None:
    found = _EPOCH.search(text)
    return float(found[1]) if found else None


def _instant(text: str, now: datetime) -> float | None:
    found = _INSTANT.search(text)
    if found is None:
        return None
    zone = (found["zone"] or "").upper().replace("UTC", "+00:00")
    moment = datetime.fromisoformat(f"{found['date']}T{found['time']}{zone}")
    return (moment if moment.tzinfo else moment.replace(tzinfo=_here(now))).timestamp()


def _span(text: str, now: datetime) -> float | None:
    found = _SPAN.search(text)
    if found is None:
        return None
    parts = _PART.findall(found["parts"])
    return now.timestamp() + sum(float(count) * _SECONDS[unit.lower()] for count, unit in parts)


def _clock(text: str, now: datetime) -> float | None:
    found = _CLOCK.search(text)
    if found is None or not (found["minute"] or found["half"]):
        return None
    zone = UTC if found["utc"] else _zone(found["zone"])
    return _first_after(found, now.astimezone(zone or _here(now))).timestamp()


def _first_after(clock: re.Match[str], now: datetime) -> datetime:
    hour = int(clock["hour"])
    if clock["half"]:
        hour = hour % 12 + (12 if clock["half"].lower().startswith("p") else 0)
    moment = now.replace(hour=hour, minute=int(clock["minute"] or 0), second=0, microsecond=0)
    if clock["month"]:
        month = _MONTHS.index(clock["month"].lower()) + 1
        moment = moment.replace(month=month, day=int(clock["day"]))
        if clock["year"]:
            return moment.replace(year=int(clock["year"]))
        return moment if moment > now - timedelta(days=1) else moment.replace(year=now.year + 1)
    if not clock["word"]:
        return moment if moment > now else moment + timedelta(days=1)
    word = clock["word"].lower()
    if word == "tomorrow":
        return moment + timedelta(days=1)
    moment += timedelta(days=(_DAYS.index(word) - moment.weekday()) % 7)
    return moment if moment > now else moment + timedelta(days=7)


def _here(now: datetime) -> tzinfo | None:
    return now.astimezone().tzinfo


def _zone(name: str | None) -> tzinfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError):
        return UTC
