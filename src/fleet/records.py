"""The shapes that travel between floors: records, their references, claims' liveness, guards.

Standard library only and no I/O: this module says what a record is, not where it is kept.
"""

import os
import time
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from fleet.errors import Usage

Body: TypeAlias = dict[str, object]
"""One JSON object: what a record or a document says."""

RECORD_VERSION = 1
MAX_RECORD = 64 * 1024  # bytes of an encoded line, LF included
MAX_DOCUMENT = 256 * 1024  # bytes of an encoded document
MAX_KEY = 200  # bytes of a caller's idempotency key
_DIGITS = 18  # of a reference's number, far above any log's
RESERVED = frozenset({"v", "seq", "id", "at", "key", "crc"})  # a body must not use these names


class Instant(NamedTuple):
    """A moment as a store sees it.

    Attributes:
        wall: seconds since the epoch; for people and across hosts, never for order.
        boot: the boot id of the host, or the store's name where many hosts share its clock.
        uptime: seconds of CLOCK_BOOTTIME since that boot; comparable only with the same `boot`.
    """

    wall: float
    boot: str
    uptime: float


class Draft(NamedTuple):
    """A record before it has a number.

    Attributes:
        body: what it says; no key of `RESERVED`.
        id: a time-ordered UUID; "" lets the store make one.
        key: what a caller gave by `--id`, at most `MAX_KEY` bytes of UTF-8; None without one.
        same: the names in `body` that must be equal for a repeated key to be the same record
            (author, type, target, payload); None compares the whole body.
    """

    body: Body
    id: str = ""
    key: str | None = None
    same: tuple[str, ...] | None = None


class Record(NamedTuple):
    """A stored record; `ref` is the short name that people and agents type.

    Attributes:
        stream: the log's name, for example `events` or `channels/strategy`.
        seq: its number there, from 1, gapless but for records whose body has `op: gap`.
        id: a time-ordered UUID.
        at: RFC 3339 instant with offset, when the store accepted it.
        body: what it says.
        key: the caller's idempotency key, or None.
        crc: CRC-32 of the line, 8 hex digits: what a cursor keeps beside the number.
        v: the line's version.
    """

    stream: str
    seq: int
    id: str
    at: str
    body: Body
    key: str | None = None
    crc: str = ""
    v: int = RECORD_VERSION

    @property
    def ref(self) -> str:
        """`events#97`, `competitive-intel#412`: the stream's last part and the number."""
        return ref_of(self.stream, self.seq)


def ref_of(stream: str, seq: int) -> str:
    """The short name of record `seq` of `stream`."""
    return f"{stream.rpartition('/')[2]}#{seq}"


def parse_ref(text: str, example: str) -> tuple[str, int]:
    """Short name and number of a reference such as `strategy#412`: the inverse of `ref_of`.

    Raises:
        Usage: it has not that form; `example` is one that has.
    """
    name, _, number = text.rpartition("#")
    if name and number.isascii() and number.isdigit() and len(number) <= _DIGITS:
        return name, int(number)
    raise Usage(f"'{text}' is no reference", f"write it like {example}")


class Place(NamedTuple):
    """How far a lane has come: the number of the last record it passed, and that record's crc."""

    seq: int
    crc: str = ""


class Damage(NamedTuple):
    """A line that could not be decoded: skipped, counted, reported, never hiding its neighbours."""

    stream: str
    file: str
    line: int
    what: str


class Batch(NamedTuple):
    """What one read returned.

    Attributes:
        records: in order of their numbers, at most `limit`.
        upto: the last number that was looked at (a reader may pass it); `after` when none was.
        damage: lines in that range that could not be decoded.
    """

    records: tuple[Record, ...]
    upto: int
    damage: tuple[Damage, ...] = ()


class Sieve(NamedTuple):
    """A test on the bytes of a line that comes before parsing; what it lets through is exact.

    A record passes when every name of `any_of` that is given holds one of the values:
    `Sieve({"type": {"pricing-change"}, "to_agent": {None}})`. Values are text or None (JSON null).
    """

    any_of: dict[str, frozenset[str | None]]

    def passes(self, body: Body) -> bool:
        """Whether the decoded `body` passes: the exact test behind the byte test."""
        return all(body.get(name) in values for name, values in self.any_of.items())


# Claims ---------------------------------------------------------------------------------------


def is_live(claim: Body | None, now: Instant) -> bool:
    """Whether a claim's document is held at `now`.

    On one host the expiry is boot id and CLOCK_BOOTTIME (`boot`, `until_uptime`), so a stepped
    clock changes nothing; after a reboot, or from another host, the wall clock (`until_wall`).
    """
    if claim is None or not claim.get("holder"):
        return False
    if claim.get("boot") == now.boot:
        until, at = claim.get("until_uptime"), now.uptime
    else:
        until, at = claim.get("until_wall"), now.wall
    return isinstance(until, (int, float)) and at < until


class HeldBy(NamedTuple):
    """Permits a write only while the claim on `key` is live and carries this fencing `token`."""

    key: str
    token: int

    def permits(self, claim: Body | None, now: Instant) -> bool:
        """Pure: the store calls it with the claim's document while holding the claim's lock."""
        return is_live(claim, now) and claim is not None and claim.get("token") == self.token


class NotHeldByOther(NamedTuple):
    """Permits a write while `key` is free or held by `holder` itself."""

    key: str
    holder: str

    def permits(self, claim: Body | None, now: Instant) -> bool:
        """Pure: the store calls it with the claim's document while holding the claim's lock."""
        return not is_live(claim, now) or (claim is not None and claim["holder"] == self.holder)


Guard: TypeAlias = HeldBy | NotHeldByOther


def claim_document(key: str) -> str:
    """The document that holds the claim on `key`: what a store locks for a guard."""
    return f"claims/{key}"


# Time and ids ----------------------------------------------------------------------------------


def rfc3339(wall: float) -> str:
    """UTC with milliseconds and offset: `2026-11-30T19:30:39.123+00:00`."""
    whole = int(wall // 1)
    millis = int((wall - whole) * 1000)
    return f"{_second(whole)}.{millis:03d}+00:00"


@lru_cache(maxsize=16)
def _second(whole: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))


def new_id(wall: float, random: Callable[[int], bytes] = os.urandom) -> str:
    """A time-ordered UUID, version 7 of RFC 9562: 48 bits of milliseconds, 74 random bits."""
    millis = int(wall * 1000) & (1 << 48) - 1
    rest = int.from_bytes(random(10))
    value = millis << 80 | 7 << 76 | (rest >> 68 & 0xFFF) << 64 | 2 << 62 | rest & (1 << 62) - 1
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def made_at(text: str) -> float | None:
    """Seconds since the epoch at which `new_id` made this id; None for what is no such id."""
    digits = text.replace("-", "")
    if len(digits) != 32 or digits[12] != "7":  # noqa: PLR2004 - a UUID, version 7
        return None
    try:
        return int(digits[:12], 16) / 1000
    except ValueError:
        return None


def wall_of(at: str) -> float:
    """Seconds since the epoch of an RFC 3339 instant, as `Record.at` holds it."""
    from datetime import datetime  # only who asks for times pays for them

    return datetime.fromisoformat(at).timestamp()
