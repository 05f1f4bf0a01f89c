"""How a text in the operator's YAML becomes a value of a field, and what is said when it cannot.

Every scalar arrives as the text that was written; null arrives as None and means that the line is
as good as not there.
"""

import re
import shlex
import zoneinfo
from collections.abc import Callable, Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from fleet import schedules, units
from fleet.places import safe_name
from fleet.text import suggest

FAULT = "fleet"  # the type of the errors made here
MAX_DURATION = 10 * 366 * 86400  # seconds
WINDOW = 7 * 86400.0  # seconds that a vital looks back at most
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})
_MINUTES = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)", re.ASCII)
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def fault(what: str, fix: str = "") -> PydanticCustomError:
    """An error whose words reach the operator as they are."""
    return PydanticCustomError(FAULT, "{what}", {"what": what, "fix": fix})


def _window(seconds: float) -> float:
    """What the bus counts back: it keeps hourly counts of eight days."""
    if seconds > WINDOW:
        raise fault("must be at most 7d", "older events are not counted")
    return seconds


def read_by(parse: Callable[[str], Any], kind: str) -> BeforeValidator:
    """Take a text and give what `parse` makes of it; its ValueError says what is wrong."""

    def check(value: Any) -> Any:
        if not isinstance(value, str):
            raise fault(f"must be {kind}")
        try:
            return parse(value)
        except ValueError as wrong:
            raise fault(str(wrong)) from None

    return BeforeValidator(check)


def one_of(*words: str) -> AfterValidator:
    """One of a few words."""

    def check(value: str) -> str:
        if value not in words:
            raise fault(f"{value!r} is not one of {', '.join(words)}", suggest(value, words))
        return value

    return AfterValidator(check)


def _truth(text: str) -> bool:
    word = text.lower()
    if word not in _TRUE | _FALSE:
        raise ValueError(f"{text!r} is neither true nor false")
    return word in _TRUE


def _line(text: str) -> str:
    return " ".join(text.split())


def _listed(value: Any) -> Any:
    if isinstance(value, str):
        raise fault("must be a list", f"write [{value}]" if value else "write [a, b]")
    return value


def _words(value: Any) -> Any:
    if isinstance(value, str):
        try:
            words = shlex.split(value)
        except ValueError:
            words = value.split()
        listed = ", ".join(f'"{word}"' for word in words)
        raise fault("must be a list of words, never a line for a shell", f"write [{listed}]")
    return value


def _without_twins(values: tuple[str, ...]) -> tuple[str, ...]:
    twice = [value for index, value in enumerate(values) if value in values[:index]]
    if twice:
        raise fault(f"names {twice[0]!r} twice", "keep one of them")
    return values


def all_or_listed(value: Any) -> Any:
    """The word `all` becomes None; a list stays one."""
    if value is None or (isinstance(value, str) and value != "all"):
        raise fault("must be all or a list", f"write [{value}]" if value else "write all")
    return None if value == "all" else value


def _quiet(text: str) -> tuple[int, int]:
    match = _MINUTES.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is no span of a day: write it like 22:00-06:00")
    hours = [int(part) for part in match.groups()]
    begin, end = hours[0] * 60 + hours[1], hours[2] * 60 + hours[3]
    if begin == end:
        raise ValueError(f"{text!r} is a whole day: write enabled: false")
    return begin, end


def _start(text: str) -> float | str:
    return text if text in {"now", "all"} else min(units.parse_duration(text), MAX_DURATION)


def _zone(name: str) -> str:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        near = suggest(name, sorted(zoneinfo.available_timezones()))
        raise fault(
            f"{name!r} is no time zone", near or "write one like Europe/Berlin or UTC"
        ) from None
    return name


def _store(name: str) -> str:
    if name.startswith(("postgresql:", "postgres:")):  # its text may hold a password
        raise fault("the PostgreSQL store does not exist in this version", "write files")
    if name != "files":
        raise fault(f"{name!r} is no store", suggest(name, ("files",)) or "write files")
    return name


def _variable(name: str) -> str:
    if not _ENV_NAME.fullmatch(name):
        raise fault(f"{name!r} is no name of an environment variable", "use A-Z, 0-9 and _")
    if name.startswith("FLEET_"):
        raise fault(f"{name!r} is fleet's own variable", "take the line out")
    return name


def _glob(pattern: str) -> str:
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
        raise fault(f"{pattern!r} leaves the agent's working folder", "write it relative to cwd")
    return pattern


def _id(text: str) -> str:
    if not safe_name(text):
        raise fault(f"{text!r} cannot be a name", "use a-z, 0-9, _ and -, at most 64 characters")
    return text


def known(value: str, names: Iterable[str], limit: int = 8) -> str:
    """What to do about a name that is not among `names`."""
    listed = sorted(names)
    if near := suggest(value, listed):
        return near
    more = f" and {len(listed) - limit} more" if len(listed) > limit else ""
    return f"there are {', '.join(listed[:limit])}{more}" if listed else "there is none yet"


Text = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
Line = Annotated[str, AfterValidator(_line), StringConstraints(min_length=1, max_length=500)]
Bool = Annotated[bool, read_by(_truth, "true or false")]
Duration = Annotated[
    float, read_by(units.parse_duration, "a duration like 90s, 30m or 6h"), Field(le=MAX_DURATION)
]
Span = Annotated[Duration, Field(gt=0)]
Window = Annotated[Span, AfterValidator(_window)]
Size = Annotated[int, read_by(units.parse_size, "a size like 64KiB")]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Number = Annotated[int, Field(ge=0, le=1_000_000_000)]
Money = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Id = Annotated[str, AfterValidator(_id)]
Names = Annotated[tuple[Text, ...], BeforeValidator(_listed), AfterValidator(_without_twins)]
NamesOrAll = Annotated[Names | None, BeforeValidator(all_or_listed)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_listed)]
Argv = Annotated[tuple[Text, ...], BeforeValidator(_words), Field(min_length=1)]
Cron = Annotated[str, read_by(schedules.parse, "a schedule like '0 7 * * *'")]
Quiet = Annotated[tuple[int, int], read_by(_quiet, "a span like 22:00-06:00")]
Start = Annotated[float | str, read_by(_start, "a duration, now or all")]
Zone = Annotated[str, AfterValidator(_zone)]
StoreName = Annotated[str, AfterValidator(_store)]
Variable = Annotated[str, AfterValidator(_variable)]
Glob = Annotated[Text, AfterValidator(_glob)]
